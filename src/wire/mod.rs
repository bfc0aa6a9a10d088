//! The documents of a link, as the API, the pages and the command line share them.

mod documents;
mod fields;
mod link;

pub use documents::{BulkObject, LinkObject, LinkPatch, LinkQuery};
pub use fields::LinkFields;
pub use link::{FullLinkBody, LinkBody, ViewWord};
