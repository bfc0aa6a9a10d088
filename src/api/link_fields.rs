//! The fields of a new link, as texts of a query and as values of JSON.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::{IntoParams, ToSchema};

use super::words::ViewWord;
use crate::domain::{
    CustomCode, InvalidProperty, LinkProperties, MaxClicks, OwnHost, Tags, TargetUrl, Timestamp,
    Title,
};
use crate::http::ApiError;
use crate::http::paths::is_reserved;
use crate::links::LinkRequest;

/// The new link.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkQuery {
    /// Absolute `http` or `https` URL of at most 2048 bytes, percent-encoded as every parameter: without
    /// control characters, without user name or password, and not on this service's own host. It is stored
    /// and returned exactly as given. Required, here or in the body.
    #[param(
        example = "https://example.org/a/long/path",
        format = "uri",
        pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\@]+([/?#]|$)",
        max_length = 2048
    )]
    pub(super) target_url: Option<String>,
    /// A code of your choice, in exactly this case.
    #[param(pattern = "^[A-Za-z0-9_-]{4,64}$")]
    pub(super) custom_code: Option<String>,
    /// The moment from which the link is not followed any more: in the future, RFC 3339 with a zone.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) expires_at: Option<String>,
    /// Redirects that are answered in all.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub(super) max_clicks: Option<String>,
    /// A name for you, of up to 200 characters.
    #[param(max_length = 200)]
    pub(super) title: Option<String>,
    /// Up to 20 words of up to 50 characters, with commas between.
    pub(super) tags: Option<String>,
    /// Whether a visitor's query is added to that of the target; if both have a parameter of the same name, the visitor's value
    /// is used. A visit whose `Location` would be longer than 8192 bytes is answered 414, and one whose `Location` would be a URL that
    /// the service refuses is answered 410.
    #[param(value_type = Option<bool>)]
    pub(super) forward_query: Option<String>,
    /// `full`: the response has all fields of the link.
    #[param(value_type = Option<ViewWord>, inline)]
    pub(super) view: Option<String>,
}

/// The new link, where its parameters are not in the query.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkObject {
    /// As the query parameter.
    #[schema(
        example = "https://example.org/a/long/path",
        format = "uri",
        max_length = 2048
    )]
    pub(super) target_url: String,
    /// A code of your choice, in exactly this case.
    #[schema(pattern = "^[A-Za-z0-9_-]{4,64}$")]
    pub(super) custom_code: Option<String>,
    /// The moment from which the link is not followed any more: in the future, RFC 3339 with a zone.
    #[schema(format = DateTime)]
    pub(super) expires_at: Option<String>,
    /// Redirects that are answered in all.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub(super) max_clicks: Option<JsonMaxClicks>,
    /// A name for you.
    #[schema(max_length = 200)]
    pub(super) title: Option<String>,
    /// Words that group your links.
    #[schema(max_items = 20)]
    pub(super) tags: Option<Vec<String>>,
    /// Whether a visitor's query is added to that of the target.
    pub(super) forward_query: Option<bool>,
    /// `full`: the response has all fields of the link.
    #[schema(value_type = Option<ViewWord>)]
    pub(super) view: Option<String>,
}

/// A number of clicks in JSON.
pub(super) struct JsonMaxClicks(pub(super) MaxClicks);

impl<'de> Deserialize<'de> for JsonMaxClicks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = JsonMaxClicks;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a whole number from 1 to 9007199254740991")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<JsonMaxClicks, E> {
                MaxClicks::parse(number)
                    .map(JsonMaxClicks)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }

        deserializer.deserialize_u64(Number)
    }
}

impl LinkQuery {
    /// Whether there is any parameter of the link itself.
    pub(super) fn has_link(&self) -> bool {
        let fields = [
            &self.target_url,
            &self.custom_code,
            &self.expires_at,
            &self.max_clicks,
            &self.title,
            &self.tags,
            &self.forward_query,
        ];
        fields.into_iter().any(Option::is_some)
    }

