//! The fields of one link of many, as JSON.

use serde::Deserialize;
use serde::de::IgnoredAny;
use utoipa::ToSchema;

use super::link_fields::{Fields, JsonMaxClicks, json_tags};
use crate::domain::{LinkStatus, OwnHost};
use crate::http::ApiError;
use crate::links::LinkRequest;

/// Clicks of a link at most: up to here JSON numbers are exact everywhere.
const MAX_CLICKS: u64 = (1 << 53) - 1;

/// A new link among many: also as an export has it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkObject {
    /// Absolute `http` or `https` URL; its rules are those of a single link. It may have letters beyond ASCII, as in an export.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: String,
    /// A code of your choice, in exactly this case.
    #[schema(pattern = "^[A-Za-z0-9_-]{4,64}$")]
    custom_code: Option<String>,
    /// The moment from which the link is not followed any more: in the future, unless `created_at` shows an exported link.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// Redirects that are answered in all.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    max_clicks: Option<JsonMaxClicks>,
    /// A name for you.
    #[schema(max_length = 200)]
    title: Option<String>,
    /// Words that group your links.
    #[schema(max_items = 20)]
    tags: Option<Vec<String>>,
    /// Whether a visitor's query is added to that of the target.
    forward_query: Option<bool>,
    /// Whether the link is followed: `true` unless given.
    is_active: Option<bool>,
    /// Clicks that another service counted for it.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    clicks: Option<serde_json::Number>,
    /// Of an export: the code, where there is no `custom_code`.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: Option<String>,
    /// Of an export: the link may have ended already. The new link is created now.
    #[schema(format = DateTime)]
    created_at: Option<String>,
    /// Of an export; ignored, as are `short_url`, `status` and `updated_at`.
    #[schema(value_type = Option<i64>, minimum = 1)]
    #[expect(dead_code, reason = "the service sets it")]
    id: Option<IgnoredAny>,
    /// Of an export; ignored.
    #[schema(value_type = Option<String>, format = "uri")]
    #[expect(dead_code, reason = "the service sets it")]
    short_url: Option<IgnoredAny>,
    /// Of an export; ignored.
    #[schema(value_type = Option<LinkStatus>)]
    #[expect(dead_code, reason = "the service sets it")]
    status: Option<IgnoredAny>,
    /// Of an export; ignored.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[expect(dead_code, reason = "the service sets it")]
    updated_at: Option<IgnoredAny>,
}

impl BulkObject {
    pub(super) fn parse(&self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        let given = self.clicks.as_ref();
        Fields {
            target: &self.target_url,
            custom_code: self.custom_code.as_deref().or(self.short_code.as_deref()),
            expires_at: self.expires_at.as_deref(),
            max_clicks: self.max_clicks.as_ref().map(|max| max.0),
            title: self.title.as_deref(),
            tags: self.tags.as_deref().map(json_tags).transpose()?,
            forward_query: self.forward_query,
            is_active: self.is_active,
            clicks: given.map_or(Ok(0), |given| clicks(given.as_u64()))?,
            may_have_ended: self.created_at.is_some(),
        }
        .parse(own_host)
    }
}

/// A number of clicks that another service counted.
pub(super) fn clicks(given: Option<u64>) -> Result<u64, ApiError> {
    given.filter(|clicks| *clicks <= MAX_CLICKS).ok_or_else(|| {
        ApiError::invalid("clicks: must be a whole number from 0 to 9007199254740991")
    })
}
