//! The feeds of events, and the hooks that send them: who reads them, from where on, and how long a reader waits for news.
//!
//! The order of a feed is the database's (see [`crate::store`]). An instance looks for news once a second, whatever the number of its readers.

mod body;
mod feeds;
mod hooks;

pub use body::event_body;
pub use feeds::{FeedError, FeedStart, Feeds, Reader};
pub use hooks::{ChangedHook, HookError, HookWorker, Hooks};
