//! Pages for people, rendered by the server over the same services as the API.
//!
//! | file | what it does |
//! | --- | --- |
//! | `routes` | which page answers which path |
//! | `page` | what all pages share: the frame, the headers, the operator's name |
//! | `language`, `languages/` | the visitor's language; one file of texts for each |
//! | `assets`, `assets/` | style, scripts: in the binary, compressed once, addressed by their hash |
//! | `error_pages`, `asked_by` | an error as a page, with the status of the JSON; whose frame it has |
//! | `start`, `preview`, `removed`, `report` | pages for visitors: `/`, and `/{code}+`; a removed link; the report of a link |
//! | `session`, `browser_name`, `csrf`, `cookies`, `form` | who is signed in, by which browser; where a form came from; what the browser keeps; its fields |
//! | `own_path`, `opened_at` | the page to which a client asks to be redirected, never elsewhere; the address of a page at which its forms fail |
//! | `oidc`, `join`, `forgot` | signing in and out by an identity provider; the pages of an invitation, and of a forgotten password |
//! | `email`, `account_mail` | another e-mail address; letters to owners of accounts |
//! | `sign_in_code`, `two_factors` | the second factor: asked for after a password; set up and removed |
//! | `sign_in_passkey`, `passkeys` | passkeys: in the place of both; added and removed |
//! | `sign_in`, `links`, `new_link`, `link_list`, `link_row`, `selected_links`, `link_form`, `scheme`, `one_link`, `edit_link`, `qr_page`, `all_links`, `tags`, `account`, `keys` | pages for owners, below `/app` |
//! | `prefilled`, `sharing` | the form filled by its address, and the bookmarklet; `ShareX` and the manifest |
//! | `status_tabs`, `sparkline`, `every_link` | parts of the list: tabs with numbers; the line of a link; what is done to all links that match |
//! | `acting`, `groups`, `group`, `group_keys`, `group_members` | for whom a session acts; the groups of an account; one of them with its members and keys |
//! | `hooks/` | receivers of events: made, changed, switched off and on, with what was sent to them |
//! | `questions` | what is asked before a link, a key, a session or the account is gone |
//! | `admin/` | pages for administrators, below `/app/admin` |
//! | `documents` | what an import and an export need of the API |
//! | `import` | links of a file, previewed before they are created; all links as a file |
//! | `shares`, `shared` | who may read the statistics of a link beside its owner; the page that they get |
//! | `statements` | the ended months of a link, and a statement to read, to print and to keep |
//! | `breakdowns`, `countries` | who followed links: cards with bars that narrow the page; countries by name |
//! | `live`, `clicks`, `clicks_view`, `clicks_words`, `chart` | the count as it rises; clicks over time on a page: the range, numbers, a chart, a table |
//!
//! A page works without JavaScript. Its policy allows no script and no style in the page itself.

mod account;
mod account_mail;
mod acting;
mod admin;
mod all_links;
mod asked_by;
mod assets;
mod breakdowns;
mod browser_name;
mod chart;
mod clicks;
mod clicks_view;
mod clicks_words;
mod cookies;
mod countries;
mod csrf;
mod documents;
mod edit_link;
mod email;
mod error_pages;
mod every_link;
mod forgot;
mod form;
mod group;
mod group_keys;
mod group_members;
mod groups;
mod hooks;
mod import;
mod import_file;
mod join;
mod keys;
mod language;
mod link_form;
mod link_list;
mod link_row;
mod links;
mod live;
mod new_link;
mod oidc;
mod one_link;
mod opened_at;
mod own_path;
mod page;
mod passkeys;
mod prefilled;
mod preview;
mod public_form;
mod qr_page;
mod questions;
mod removed;
mod report;
mod routes;
mod rule_form;
mod rule_trial;
mod rule_words;
mod rules;
mod scheme;
mod selected_links;
mod session;
mod session_anew;
mod shared;
mod shares;
mod sharing;
mod sign_in;
mod sign_in_code;
mod sign_in_passkey;
mod sparkline;
mod start;
mod statements;
mod status_tabs;
mod tags;
mod trash;
mod two_factors;

pub use account_mail::write_letters;
pub use admin::Health;
pub use documents::{ExportForm, ExportLinks, LinkDocuments};
pub use error_pages::{ErrorPages, PageWish};
pub use join::invitation_mail;
pub use page::Site;
pub use report::report_letter;
pub use routes::{WebState, router};