    pub(super) fn parse(&self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        let Some(target) = &self.target_url else {
            return Err(ApiError::invalid("target_url: query parameter is required"));
        };
        let max_clicks = self.max_clicks.as_deref().map(max_clicks).transpose();
        let tags = self.tags.as_deref().map(Tags::parse_list).transpose();
        Fields {
            target,
            custom_code: self.custom_code.as_deref(),
            expires_at: self.expires_at.as_deref(),
            max_clicks: max_clicks.map_err(invalid)?,
            title: self.title.as_deref(),
            tags: tags.map_err(invalid)?,
            forward_query: self
                .forward_query
                .as_deref()
                .map(|raw| flag("forward_query", raw))
                .transpose()?,
            ..Fields::default()
        }
        .parse(own_host)
    }
}

impl LinkObject {
    pub(super) fn parse(&self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        let tags = self.tags.as_ref().map(|tags| json_tags(tags)).transpose()?;
        Fields {
            target: &self.target_url,
            custom_code: self.custom_code.as_deref(),
            expires_at: self.expires_at.as_deref(),
            max_clicks: self.max_clicks.as_ref().map(|max| max.0),
            title: self.title.as_deref(),
            tags,
            forward_query: self.forward_query,
            ..Fields::default()
        }
        .parse(own_host)
    }
}

/// The fields of a new link, whatever they came in.
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) target: &'a str,
    pub(super) custom_code: Option<&'a str>,
    pub(super) expires_at: Option<&'a str>,
    pub(super) max_clicks: Option<MaxClicks>,
    pub(super) title: Option<&'a str>,
    pub(super) tags: Option<Tags>,
    pub(super) forward_query: Option<bool>,
    pub(super) is_active: Option<bool>,
    pub(super) clicks: u64,
    pub(super) may_have_ended: bool,
}

impl Fields<'_> {
    pub(super) fn parse(self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        let code = self
            .custom_code
            .map(|raw| CustomCode::parse(raw, is_reserved));
        Ok(LinkRequest {
            properties: LinkProperties {
                title: self.title.map(title).transpose()?.flatten(),
                tags: self.tags.unwrap_or_default(),
                expires_at: self.expires_at.map(end).transpose()?,
                max_clicks: self.max_clicks,
                forward_query: self.forward_query.unwrap_or_default(),
                is_active: self.is_active.unwrap_or(true),
                ..LinkProperties::of(target(self.target, own_host)?)
            },
            custom_code: code.transpose().map_err(invalid)?,
            clicks: self.clicks,
            may_have_ended: self.may_have_ended,
        })
    }
}

/// 422 with the sentence of a parser.
pub(super) fn invalid(error: impl std::error::Error) -> ApiError {
    ApiError::invalid(error.to_string())
}

pub(super) fn target(raw: &str, own_host: &OwnHost) -> Result<TargetUrl, ApiError> {
    TargetUrl::parse(raw, own_host).map_err(invalid)
}

pub(super) fn title(raw: &str) -> Result<Option<Title>, ApiError> {
    Title::parse(raw).map_err(invalid)
}

pub(super) fn json_tags(raw: &[String]) -> Result<Tags, ApiError> {
    Tags::parse(raw.iter().map(String::as_str)).map_err(invalid)
}

/// The value of `expires_at`.
pub(super) fn end(raw: &str) -> Result<Timestamp, ApiError> {
    raw.parse()
        .map_err(|error| ApiError::invalid(format!("expires_at: {error}")))
}

pub(super) fn max_clicks(raw: &str) -> Result<MaxClicks, InvalidProperty> {
    let number = raw.parse().map_err(|_| InvalidProperty::MaxClicks)?;
    MaxClicks::parse(number)
}

/// The value of a field that is true or false.
pub(super) fn flag(field: &str, raw: &str) -> Result<bool, ApiError> {
    raw.parse()
        .map_err(|_| ApiError::invalid(format!("{field}: must be true or false")))
}
