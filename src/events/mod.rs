//! The feeds of events: who reads them, from where on, and how long a reader waits for news.
//!
//! The order of a feed is the database's (see [`crate::store`]). An instance looks for news once a second, whatever the number of its readers.

mod body;
mod feeds;

pub use body::event_body;
pub use feeds::{FeedError, FeedStart, Feeds, Reader};
