//! Hooks in bodies.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{EventType, HookFilter, HookSecret, HookTargets, HookUrl, Tags};
use crate::http::ApiError;
use crate::store::{Delivery, Hook, HookEdit};

/// A hook to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewHookBody {
    /// Where events are sent: an https address, and a public one.
    #[schema(example = "https://example.org/hooks/shunt", max_length = 2048)]
    url: String,
    /// Which types of events: those of `GET /urls/my/events`.
    #[schema(example = json!(["link.created", "clicks"]), min_items = 1)]
    types: Vec<String>,
    /// Only events of links with one of these tags; without tags: of all links.
    #[serde(default)]
    #[schema(nullable = false, example = json!(["spring"]))]
    tags: Vec<String>,
}

/// A change of a hook. Fields that are named change, all others stay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HookPatch {
    /// Where events are sent.
    #[schema(
        example = "https://example.org/hooks/shunt",
        max_length = 2048,
        nullable = false
    )]
    url: Option<String>,
    /// Which types of events.
    #[schema(example = json!(["clicks"]), min_items = 1, nullable = false)]
    types: Option<Vec<String>>,
    /// Only events of links with one of these tags; an empty list: of all links.
    #[schema(nullable = false)]
    tags: Option<Vec<String>>,
    /// Whether events are sent. What happens while a hook is off is sent when it is on again, as far as events are kept.
    #[schema(nullable = false)]
    is_active: Option<bool>,
    /// `true`: makes a new secret, which is in the response. The former one signs, too, for a day. Of two new
    /// secrets within 10 minutes, the second takes the place of the first.
    #[serde(default)]
    rotate_secret: bool,
}

/// From where on events are sent again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayBody {
    /// The `id` of an event: all that happened after it is sent again.
    #[schema(example = "5f0c8d0212.3", max_length = 64)]
    pub(super) after: String,
}

/// A hook.
#[derive(Serialize, ToSchema)]
pub(super) struct HookBody {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// Where events are sent.
    #[schema(example = "https://example.org/hooks/shunt")]
    url: String,
    /// Which types of events.
    #[schema(example = json!(["link.created", "clicks"]))]
    types: Vec<&'static str>,
    /// Only events of links with one of these tags; without tags: of all links.
    #[schema(example = json!(["spring"]))]
    tags: Vec<String>,
    /// Whether events are sent. A hook is switched off by its owner, by a receiver that answers 410, and if an event was not taken for 3 days.
    is_active: bool,
    /// When it was made, in UTC.
    #[schema(example = "2026-11-29T12:00:00.123456Z", format = DateTime)]
    created_at: String,
    /// Deliveries that the receiver did not take yet.
    #[schema(example = 0)]
    waiting: u64,
    /// Since when the receiver has taken nothing.
    #[schema(required = true, example = json!(null), format = DateTime)]
    failing_since: Option<String>,
    /// Why the receiver did not take what was sent last, or why the hook was switched off.
    #[schema(required = true, example = json!(null))]
    last_error: Option<String>,
}

/// A hook with its secret, if that is new.
#[derive(Serialize, ToSchema)]
pub(super) struct HookWithSecret {
    #[serde(flatten)]
    hook: HookBody,
    /// The secret that signs. It is shown only now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", nullable = false)]
    secret: Option<String>,
}

/// An event for a receiver.
#[derive(Serialize, ToSchema)]
pub(super) struct DeliveryBody {
    /// Identifier, which rises.
    #[schema(example = 12, minimum = 1)]
    id: i64,
    /// The `id` of the event.
    #[schema(example = "5f0c8d0212.3")]
    event_id: String,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(example = "clicks")]
    of: String,
    /// When it was put in line, in UTC.
    #[schema(example = "2026-11-29T12:00:00.123456Z", format = DateTime)]
    created_at: String,
    /// How many times it was sent.
    #[schema(example = 1)]
    attempts: u64,
    /// When the receiver took it.
    #[schema(required = true, example = "2026-11-29T12:00:01Z", format = DateTime)]
    delivered_at: Option<String>,
    /// When it is sent next. Of a delivery that waits for an earlier event of its link there is none.
    #[schema(required = true, example = json!(null), format = DateTime)]
    next_attempt_at: Option<String>,
    /// The status of the last answer.
    #[schema(required = true, example = 204)]
    status: Option<u16>,
    /// Why the receiver did not take it the last time.
    #[schema(required = true, example = json!(null))]
    error: Option<String>,
}

impl NewHookBody {
    pub(super) fn parse(self, targets: HookTargets) -> Result<(HookUrl, HookFilter), ApiError> {
        let url = parse_url(&self.url, targets)?;
        let types = parse_types(&self.types)?;
        let tags = parse_tags(&self.tags)?;
        Ok((url, HookFilter { types, tags }))
    }
}

impl HookPatch {
    /// The change, and whether the hook gets another secret.
    pub(super) fn parse(self, targets: HookTargets) -> Result<(HookEdit, bool), ApiError> {
        let url = self.url.as_deref().map(|url| parse_url(url, targets));
        let edit = HookEdit {
            url: url.transpose()?,
            types: self.types.as_deref().map(parse_types).transpose()?,
            tags: self.tags.as_deref().map(parse_tags).transpose()?,
            is_active: self.is_active,
            secret: None,
        };
        Ok((edit, self.rotate_secret))
    }
}

fn parse_url(raw: &str, targets: HookTargets) -> Result<HookUrl, ApiError> {
    HookUrl::parse(raw, targets).map_err(|error| ApiError::invalid(format!("url: {error}")))
}

fn parse_types(raw: &[String]) -> Result<Vec<EventType>, ApiError> {
    let mut types = Vec::new();
    for word in raw {
        let names = || EventType::ALL.map(EventType::as_str).join(", ");
        let unknown = || ApiError::invalid(format!("types: must each be one of {}", names()));
        let of = EventType::parse(word).ok_or_else(unknown)?;
        if !types.contains(&of) {
            types.push(of);
        }
    }
    if types.is_empty() {
        return Err(ApiError::invalid("types: must name at least one type"));
    }
    Ok(types)
}

fn parse_tags(raw: &[String]) -> Result<Tags, ApiError> {
    let tags = Tags::parse(raw.iter().map(String::as_str));
    tags.map_err(|error| ApiError::invalid(error.to_string()))
}

impl From<&Hook> for HookBody {
    fn from(hook: &Hook) -> Self {
        let types = hook.filter.types.iter().map(|of| of.as_str());
        Self {
            id: hook.id,
            url: hook.url.as_str().to_owned(),
            types: types.collect(),
            tags: hook.filter.tags.as_slice().to_vec(),
            is_active: hook.is_active,
            created_at: hook.created_at.with_micros(),
            waiting: hook.waiting,
            failing_since: hook.failing_since.map(|since| since.to_string()),
            last_error: hook.last_error.clone(),
        }
    }
}

impl HookWithSecret {
    pub(super) fn new(hook: &Hook, secret: Option<&HookSecret>) -> Self {
        Self {
            hook: hook.into(),
            secret: secret.map(HookSecret::text),
        }
    }
}

impl From<Delivery> for DeliveryBody {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id,
            event_id: delivery.event_id,
            of: delivery.of,
            created_at: delivery.made_at.with_micros(),
            attempts: delivery.attempts,
            delivered_at: delivery.done_at.map(|at| at.to_string()),
            next_attempt_at: delivery.next_at.map(|at| at.to_string()),
            status: delivery.status,
            error: delivery.error,
        }
    }
}
