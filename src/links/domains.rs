//! Links on hosts beside the service's own.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{LinkError, LinkService};
use crate::domain::{
    DomainHost, DomainId, Hosts, InvalidSearch, InvalidSearchText, LinkGroup, LinkRequest,
    Principal, SearchTag, SearchText, ShortCode,
};
use crate::store::{Change, StoreError};

impl LinkService {
    /// Reads all hosts from the database.
    ///
    /// # Errors
    /// [`StoreError`]: the hosts in force stay.
    pub async fn reload_hosts(&self) -> Result<(), StoreError> {
        let _reading = self.hosts.reading.lock().await;
        let hosts = self.store.served_hosts().await?;
        self.hosts.current.set(Hosts::new(hosts));
        Ok(())
    }

    /// Announces changes of hosts, which this instance then knows.
    ///
    /// # Errors
    /// [`StoreError`]: they are announced, and this instance reads them later.
    pub async fn announce_hosts(&self, changes: &[Change]) -> Result<(), StoreError> {
        let read = self.reload_hosts().await;
        self.announce_all(changes).await;
        read
    }

    /// The number of a host that somebody names; `None` if there is no such host.
    #[must_use]
    pub fn domain_named(&self, raw: &str) -> Option<DomainId> {
        let host = DomainHost::parse(raw).ok()?;
        if self.own_host.is_named(&host) {
            return Some(DomainId::OWN);
        }
        let hosts = self.hosts.current.get();
        hosts.named(host.name().as_bytes()).map(|host| host.id)
    }

    /// The code in a short URL of this service, with or without its scheme.
    #[must_use]
    pub fn code_in(&self, raw: &str) -> Option<ShortCode> {
        let url = raw.split_once("://").map_or(raw, |(_, rest)| rest);
        let (host, path) = url.split_once('/')?;
        let code = path.split(['?', '#']).next()?;
        let code = ShortCode::parse(code.trim_end_matches(['+', '/']))?;
        Some(code.at(self.domain_named(host)?))
    }

    /// The text that an owner's links are searched for; a short URL finds its link.
    ///
    /// # Errors
    /// [`InvalidSearchText`].
    pub fn search_text(&self, raw: &str) -> Result<Option<SearchText>, InvalidSearchText> {
        SearchText::with_codes(raw, |word| self.code_in(word))
    }

    /// The hosts beside the service's own that an account may make links on, as they were given.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hosts_of(&self, owner: Principal) -> Result<Vec<String>, StoreError> {
        if self.hosts.current.get().is_empty() {
            return Ok(Vec::new());
        }
        self.store.domains_of(owner).await
    }

    /// The links that a tag and a host name, each of which may be missing.
    ///
    /// # Errors
    /// [`InvalidSearch`].
    pub fn group(
        &self,
        tag: Option<&str>,
        domain: Option<&str>,
    ) -> Result<LinkGroup, InvalidSearch> {
        let named = |raw| self.domain_named(raw).ok_or(InvalidSearch::Domain);
        Ok(LinkGroup {
            tag: tag.map(SearchTag::parse).transpose()?,
            domain: domain.map(named).transpose()?,
        })
    }

    /// A request for a link with its codes at the host that it names, if its owner may use that host.
    ///
    /// # Errors
    /// [`LinkError::DomainRefused`], [`LinkError::Store`].
    pub(super) async fn placed<'a>(
        &self,
        owner: Principal,
        request: &'a LinkRequest,
    ) -> Result<Cow<'a, LinkRequest>, LinkError> {
        let mut may_use = HashMap::new();
        self.placed_of_many(owner, request, &mut may_use).await
    }

    /// The same of one of many requests: the database is asked once for each host.
    pub(super) async fn placed_of_many<'a>(
        &self,
        owner: Principal,
        request: &'a LinkRequest,
        may_use: &mut HashMap<DomainId, bool>,
    ) -> Result<Cow<'a, LinkRequest>, LinkError> {
        let Some(raw) = &request.domain else {
            return Ok(Cow::Borrowed(request));
        };
        let domain = self.domain_named(raw).ok_or(LinkError::DomainRefused)?;
        if domain.is_own() {
            return Ok(Cow::Borrowed(request));
        }
        let may_use = if let Some(may_use) = may_use.get(&domain) {
            *may_use
        } else {
            let asked = self.store.may_use(owner, domain).await?;
            *may_use.entry(domain).or_insert(asked)
        };
        if !may_use {
            return Err(LinkError::DomainRefused);
        }
        let mut request = request.clone();
        request.at = domain;
        request.custom_code = request.custom_code.map(|code| code.at(domain));
        request.properties.aliases = request.properties.aliases.at(domain);
        Ok(Cow::Owned(request))
    }
}
