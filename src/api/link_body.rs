//! A link as its owner sees it in a response.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Link;

/// A link as its owner sees it.
#[derive(Serialize, ToSchema)]
pub(super) struct LinkBody {
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

impl LinkBody {
    pub(super) fn new(link: &Link, clicks: u64) -> Self {
        Self {
            id: link.id.number(),
            short_code: link.code.as_str().to_owned(),
            target_url: link.target.as_str().to_owned(),
            clicks,
            is_active: link.is_active,
        }
    }
}
