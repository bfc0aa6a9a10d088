//! Pages for people, rendered by the server over the same services as the API.
//!
//! | file | what it does |
//! | --- | --- |
//! | `page` | what all pages share: the frame, the headers, the operator's name |
//! | `language`, `languages/` | the visitor's language; one file of texts for each |
//! | `assets`, `assets/` | style, scripts: in the binary, compressed once, addressed by their hash |
//! | `error_pages` | an error as a page, with the status of the JSON |
//! | `start`, `preview`, `removed`, `report` | pages for visitors: `/`, and `/{code}+`; a removed link; the report of a link |
//! | `session`, `csrf`, `form` | who is signed in; where a form came from; its fields |
//! | `own_path` | the page to which a client asks to be redirected: a page of the account, and never elsewhere |
//! | `opened_at` | the address of a page at which its forms fail |
//! | `sign_in`, `links`, `link_list`, `selected_links`, `link_form`, `one_link`, `all_links`, `tags`, `account`, `keys` | pages for owners, below `/app` |
//! | `prefilled`, `sharing` | the form filled by its address, and the bookmarklet; `ShareX` and the manifest |
//! | `questions` | what is asked before a link, a key, a session or the account is gone |
//! | `admin/` | pages for administrators, below `/app/admin` |
//! | `documents` | what an import and an export need of the API |
//! | `import` | links of a file, previewed before they are created; all links as a file |
//! | `live` | the count of a link as it rises |
//! | `breakdowns` | who followed links: tables with bars that narrow each other |
//! | `clicks`, `chart` | clicks over time on a page: the range, a chart, a table |
//!
//! A page works without JavaScript. Its policy allows no script and no style in the page itself.

use std::sync::Arc;

use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::config::Guards;
use crate::domain::rules::MAX_JSON;
use crate::http::{Admission, BodyLimits, with_admission};
use crate::links::{LinkService, LiveCounts};

mod account;
mod admin;
mod all_links;
mod assets;
mod breakdowns;
mod chart;
mod clicks;
mod csrf;
mod documents;
mod error_pages;
mod form;
mod import;
mod keys;
mod language;
mod link_form;
mod link_list;
mod links;
mod live;
mod one_link;
mod opened_at;
mod own_path;
mod page;
mod prefilled;
mod preview;
mod questions;
mod removed;
mod report;
mod rule_form;
mod rule_trial;
mod rules;
mod selected_links;
mod session;
mod sharing;
mod sign_in;
mod start;
mod tags;
mod trash;

pub use documents::{ExportForm, ExportLinks, LinkDocuments};
pub use error_pages::{ErrorPages, PageWish};
pub use page::Site;

/// The services that pages call.
#[derive(Clone, FromRef)]
pub struct WebState {
    /// Accounts and their sessions.
    pub accounts: Arc<Accounts>,
    /// Links of owners.
    pub links: Arc<LinkService>,
    /// Removals and reports.
    pub abuse: Arc<Abuse>,
    /// Counts as they rise.
    pub live: Arc<LiveCounts>,
    /// Links as documents.
    pub documents: LinkDocuments,
    /// What the operator says of the service.
    pub site: Site,
}

