//! Hosts beside the service's own, which administrators add and remove.

use super::{Abuse, AbuseError, Administrator};
use crate::domain::{
    Domain, DomainEdit, DomainFields, DomainHost, DomainOwners, InvalidDomain, ListedDomain,
    NamedOwners, NamedUser, Newest, NewestWanted, group_of_address,
};
use crate::store::{Change, DomainMade, DomainRemoved};

impl Abuse {
    /// All hosts, without their files.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn domains(&self) -> Result<Vec<Domain>, AbuseError> {
        Ok(self.store.domains().await?)
    }

    /// Hosts with the text in their names, newest first.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn listed_domains(
        &self,
        wanted: &NewestWanted,
    ) -> Result<Newest<ListedDomain>, AbuseError> {
        Ok(self.store.listed_domains(wanted).await?)
    }

    /// The change of a host that is asked for.
    ///
    /// # Errors
    /// [`AbuseError::Domain`], [`AbuseError::Store`].
    pub async fn domain_edit(
        &self,
        host: &DomainHost,
        fields: DomainFields,
    ) -> Result<DomainEdit, AbuseError> {
        let owners = match &fields.owners {
            None => None,
            Some(NamedOwners::All) => Some(DomainOwners::All),
            Some(NamedOwners::Some(emails)) => {
                let mut users = Vec::with_capacity(emails.len());
                for email in emails {
                    let named = match group_of_address(email) {
                        Some(group) => NamedUser::Number(group),
                        None => NamedUser::Email(email.clone()),
                    };
                    let user = self.user(&named).await;
                    users.push(user.map_err(|error| match error {
                        AbuseError::Unknown => {
                            InvalidDomain::NoAccount(email.as_str().to_owned()).into()
                        }
                        error => error,
                    })?);
                }
                Some(DomainOwners::Some(users))
            }
        };
        Ok(fields.checked(host, owners)?)
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
