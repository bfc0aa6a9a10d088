//! Hosts beside the service's own, which administrators add and remove.

use super::{Abuse, AbuseError, Administrator};
use crate::domain::{Domain, DomainEdit, DomainHost};
use crate::store::{Change, DomainMade, DomainRemoved};

impl Abuse {
    /// All hosts, without their files.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn domains(&self) -> Result<Vec<Domain>, AbuseError> {
        Ok(self.store.domains().await?)
    }

    /// A host.
    ///
    /// # Errors
    /// [`AbuseError::NoDomain`], [`AbuseError::Store`].
    pub async fn domain(&self, host: &DomainHost) -> Result<Domain, AbuseError> {
        self.store.domain(host).await?.ok_or(AbuseError::NoDomain)
    }

    /// Makes a host. Returns it, and the changes that are to be announced; so do the others.
    ///
    /// # Errors
    /// [`AbuseError::DomainExists`], [`AbuseError::ManyDomains`], [`AbuseError::Store`].
    pub async fn add_domain(
        &self,
        by: &Administrator,
        host: &DomainHost,
        edit: &DomainEdit,
    ) -> Result<(Domain, Vec<Change>), AbuseError> {
        let made = self
            .store
            .make_domain(host, edit, by.actor(), self.clock.now());
        match made.await? {
            DomainMade::Done(domain, changes) => {
                by.log(&format!("add domain {host}"));
                Ok((*domain, changes))
            }
            DomainMade::Exists => Err(AbuseError::DomainExists),
            DomainMade::Full => Err(AbuseError::ManyDomains),
        }
    }

    /// Changes a host.
    ///
    /// # Errors
    /// [`AbuseError::NoDomain`], [`AbuseError::Store`].
    pub async fn edit_domain(
        &self,
        by: &Administrator,
        host: &DomainHost,
        edit: &DomainEdit,
    ) -> Result<(Domain, Vec<Change>), AbuseError> {
        let edited = self
            .store
            .edit_domain(host, edit, by.actor(), self.clock.now());
        let edited = edited.await?.ok_or(AbuseError::NoDomain)?;
        by.log(&format!("edit domain {host}"));
        Ok(edited)
    }

    /// Removes a host without links.
    ///
    /// # Errors
    /// [`AbuseError::NoDomain`], [`AbuseError::DomainHasLinks`], [`AbuseError::Store`].
    pub async fn remove_domain(
        &self,
        by: &Administrator,
        host: &DomainHost,
    ) -> Result<Vec<Change>, AbuseError> {
        let removed = self.store.remove_domain(host, by.actor(), self.clock.now());
        match removed.await? {
            DomainRemoved::Done(changes) => {
                by.log(&format!("remove domain {host}"));
                Ok(changes)
            }
            DomainRemoved::Unknown => Err(AbuseError::NoDomain),
            DomainRemoved::HasLinks => Err(AbuseError::DomainHasLinks),
        }
    }
}
