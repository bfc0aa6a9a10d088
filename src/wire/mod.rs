//! The documents of a link, as the API, the pages and the command line share them.

mod documents;
mod fields;
mod link;
mod table;

pub use documents::{BulkObject, FORM_FIELDS, LinkObject, LinkPatch, LinkQuery};
pub use fields::LinkFields;
pub use link::{FullLinkBody, LinkBody, ViewWord};
pub use table::{COLUMNS, Column};