/// All pages. The caller puts the layers of every response around them.
pub fn router(state: WebState, guards: &Guards, admission: &Admission) -> Router {
    let limits = |bytes| {
        Extension(BodyLimits {
            bytes,
            timeout: guards.body_timeout,
        })
    };
    // A form percent-encodes its texts, each byte as three.
    let link_form = || limits(3 * guards.max_body_bytes);
    let rules_form = limits(3 * guards.max_body_bytes + MAX_JSON);
    Router::new()
        .route("/app", get(links::overview))
        .route("/app/account", get(account::show))
        .route(
            "/app/account/delete",
            get(questions::delete_account).post(account::delete),
        )
        .route("/app/account/keys", post(keys::make))
        .route(
            "/app/account/keys/{id}/delete",
            get(questions::end_key).post(keys::delete),
        )
        .route("/app/account/password", post(account::change_password))
        .route("/app/account/sharex", post(sharing::share_x))
        .route(
            "/app/account/sessions/{id}/end",
            get(questions::end_session).post(account::end_session),
        )
        .merge(administration(link_form()))
        .route("/app/all", get(all_links::show))
        .route("/app/all/count", get(all_links::count))
        .route("/app/all/export", get(all_links::export))
        .route("/app/export", get(import::export))
        .route(
            "/app/import",
            get(import::show)
                .post(import::import)
                .layer(Extension(import::LIMITS)),
        )
        .route(
            "/app/links",
            get(links::list).post(links::make).layer(link_form()),
        )
        .route(
            "/app/links/new",
            get(links::new).post(links::new_with).layer(link_form()),
        )
        .route("/app/links/selected", post(links::selected))
        .route(
            "/app/links/selected/delete",
            post(questions::delete_selected),
        )
        .route(
            "/app/links/{short_code}",
            get(one_link::show).post(one_link::edit).layer(link_form()),
        )
        .route(
            "/app/links/{short_code}/delete",
            get(questions::delete_link).post(one_link::delete),
        )
        .route("/app/links/{short_code}/export", get(one_link::export))
        .route("/app/links/{short_code}/live", get(live::live))
        .route(
            "/app/links/{short_code}/rules",
            get(rules::show).post(rules::change).layer(rules_form),
        )
        .route("/app/login", get(sign_in::show).post(sign_in::log_in))
        .route(
            "/app/register",
            get(sign_in::show_register).post(sign_in::register),
        )
        .route("/app/logout", post(sign_in::log_out))
        .route(
            "/app/logout-everywhere",
            get(questions::sign_out_everywhere).post(account::log_out_everywhere),
        )
        .route("/app/preview/{short_code}", get(preview::preview))
        .route("/app/trash", get(trash::show))
        .route("/app/trash/restore", post(trash::restore))
        .route(
            "/app/trash/{short_code}/delete",
            get(trash::ask_to_end).post(trash::end),
        )
        .route(
            "/app/report/{short_code}",
            get(report::show).post(report::send),
        )
        .route("/app/tags", get(tags::show).post(tags::rename))
        .route("/app/tags/delete", get(tags::ask).post(tags::delete))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .layer(limits(guards.max_body_bytes))
        .route("/", get(start::start))
        .route("/app/manifest.webmanifest", get(sharing::manifest))
        .route("/assets/{file}", get(assets::asset))
        .with_state(state)
}

/// The pages of administrators; a form of a host may be as large as one of a link.
fn administration(form: Extension<BodyLimits>) -> Router<WebState> {
    Router::new()
        .route("/app/admin", get(admin::removals::show))
        .route("/app/admin/accounts", get(admin::accounts::show))
        .route(
            "/app/admin/accounts/{id}/unban",
            post(admin::accounts::revoke_ban),
        )
        .route("/app/admin/audit", get(admin::audit::show))
        .route(
            "/app/admin/domains",
            get(admin::domains::show)
                .post(admin::domains::add)
                .layer(form),
        )
        .route(
            "/app/admin/domains/{host}",
            get(admin::domains::show_one)
                .post(admin::domains::edit)
                .layer(form),
        )
        .route(
            "/app/admin/domains/{host}/delete",
            get(admin::domains::ask).post(admin::domains::delete),
        )
        .route("/app/admin/links", get(admin::links::show))
        .route("/app/admin/removals", post(admin::removals::make))
        .route("/app/admin/removals/ask", post(admin::removals::ask))
        .route(
            "/app/admin/removals/{id}/revoke",
            post(admin::removals::revoke),
        )
        .route("/app/admin/reports", get(admin::reports::show))
        .route("/app/admin/reports/{id}/close", post(admin::reports::close))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::http::paths::{PAGES, route_of};

    /// The paths in this file's own calls of `route`.
    fn served() -> BTreeSet<String> {
        let source = include_str!("mod.rs");
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = source.split(".route(").skip(1);
        let first = |call: &str| Some(call.split_once('"')?.1.split_once('"')?.0.to_owned());
        calls.filter_map(first).collect()
    }

    #[test]
    fn every_page_is_in_the_table_of_paths_and_the_other_way_round() {
        let table: BTreeSet<_> = PAGES.iter().map(|page| page.template.to_owned()).collect();
        assert_eq!(served(), table);
        for page in PAGES {
            assert_eq!(route_of(page.template), Some(&page));
        }
    }
}
