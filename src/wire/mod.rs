//! The documents of a link, as the API, the pages and the command line share them.
//!
//! | file | task |
//! | --- | --- |
//! | `link` | the response |
//! | `fields` | what a request says of a link: each field once, for JSON, queries, forms and arguments |
//! | `documents` | which of those fields each document of the API has |
//! | `table` | the columns of an export |

mod documents;
mod fields;
mod link;
mod table;

pub use documents::{BulkObject, FORM_FIELDS, LinkObject, LinkPatch, LinkQuery};
pub use fields::LinkFields;
pub use link::{FullLinkBody, LinkBody, ViewWord};
pub use table::{COLUMNS, Column};
