//! An event as its owner sees it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What happened to a link of yours, the clicks of one of your links that were counted, or a hook of yours that was switched off.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventBody {
    /// Names the event for ever, and is the cursor after it.
    #[schema(example = "5f0c8d0212.3")]
    pub id: String,
    /// `link.created`, `link.changed`, `link.deleted`, `link.removed`, `link.restored`, `link.ended`, `link.moved`,
    /// `clicks` or `hook.off`.
    #[serde(rename = "type")]
    #[schema(example = "clicks")]
    pub of: String,
    /// When it happened; of clicks, when they were counted.
    #[schema(example = "2026-11-28T12:00:00Z", format = DateTime)]
    pub at: String,
    /// The link's own code. Of `hook.off` there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "spring-sale",
        pattern = "^[A-Za-z0-9_-]{1,64}$",
        nullable = false
    )]
    pub short_code: Option<String>,
    /// The host of the link; `null`: the service's own.
    #[schema(example = "go.example.org", required = false, nullable)]
    pub domain: Option<String>,
    /// Of `link.…`: where the link led then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://example.org/a/long/path", nullable = false)]
    pub target_url: Option<String>,
    /// Of `link.…`: the title of the link then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Spring sale", nullable = false)]
    pub title: Option<String>,
    /// Of `link.…`: the tags of the link then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tags: Option<Vec<String>>,
    /// Of `clicks`: the quarter of an hour in which they came, by its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-28T11:45:00Z", format = DateTime, nullable = false)]
    pub interval: Option<String>,
    /// Of `clicks`: how many more were counted. Of `link.created`: with how many the link started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 3, nullable = false)]
    pub clicks: Option<u64>,
    /// Of `clicks`: those of which something is known of the visitor, by class. Without analytics there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub classes: Option<Vec<ClassBody>>,
    /// Of `hook.off`: the identifier of the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 1, nullable = false)]
    pub hook: Option<i64>,
    /// Of `hook.off`: the host of the receiver, with its port if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "example.org", nullable = false)]
    pub host: Option<String>,
    /// Of `hook.off`: why the hook was switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "The receiver answered 410", nullable = false)]
    pub reason: Option<String>,
}

/// Clicks of one class of visitors. What is not known is `null`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ClassBody {
    /// How many there are.
    #[schema(example = 2, minimum = 1)]
    pub clicks: u64,
    /// The host of the page that has the link.
    #[schema(example = "news.example.org", required = false, nullable)]
    pub referrer: Option<String>,
    /// Two letters of ISO 3166-1.
    #[schema(example = "DE", required = false, nullable)]
    pub country: Option<String>,
    /// The family of the browser.
    #[schema(example = "Firefox", required = false, nullable)]
    pub browser: Option<String>,
    /// The family of the operating system.
    #[schema(example = "Android", required = false, nullable)]
    pub os: Option<String>,
    /// The kind of device.
    #[schema(example = "phone", required = false, nullable)]
    pub device: Option<String>,
    /// The rule of the link that decided.
    #[schema(example = "spring/1", required = false, nullable)]
    pub rule: Option<String>,
    /// The alias that was followed.
    #[schema(example = "sale", required = false, nullable)]
    pub code: Option<String>,
    /// Whether it is a known bot.
    #[schema(example = false, required = false, nullable)]
    pub bot: Option<bool>,
}
