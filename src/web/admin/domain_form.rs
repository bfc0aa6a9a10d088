//! The form of a host beside the service's own.

use super::faults::Refused;
use crate::domain::{
    Domain, DomainFields, DomainHost, FieldEdit, InvalidDomain, NamedOwners, TargetUrl,
    WellKnownFile,
};
use crate::web::form::Form;

/// What the form has in it.
#[derive(Default)]
pub(super) struct DomainForm {
    pub(super) host: String,
    pub(super) root_url: String,
    pub(super) not_found_url: String,
    /// Whether every account may make links there; otherwise those may that `owners` has.
    pub(super) is_for_all: bool,
    pub(super) owners: String,
    pub(super) assetlinks: String,
    pub(super) apple_app_site_association: String,
    refused: Option<Refused>,
}

impl DomainForm {
    /// A host as it is.
    pub(super) fn of(domain: &Domain) -> Self {
        let url = |url: &Option<TargetUrl>| url.as_ref().map_or("", TargetUrl::as_str).to_owned();
        let file = |file: &Option<WellKnownFile>| {
            file.as_ref().map_or("", WellKnownFile::as_str).to_owned()
        };
        Self {
            host: domain.host.to_string(),
            root_url: url(&domain.root),
            not_found_url: url(&domain.not_found),
            is_for_all: domain.owners.is_none(),
            owners: domain
                .owners
                .iter()
                .flatten()
                .fold(String::new(), |mut listed, owner| {
                    listed.push_str(owner);
                    listed.push('\n');
                    listed
                }),
            assetlinks: file(&domain.assetlinks),
            apple_app_site_association: file(&domain.apple_app_site_association),
            refused: None,
        }
    }

    /// What was typed.
    pub(super) fn sent(form: &Form) -> Self {
        let line = |name| form.get(name).trim().to_owned();
        // A browser writes the end of a line as two characters.
        let text = |name| form.get(name).replace("\r\n", "\n");
        Self {
            host: line("host"),
            root_url: line("root_url"),
            not_found_url: line("not_found_url"),
            is_for_all: form.get("for") == "all",
            owners: text("owners"),
            assetlinks: text("assetlinks"),
            apple_app_site_association: text("apple_app_site_association"),
            refused: None,
        }
    }

    /// The same with what is wrong.
    pub(super) fn refused(self, refused: Refused) -> Self {
        Self {
            refused: Some(refused),
            ..self
        }
    }

    /// The fault of a field; with an empty `field`, the fault that belongs to no field.
    pub(super) fn fault_of(&self, field: &str) -> Option<&str> {
        self.refused.as_ref().and_then(|refused| refused.at(field))
    }

    pub(super) fn host(&self) -> Result<DomainHost, InvalidDomain> {
        DomainHost::parse(&self.host)
    }

    /// All fields: an empty field takes its value away.
    pub(super) fn fields(&self) -> Result<DomainFields, InvalidDomain> {
        let field = |text: &str| {
            let is_empty = text.trim().is_empty();
            FieldEdit::from((!is_empty).then(|| text.to_owned()))
        };
        Ok(DomainFields {
            root_url: field(&self.root_url),
            not_found_url: field(&self.not_found_url),
            assetlinks: field(&self.assetlinks),
            apple_app_site_association: field(&self.apple_app_site_association),
            owners: Some(if self.is_for_all {
                NamedOwners::All
            } else {
                NamedOwners::parse(&self.owners)?
            }),
        })
    }
}
