//! The documents of a link and of its events, as the API, the pages and the command line share them.
//!
//! | file | task |
//! | --- | --- |
//! | `link` | the response, and the columns of an export |
//! | `fields` | what a request says of a link: each field once, for JSON, queries, forms, tables and arguments |
//! | `value` | the kinds of fields |
//! | `event` | what happened to a link |
//! | `rules` | rules that are not checked yet |
//! | `documents` | the documents of the API that have these fields |
//! | `schema`, `rules_schema` | their descriptions |

mod documents;
mod event;
mod fields;
mod link;
mod rules;
#[cfg(test)]
mod rules_schema;
#[cfg(test)]
mod schema;
mod trashed;
mod value;

pub use documents::{BulkObject, LinkObject, LinkPatch, LinkQuery};
pub use event::{ClassBody, EventBody};
pub use fields::{DocumentKind, Field, LinkFields};
pub use link::{COLUMNS, Column, FullLinkBody, LinkBody, SECRET_COLUMN, ViewWord};
pub use rules::RulesJson;
pub use trashed::TrashedLinkBody;
pub use value::{OwnerWord, SecretText, Value};
