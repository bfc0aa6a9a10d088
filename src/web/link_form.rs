//! The fields of a link in a form, and the API's own words if a field is refused. A target may be typed without its scheme.

use std::collections::BTreeMap;

use axum::http::StatusCode;

use super::form::{Form, moment};
use super::language::Language;
use super::scheme::with_scheme;
use crate::domain::{Campaign, FieldEdit, Link, LinkEdit, LinkRequest, LinkStatus, OwnHost};
use crate::http::ApiError;
use crate::http::paths::is_reserved;
use crate::wire::{COLUMNS, DocumentKind, Field, FullLinkBody, LinkFields, SecretText, Value};

/// The fields as a page shows them.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkForm {
    /// Texts by the names of fields. A moment is written as `2027-01-31T18:00`, in UTC.
    texts: BTreeMap<&'static str, String>,
    /// The new password, which no page shows.
    password: Option<SecretText>,
    /// What is wrong, as `field: sentence`.
    fault: Option<String>,
    /// What the fields of the link have become meanwhile, where that is something else.
    meanwhile: BTreeMap<&'static str, String>,
}

/// The fields of a password in a form: a new one, whether there is one, and whether it is taken away.
const PASSWORD: &str = "password";
const HAS_PASSWORD: &str = "has_password";
const NO_PASSWORD: &str = "no_password";

