//! What administrators set of a host beside the service's own.

use super::invalid_domain::MAX_WELL_KNOWN_FILE;
use super::{DomainHost, DomainId, FieldEdit, InvalidDomain, TargetUrl, Timestamp, UserId};

/// Domains of a service at most.
pub const MAX_DOMAINS: usize = 10_000;

/// A file that is served below `/.well-known/`, as it was given: JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WellKnownFile(Box<str>);

impl WellKnownFile {
    /// Checks the text of the field with this name.
    ///
    /// # Errors
    /// [`InvalidDomain::File`], [`InvalidDomain::LargeFile`].
    pub fn parse(field: &'static str, raw: &str) -> Result<Self, InvalidDomain> {
        if raw.len() > MAX_WELL_KNOWN_FILE {
            return Err(InvalidDomain::LargeFile(field));
        }
        serde_json::from_str::<serde::de::IgnoredAny>(raw)
            .map_err(|_| InvalidDomain::File(field))?;
        Ok(Self(raw.into()))
    }

    /// A file from the database.
    #[must_use]
    pub fn from_stored(raw: String) -> Self {
        Self(raw.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who may make links on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainOwners {
    /// Every account.
    All,
    /// These accounts.
    Some(Vec<UserId>),
}

/// A host as its administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Identifier.
    pub id: DomainId,
    /// The host.
    pub host: DomainHost,
    /// Where `/` leads.
    pub root: Option<TargetUrl>,
    /// Where an unknown code leads.
    pub not_found: Option<TargetUrl>,
    /// `/.well-known/assetlinks.json`.
    pub assetlinks: Option<WellKnownFile>,
    /// `/.well-known/apple-app-site-association`.
    pub apple_app_site_association: Option<WellKnownFile>,
    /// The e-mail addresses of the accounts that may use it; `None`: every account may.
    pub owners: Option<Vec<String>>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A host in a list, with how many links it has; 1,000 stands for as many or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDomain {
    /// The host, without its files.
    pub domain: Domain,
    /// Its links.
    pub links: u64,
}

/// What an administrator changes of a host, or says of a new one.
#[derive(Clone, Debug, Default)]
pub struct DomainEdit {
    /// Where `/` leads.
    pub root: FieldEdit<TargetUrl>,
    /// Where an unknown code leads.
    pub not_found: FieldEdit<TargetUrl>,
    /// `/.well-known/assetlinks.json`.
    pub assetlinks: FieldEdit<WellKnownFile>,
    /// `/.well-known/apple-app-site-association`.
    pub apple_app_site_association: FieldEdit<WellKnownFile>,
    /// Who may use it.
    pub owners: Option<DomainOwners>,
}
