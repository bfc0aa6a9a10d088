//! The form for a removal: what it has in it, and what that means.

use askama::Template;

use super::faults::Refused;
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{Reason, RemovalStatus, RemovalTarget};
use crate::web::form::Form;
use crate::web::language::Language;

/// The form for a removal, on its page.
#[derive(Template)]
#[template(path = "admin/removal_form.html")]
pub(super) struct FormCard<'a> {
    pub(super) language: Language,
    pub(super) csrf: &'a str,
    pub(super) form: &'a RemovalForm,
}

/// What the form has in it.
#[derive(Default)]
pub(super) struct RemovalForm {
    pub(super) kind: String,
    pub(super) value: String,
    pub(super) reason: String,
    pub(super) status: String,
    /// The report that the removal answers: it is closed with it, and so are earlier reports of its link.
    pub(super) report: String,
    pub(super) refused: Option<Refused>,
}

impl RemovalForm {
    /// What was typed; of a short URL its code. The inbox of reports names a value for each kind.
    pub(super) fn sent(form: &Form, code_in: impl FnOnce(&str) -> Option<String>) -> Self {
        let field = |name| form.get(name).trim().to_owned();
        let kind = field("kind");
        let value = match field("value") {
            empty if empty.is_empty() && kind == "link" => field("link"),
            empty if empty.is_empty() && kind == "user" => field("user"),
            value if kind == "link" => code_in(&value).unwrap_or(value),
            value => value,
        };
        Self {
            kind,
            value,
            reason: field("reason"),
            status: field("status"),
            report: field("report"),
            refused: None,
        }
    }

    /// The fault of a field; with an empty `field`, the fault that belongs to no field.
    pub(super) fn fault_of(&self, field: &str) -> Option<&str> {
        self.refused.as_ref().and_then(|refused| refused.at(field))
    }

    /// Each kind of removal, in words.
    fn kinds(language: Language) -> [(&'static str, &'static str); 4] {
        [
            ("link", language.text("admin_kind_link")),
            ("host", language.text("admin_kind_host")),
            ("user", language.text("admin_kind_user")),
            ("address", language.text("admin_kind_address")),
        ]
    }

    pub(super) async fn parsed(
        &self,
        abuse: &Abuse,
    ) -> Result<(RemovalTarget, Reason, RemovalStatus), AbuseError> {
        let target = abuse.target(&self.kind, &self.value).await?;
        let reason = Reason::parse(&self.reason)?;
        let status = self.status.parse().unwrap_or_default();
        Ok((target, reason, RemovalStatus::parse(status)?))
    }
}