impl LinkForm {
    /// A link as it is.
    pub(super) fn of(link: &Link) -> Self {
        // A form has neither its address nor its clicks.
        let link = FullLinkBody::new(link, String::new(), 0, LinkStatus::Active);
        let text = |field: &'static Field| {
            let name = field.name;
            let column = match name {
                "custom_code" => "short_code",
                name => name,
            };
            let column = COLUMNS.iter().find(|known| known.name == column)?;
            let text = (column.cell)(&link);
            let text = match name {
                "tags" | "aliases" => text.replace(',', ", "),
                // Browsers take no zone.
                _ if field.is_moment() => text.get(..16).unwrap_or_default().to_owned(),
                _ => text.into_owned(),
            };
            Some((name, text))
        };
        let has_password = (HAS_PASSWORD, link.has_password.to_string());
        let texts = DocumentKind::Form.fields().filter_map(text);
        Self {
            texts: texts.chain([has_password]).collect(),
            ..Self::default()
        }
    }

    /// A new link with these texts.
    pub(super) fn with(texts: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self {
            texts: texts.into_iter().collect(),
            ..Self::default()
        }
    }

    /// What was sent, with the parameters of a campaign if the form has them.
    pub(super) fn sent(form: &Form) -> Self {
        let text = |field: &'static Field| {
            let name = field.name;
            // A browser sends only the boxes that are ticked.
            let text = if field.is_flag() {
                form.has(name).to_string()
            } else if name == PASSWORD {
                // Only its name, for its fault.
                String::new()
            } else if name == "note" {
                // Its white space is the owner's.
                form.get(name).to_owned()
            } else if matches!(name, "target_url" | "fallback_url") {
                with_scheme(form.get(name).trim())
            } else {
                form.get(name).trim().to_owned()
            };
            (name, text)
        };
        let campaign = Campaign::NAMES.map(|name| (name, form.get(name).trim().to_owned()));
        let flags = [HAS_PASSWORD, NO_PASSWORD].map(|name| (name, form.has(name).to_string()));
        let password = Some(form.get(PASSWORD)).filter(|given| !given.is_empty());
        Self {
            texts: DocumentKind::Form
                .fields()
                .map(text)
                .chain(campaign)
                .chain(flags)
                .collect(),
            password: password.map(|given| SecretText::new(given.to_owned())),
            ..Self::default()
        }
    }

    /// Whether a parameter of a campaign was entered.
    pub(super) fn has_campaign(&self) -> bool {
        Campaign::NAMES
            .iter()
            .any(|name| !self.text(name).is_empty())
    }

    /// The text of a field.
    pub(super) fn text(&self, field: &str) -> &str {
        self.texts.get(field).map_or("", String::as_str)
    }

    /// Whether a box is ticked.
    pub(super) fn is_ticked(&self, field: &str) -> bool {
        self.text(field) == "true"
    }

    /// The same, with what is wrong. A page knows no `If-Match`, and its form is in the newest state of the link when it comes again.
    pub(super) fn refused(self, error: &ApiError, language: Language) -> Self {
        let detail = match error.status() {
            StatusCode::PRECONDITION_FAILED => language.text("field_changed_meanwhile"),
            _ => error.detail(),
        };
        self.with_fault(detail)
    }

    /// The same, with what is wrong in words.
    pub(super) fn with_fault(self, fault: &str) -> Self {
        Self {
            fault: Some(fault.to_owned()),
            ..self
        }
    }

    /// The same, beside the link as it has become meanwhile.
    pub(super) fn beside(mut self, link: &Link) -> Self {
        let mut meanwhile = Self::of(link).texts;
        meanwhile.retain(|field, text| *field != HAS_PASSWORD && self.text(field) != text);
        self.meanwhile = meanwhile;
        self
    }

    /// What a field has become meanwhile.
    pub(super) fn meanwhile(&self, field: &str) -> Option<&str> {
        self.meanwhile.get(field).map(String::as_str)
    }

    /// The fault of a field; with an empty `field`, the fault that belongs to no field.
    pub(super) fn fault_of(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_deref()?;
        match fault.split_once(": ") {
            Some((name, text)) if self.texts.contains_key(name) => (name == field).then_some(text),
            _ => field.is_empty().then_some(fault),
        }
    }

    /// A new link, which is active. Its target has the parameters of the campaign.
    pub(super) fn request(&self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        let mut fields = self.fields()?;
        fields.is_active = FieldEdit::Keep;
        let campaign = Campaign::parse(|name| self.text(name));
        let target = campaign.and_then(|campaign| campaign.added_to(self.text("target_url")));
        let target = target.map_err(|why| ApiError::invalid(why.to_string()))?;
        fields.target_url = FieldEdit::Set(target.into_owned());
        let request = fields.request(own_host, is_reserved);
        request.map_err(ApiError::invalid)
    }

    /// A change of everything that the form has. A moment that stays as it was keeps its seconds.
    pub(super) fn edit(&self, of: &Link, own_host: &OwnHost) -> Result<LinkEdit, ApiError> {
        let mut fields = self.fields()?;
        let before = Self::of(of);
        for field in DocumentKind::Form.fields() {
            if let Value::Moment(moment) = (field.value)(&mut fields)
                && before.text(field.name) == self.text(field.name)
            {
                *moment = FieldEdit::Keep;
            }
        }
        let edit = fields.edit(own_host, is_reserved);
        edit.map_err(ApiError::invalid)
    }

    fn fields(&self) -> Result<LinkFields, ApiError> {
        let fields =
            LinkFields::of_texts(DocumentKind::Form, |name| match (name, self.text(name)) {
                // An empty target is refused with its own sentence.
                ("target_url", text) => FieldEdit::Set(text.to_owned()),
                (PASSWORD, _) => self.password_edit(),
                (_, "") => FieldEdit::Clear,
                (name, text) => {
                    let mut fields = DocumentKind::Form.fields();
                    let is_moment = fields.any(|field| field.name == name && field.is_moment());
                    let parsed = || moment(name, text).ok().flatten();
                    let moment = is_moment.then(parsed).flatten();
                    FieldEdit::Set(moment.map_or_else(|| text.to_owned(), |at| at.to_string()))
                }
            });
        fields.map_err(ApiError::invalid)
    }

    /// A password that is not given stays as it is.
    fn password_edit(&self) -> FieldEdit<String> {
        match &self.password {
            Some(password) => FieldEdit::Set(password.expose().to_owned()),
            None if self.is_ticked(NO_PASSWORD) => FieldEdit::Clear,
            None => FieldEdit::Keep,
        }
    }
}
