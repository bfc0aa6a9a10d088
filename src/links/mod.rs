//! Links: shorten, list, statistics, delete.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::cache::LinkCache;
use crate::clicks::count::Counts;
use crate::domain::{Link, OwnHost};
use crate::limits::Limiter;
use crate::store::Links;

pub mod delete;
pub mod list;
mod outbox;
mod sending;
pub mod shorten;
pub mod stats;

pub use outbox::{OutboxError, publish_pending};
pub use sending::ListsSent;

/// What the handlers of links work with.
pub struct LinksApi {
    /// The source of truth.
    pub links: Arc<dyn Links>,
    /// Exact counts.
    pub counts: Counts,
    /// What has to be told of changes.
    pub cache: LinkCache,
    /// How often a user may make links.
    pub limiter: Limiter,
    /// Who is being sent whole lists.
    pub lists_sent: ListsSent,
    /// For telling targets that would lead back here.
    pub own_host: OwnHost,
    /// Public address, for links to further pages.
    pub base_url: Arc<str>,
}

/// A link as its owner sees it.
#[derive(Serialize, ToSchema)]
pub struct LinkAnswer {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// The link's path: it is followed at `/{short_code}`.
    #[schema(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: String,
    /// Where it leads, exactly as it was given.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: String,
    /// Exact number of answered redirects.
    #[schema(example = 0)]
    clicks: u64,
    /// An inactive link is not followed.
    is_active: bool,
}

impl LinkAnswer {
    fn new(link: &Link, clicks: u64) -> Self {
        Self {
            id: link.id.number(),
            short_code: link.code.as_str().to_owned(),
            target_url: link.target.as_str().to_owned(),
            clicks,
            is_active: link.is_active,
        }
    }
}
