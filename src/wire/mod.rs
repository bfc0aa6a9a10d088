//! The documents of a link, as the API, the pages and the command line share them.

mod link;

pub use link::{FullLinkBody, LinkBody};
