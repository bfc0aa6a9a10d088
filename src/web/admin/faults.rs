//! What is wrong with what an administrator sent, as sentences of the page's language.

use axum::http::StatusCode;

use crate::abuse::AbuseError;
use crate::domain::{InvalidDomain, InvalidHostPattern, InvalidInvitation, InvalidRemoval};
use crate::http::ApiError;
use crate::web::language::Language;

/// A refusal that the page of the form shows.
pub(super) struct Refused {
    field: &'static str,
    pub(super) text: String,
    pub(super) status: StatusCode,
}

impl Refused {
    /// The refusal of a form.
    ///
    /// # Errors
    /// What is no fault of the form: it has a page of its own.
    pub(super) fn of(error: AbuseError, language: Language) -> Result<Self, ApiError> {
        let Some((field, text)) = said(&error, language) else {
            return Err(error.into());
        };
        let status = ApiError::from(error).status();
        Ok(Self {
            field,
            text,
            status,
        })
    }

    /// A refusal that belongs to no field.
    pub(super) fn whole(text: &str) -> Self {
        Self {
            field: "",
            text: text.to_owned(),
            status: StatusCode::UNPROCESSABLE_ENTITY,
        }
    }

    /// The sentence, if it belongs to this field; with an empty `field`, the sentence that belongs to no field.
    pub(super) fn at(&self, field: &str) -> Option<&str> {
        (self.field == field).then_some(&self.text)
    }
}

fn said(error: &AbuseError, language: Language) -> Option<(&'static str, String)> {
    let plain = |field, text: &'static str| Some((field, text.to_owned()));
    match error {
        AbuseError::Invalid(why) => {
            let (field, text) = of_removal(*why, language);
            plain(field, text)
        }
        AbuseError::Domain(why) => Some(of_domain(why, language)),
        AbuseError::Unknown => plain("value", language.text("admin_fault_unknown")),
        AbuseError::OwnAccount => plain("value", language.text("admin_fault_own_account")),
        AbuseError::Banned => plain("value", language.text("admin_fault_banned")),
        AbuseError::LastAdministrator => plain("", language.text("admin_fault_last_administrator")),
        AbuseError::Already(id) => {
            let id = id.0.to_string();
            let text = language.with("admin_fault_already", &[("id", &id)]);
            Some(("value", text))
        }
        AbuseError::DomainExists => plain("host", language.text("admin_fault_domain_exists")),
        AbuseError::DomainHasLinks => plain("host", language.text("admin_fault_domain_links")),
        AbuseError::ManyDomains => plain("host", language.text("admin_fault_many_domains")),
        AbuseError::Invitation(InvalidInvitation::Email(_)) => {
            plain("email", language.text("admin_fault_email"))
        }
        AbuseError::Invitation(InvalidInvitation::Group) => {
            plain("group", language.text("admin_fault_group"))
        }
        AbuseError::HasAccount => plain("email", language.text("admin_fault_has_account")),
        AbuseError::ManyInvitations => plain("", language.text("admin_fault_many_invitations")),
        AbuseError::NoFactor => plain("", language.text("admin_fault_no_factor")),
        AbuseError::Gone
        | AbuseError::NoAdmin
        | AbuseError::FactorMissing
        | AbuseError::NoDomain
        | AbuseError::Invitation(InvalidInvitation::Role | InvalidInvitation::GroupRole)
        | AbuseError::NoRandomness(_)
        | AbuseError::TooMany(_)
        | AbuseError::Store(_) => None,
    }
}

fn of_removal(why: InvalidRemoval, language: Language) -> (&'static str, &'static str) {
    match why {
        InvalidRemoval::Kind => ("", language.text("admin_fault_kind")),
        InvalidRemoval::Code => ("value", language.text("admin_fault_code")),
        InvalidRemoval::Host(InvalidHostPattern::NoHost) => {
            ("value", language.text("admin_fault_host"))
        }
        InvalidRemoval::Host(InvalidHostPattern::PublicSuffix) => {
            ("value", language.text("admin_fault_public_suffix"))
        }
        InvalidRemoval::User => ("value", language.text("admin_fault_user")),
        InvalidRemoval::Address => ("value", language.text("admin_fault_address")),
        InvalidRemoval::Status => ("", language.text("admin_fault_status")),
        InvalidRemoval::NoReason => ("reason", language.text("admin_fault_no_reason")),
        InvalidRemoval::LongReason => ("reason", language.text("admin_fault_long_reason")),
        InvalidRemoval::ControlInReason => ("reason", language.text("admin_fault_control")),
    }
}

fn of_domain(why: &InvalidDomain, language: Language) -> (&'static str, String) {
    let (field, text) = match why {
        InvalidDomain::Host => ("host", language.text("admin_fault_domain_host")),
        InvalidDomain::Own => ("host", language.text("admin_fault_domain_own")),
        InvalidDomain::Url(field, _) => (*field, language.text("admin_fault_url")),
        InvalidDomain::LeadsBack(field) => (*field, language.text("admin_fault_leads_back")),
        InvalidDomain::File(field) => (*field, language.text("admin_fault_json")),
        InvalidDomain::LargeFile(field) => (*field, language.text("admin_fault_large_json")),
        InvalidDomain::Owners => ("owners", language.text("admin_fault_owners")),
        InvalidDomain::ManyOwners(most) => {
            let most = language.number(*most as u64);
            let text = language.with("admin_fault_many_owners", &[("most", &most)]);
            return ("owners", text);
        }
        InvalidDomain::NoAccount(email) => {
            let text = language.with("admin_fault_no_account", &[("email", email)]);
            return ("owners", text);
        }
    };
    (field, text.to_owned())
}
