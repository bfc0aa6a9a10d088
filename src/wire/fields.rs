//! The fields of a link as a request has them, each declared once.

use std::str::ParseBoolError;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::link::ViewWord;
use crate::domain::{
    CustomCode, FieldEdit, InvalidTimestamp, LinkEdit, LinkProperties, LinkRequest, LinkStatus,
    MaxClicks, OwnHost, TagEdit, Tags, TargetUrl, Timestamp, Title,
};

/// What a request says of a link: a field is absent, taken away (`null`), or given. Which fields a
/// document may have is its own matter: see [`super::LinkObject`] and its neighbours.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LinkFields {
    /// Absolute `http` or `https` URL.
    #[schema(value_type = String, example = "https://example.org/a/long/path", format = "uri", max_length = 2048)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub target_url: FieldEdit<String>,
    /// A code of your choice, in exactly this case.
    #[schema(value_type = Option<String>, pattern = "^[A-Za-z0-9_-]{4,64}$")]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub custom_code: FieldEdit<String>,
    /// The moment from which the link is not followed any more: in the future, RFC 3339 with a zone.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub expires_at: FieldEdit<String>,
    /// Redirects that are answered in all.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub max_clicks: FieldEdit<MaxClicks>,
    /// A name for you.
    #[schema(value_type = Option<String>, max_length = 200)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub title: FieldEdit<String>,
    /// Words that group your links.
    #[schema(value_type = Option<Vec<String>>, max_items = 20)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub tags: FieldEdit<Vec<String>>,
    /// Whether a visitor's query is added to that of the target.
    #[schema(value_type = Option<bool>)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub forward_query: FieldEdit<bool>,
    /// Clicks that another service counted for it.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub clicks: FieldEdit<Number>,
    /// Whether the link is followed: `true` unless given.
    #[schema(value_type = Option<bool>)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub is_active: FieldEdit<bool>,
    /// Of an export: the code, if `custom_code` is missing.
    #[schema(value_type = Option<String>, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub short_code: FieldEdit<String>,
    /// Of an export: the link may have ended already. The new link is created now.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub created_at: FieldEdit<String>,
    /// Of an export; ignored, as are `short_url`, `status` and `updated_at`.
    #[schema(value_type = Option<i64>, minimum = 1)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub id: FieldEdit<Ignored>,
    /// Of an export; ignored.
    #[schema(value_type = Option<String>, format = "uri")]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub short_url: FieldEdit<Ignored>,
    /// Of an export; ignored.
    #[schema(value_type = Option<LinkStatus>)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub status: FieldEdit<Ignored>,
    /// Of an export; ignored.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub updated_at: FieldEdit<Ignored>,
    /// `full`: the response has all fields of the link.
    #[schema(value_type = Option<ViewWord>)]
    #[serde(default, skip_serializing_if = "FieldEdit::is_kept")]
    pub view: FieldEdit<String>,
}

/// A value that is read over.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "IgnoredAny")]
pub struct Ignored;

impl From<IgnoredAny> for Ignored {
    fn from(_: IgnoredAny) -> Self {
        Self
    }
}

impl LinkFields {
    /// The fields of a document that has only texts, by their names: a query, or a form.
    ///
    /// # Errors
    /// A sentence that begins with the name of a field, here as below.
    pub fn of_texts(mut text: impl FnMut(&str) -> FieldEdit<String>) -> Result<Self, String> {
        let words =
            |raw: String| Ok::<_, String>(Some(raw.split(',').map(str::to_owned).collect()));
        Ok(Self {
            target_url: text("target_url"),
            custom_code: text("custom_code"),
            expires_at: text("expires_at"),
            max_clicks: text("max_clicks").parsed(|raw| max_clicks(&raw))?,
            title: text("title"),
            tags: text("tags").parsed(words)?,
            forward_query: text("forward_query").parsed(|raw| flag("forward_query", &raw))?,
            is_active: text("is_active").parsed(|raw| flag("is_active", &raw))?,
            view: text("view"),
            ..Self::default()
        })
    }

