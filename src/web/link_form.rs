//! The fields of a link in a form, and the API's own words where one is refused.

use axum::http::StatusCode;

use super::form::{Form, moment};
use crate::domain::{
    CustomCode, FieldEdit, Link, LinkEdit, LinkProperties, LinkRequest, MaxClicks, OwnHost,
    TagEdit, Tags, TargetUrl, Timestamp, Title,
};
use crate::http::ApiError;
use crate::http::paths::is_kept_word;

/// The fields as a page shows them.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkForm {
    pub(super) target_url: String,
    pub(super) custom_code: String,
    pub(super) title: String,
    pub(super) tags: String,
    /// As `2027-01-31T18:00`, in UTC; empty for none.
    pub(super) expires_at: String,
    pub(super) max_clicks: String,
    pub(super) forward_query: bool,
    pub(super) is_active: bool,
    /// What is wrong, as `field: sentence`.
    pub(super) fault: Option<String>,
}

/// The names of the fields, for faults that belong to one.
const FIELDS: [&str; 6] = [
    "target_url",
    "custom_code",
    "title",
    "tags",
    "expires_at",
    "max_clicks",
];

/// What is said of a link that another window or a program changed while its form was open.
const CHANGED_MEANWHILE: &str = "The link was changed meanwhile, in another window or by a program. What you entered is \
     below and not saved; saving it now replaces that change.";

impl LinkForm {
    /// A link as it is.
    pub(super) fn of(link: &Link) -> Self {
        let properties = &link.properties;
        let text = |title: &Title| title.as_str().to_owned();
        Self {
            target_url: properties.target.as_str().to_owned(),
            custom_code: link.code.to_string(),
            title: properties.title.as_ref().map(text).unwrap_or_default(),
            tags: properties.tags.as_slice().join(", "),
            expires_at: properties.expires_at.map(local).unwrap_or_default(),
            max_clicks: properties
                .max_clicks
                .map(|max| max.number().to_string())
                .unwrap_or_default(),
            forward_query: properties.forward_query,
            is_active: properties.is_active,
            fault: None,
        }
    }

    /// What was sent.
    pub(super) fn sent(form: &Form) -> Self {
        let field = |name| form.get(name).trim().to_owned();
        Self {
            target_url: field("target_url"),
            custom_code: field("custom_code"),
            title: field("title"),
            tags: field("tags"),
            expires_at: field("expires_at"),
            max_clicks: field("max_clicks"),
            forward_query: form.has("forward_query"),
            is_active: form.has("is_active"),
            fault: None,
        }
    }

    /// The same, with what is wrong. A page knows no `If-Match`, and its form is in the newest state of the link when it comes again.
    pub(super) fn refused(self, error: &ApiError) -> Self {
        let detail = match error.status() {
            StatusCode::PRECONDITION_FAILED => CHANGED_MEANWHILE,
            _ => error.detail(),
        };
        Self {
            fault: Some(detail.to_owned()),
            ..self
        }
    }

    /// The fault of a field; that of none of them where `field` is empty.
    pub(super) fn fault_of(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_deref()?;
        match fault.split_once(": ") {
            Some((name, text)) if FIELDS.contains(&name) => (name == field).then_some(text),
            _ => field.is_empty().then_some(fault),
        }
    }

    /// A new link.
    pub(super) fn request(&self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        let code = (!self.custom_code.is_empty())
            .then(|| CustomCode::parse(&self.custom_code, is_kept_word));
        Ok(LinkRequest {
            properties: self.properties(own_host)?,
            custom_code: code.transpose().map_err(invalid)?,
            clicks: 0,
            may_have_ended: false,
        })
    }

    fn properties(&self, own_host: &OwnHost) -> Result<LinkProperties, ApiError> {
        Ok(LinkProperties {
            title: Title::parse(&self.title).map_err(invalid)?,
            tags: Tags::parse_list(&self.tags).map_err(invalid)?,
            expires_at: self.end()?,
            max_clicks: self.max()?,
            forward_query: self.forward_query,
            ..LinkProperties::of(TargetUrl::parse(&self.target_url, own_host).map_err(invalid)?)
        })
    }

    /// A change of everything that the form has. An end that stays as it was keeps its seconds.
    pub(super) fn edit(&self, of: &Link, own_host: &OwnHost) -> Result<LinkEdit, ApiError> {
        fn set<T>(value: Option<T>) -> FieldEdit<T> {
            value.map_or(FieldEdit::Clear, FieldEdit::Set)
        }
        let wanted = self.properties(own_host)?;
        let is_same_end = Self::of(of).expires_at == self.expires_at;
        Ok(LinkEdit {
            target: Some(wanted.target),
            is_active: Some(self.is_active),
            title: set(wanted.title),
            tags: Some(TagEdit::Set(wanted.tags)),
            expires_at: if is_same_end {
                FieldEdit::Keep
            } else {
                set(wanted.expires_at)
            },
            max_clicks: set(wanted.max_clicks),
            forward_query: Some(self.forward_query),
        })
    }

    fn end(&self) -> Result<Option<Timestamp>, ApiError> {
        moment("expires_at", &self.expires_at)
    }

    fn max(&self) -> Result<Option<MaxClicks>, ApiError> {
        if self.max_clicks.is_empty() {
            return Ok(None);
        }
        // 0 is none, and refused with the same sentence.
        let number = self.max_clicks.parse().unwrap_or(0);
        MaxClicks::parse(number).map(Some).map_err(invalid)
    }
}

/// A moment in UTC as the field of a browser has it.
fn local(moment: Timestamp) -> String {
    let text = moment.to_string();
    text.get(..16).unwrap_or_default().to_owned()
}

fn invalid(error: impl std::error::Error) -> ApiError {
    ApiError::invalid(error.to_string())
}