    /// The new link that is asked for. `is_reserved` says whether a code is a word of the service's own.
    ///
    /// # Errors
    /// As above.
    pub fn request(
        self,
        own_host: &OwnHost,
        is_reserved: fn(&str) -> bool,
    ) -> Result<LinkRequest, String> {
        let target_url = self
            .target_url
            .value(|| Err("target_url: must be a string"))?;
        let target_url = target_url.ok_or("target_url: field is required")?;
        let tags = self.tags.parsed(|raw| tags(&raw))?.given();
        let clicks = self.clicks.parsed(|given| clicks(given.as_u64()))?.given();
        let title = self
            .title
            .parsed(|raw| Title::parse(&raw))
            .map_err(sentence)?;
        let expires_at = self.expires_at.parsed(|raw| end(&raw))?.given();
        let target = TargetUrl::parse(&target_url, own_host).map_err(sentence)?;
        let code = self.custom_code.given().or(self.short_code.given());
        let custom_code = code.map(|raw| CustomCode::parse(&raw, is_reserved));
        Ok(LinkRequest {
            properties: LinkProperties {
                target,
                is_active: self.is_active.given().unwrap_or(true),
                title: title.given(),
                tags: tags.unwrap_or_default(),
                expires_at,
                max_clicks: self.max_clicks.given(),
                forward_query: self.forward_query.given().unwrap_or_default(),
            },
            custom_code: custom_code.transpose().map_err(sentence)?,
            clicks: clicks.unwrap_or_default(),
            may_have_ended: self.created_at.given().is_some(),
        })
    }

    /// The change of a link that is asked for.
    ///
    /// # Errors
    /// As above.
    pub fn edit(self, own_host: &OwnHost) -> Result<LinkEdit, String> {
        let target = |raw: String| TargetUrl::parse(&raw, own_host).map(Some);
        let target = self.target_url.parsed(target).map_err(sentence)?;
        Ok(LinkEdit {
            target: target.value(|| Err("target_url: must not be null"))?,
            is_active: (self.is_active).value(|| Err("is_active: must not be null"))?,
            title: self
                .title
                .parsed(|raw| Title::parse(&raw))
                .map_err(sentence)?,
            tags: (self.tags.parsed(|raw| tags(&raw))?)
                .value(|| Ok::<_, String>(Tags::default()))?
                .map(TagEdit::Set),
            expires_at: self.expires_at.parsed(|raw| end(&raw))?,
            max_clicks: self.max_clicks,
            forward_query: self.forward_query.value(|| Ok::<_, String>(false))?,
        })
    }
}

fn sentence(error: impl std::error::Error) -> String {
    error.to_string()
}

fn tags(raw: &[String]) -> Result<Option<Tags>, String> {
    let tags = Tags::parse(raw.iter().map(String::as_str));
    tags.map(Some).map_err(sentence)
}

fn end(raw: &str) -> Result<Option<Timestamp>, String> {
    let end = raw.parse();
    end.map(Some)
        .map_err(|error: InvalidTimestamp| format!("expires_at: {error}"))
}

fn max_clicks(raw: &str) -> Result<Option<MaxClicks>, String> {
    // 0 is refused with the same sentence.
    let max = MaxClicks::parse(raw.parse().unwrap_or(0));
    max.map(Some).map_err(sentence)
}

fn flag(field: &str, raw: &str) -> Result<Option<bool>, String> {
    let flag = raw.parse();
    flag.map(Some)
        .map_err(|_: ParseBoolError| format!("{field}: must be true or false"))
}

/// A number of clicks that another service counted: JSON keeps no larger one exact.
fn clicks(given: Option<u64>) -> Result<Option<u64>, String> {
    let clicks = given.filter(|clicks| *clicks <= MaxClicks::LAST);
    let refused = "clicks: must be a whole number from 0 to 9007199254740991";
    clicks.map(Some).ok_or_else(|| refused.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_request_leaves_out_stays_as_it_is() {
        let read: LinkFields = serde_json::from_str("{}").unwrap();
        for fields in [read, LinkFields::default()] {
            assert_eq!(serde_json::to_string(&fields).unwrap(), "{}");
        }
    }
}
