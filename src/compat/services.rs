//! What the rooms stand on: the services of this program, and its address.

use std::sync::Arc;

use crate::accounts::Accounts;
use crate::config::BaseUrl;
use crate::domain::{CurrentHosts, DomainId, ServedHost, ShortCode};
use crate::http::paths::parse_code;
use crate::links::LinkService;

/// The services, and the address of this one; cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// Keys and their accounts.
    pub accounts: Arc<Accounts>,
    /// Links of owners.
    pub links: Arc<LinkService>,
    /// The address of this service.
    pub site: Site,
}

/// The public address of the service, and its other hosts; cheap to clone.
#[derive(Clone)]
pub struct Site {
    base: Arc<str>,
    hosts: CurrentHosts,
}

impl Site {
    /// Of this address.
    #[must_use]
    pub fn new(base_url: &BaseUrl, hosts: CurrentHosts) -> Self {
        Self {
            base: base_url.as_str().into(),
            hosts,
        }
    }

    /// The address that people share.
    pub(super) fn short_url(&self, code: &ShortCode) -> String {
        self.hosts.short_url(&self.base, code)
    }

    /// Host, and its port if it has a port.
    pub(super) fn host(&self) -> &str {
        self.base
            .split_once("://")
            .map_or(&self.base, |(_, host)| host)
    }

    /// The host of a link; `None`: the service's own.
    pub(super) fn host_of(&self, code: &ShortCode) -> Option<String> {
        self.hosts.host_of(code)
    }

    /// The host with this name.
    pub(super) fn other(&self, name: &str) -> Option<Arc<ServedHost>> {
        self.hosts.get().named(name.as_bytes()).cloned()
    }

    /// The number of the host with this name.
    pub(super) fn domain_named(&self, name: &str) -> Option<DomainId> {
        if name.eq_ignore_ascii_case(self.host()) {
            return Some(DomainId::OWN);
        }
        self.other(name).map(|host| host.id)
    }

    /// The code of a short URL of this service, also of another host, or only a code.
    pub(super) fn code_of(&self, raw: &str) -> Option<ShortCode> {
        let rest = raw.split_once("://").map_or(raw, |(_, rest)| rest);
        let (domain, code) = match rest.split_once('/') {
            Some((host, code)) => (self.domain_named(host)?, code),
            None if rest.len() == raw.len() => (DomainId::OWN, rest),
            None => return None,
        };
        let code = parse_code(code.strip_suffix('/').unwrap_or(code))?;
        Some(code.at(domain))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{DomainHost, Hosts};

    fn site() -> Site {
        let hosts = CurrentHosts::default();
        hosts.set(Hosts::new([ServedHost {
            id: DomainId::parse(7).unwrap(),
            host: DomainHost::parse("Go.example:81").unwrap(),
            root: None,
            not_found: None,
        }]));
        Site::new(&BaseUrl::parse("https://sho.rt").unwrap(), hosts)
    }

    #[test]
    fn a_code_of_another_host_is_read_from_its_short_url() {
        let code = site().code_of("https://GO.example/K7mXq2R").unwrap();
        assert_eq!(code.as_key(), "7/K7mXq2R");
        assert_eq!(site().short_url(&code), "https://Go.example:81/K7mXq2R");
        assert_eq!(site().code_of("7/K7mXq2R"), None);
    }

    #[test]
    fn a_code_is_read_alone_or_from_a_short_url_of_this_service() {
        let code = ShortCode::parse("K7mXq2R").unwrap();
        for raw in [
            "K7mXq2R",
            "https://sho.rt/K7mXq2R",
            "http://SHO.rt/K7mXq2R/",
            "sho.rt/K7mXq2R",
        ] {
            assert_eq!(site().code_of(raw).as_ref(), Some(&code), "{raw}");
        }
        for raw in [
            "",
            "https://other.example/K7mXq2R",
            "https://K7mXq2R",
            "docs",
            "a/b",
            "https://sho.rt/a/b",
        ] {
            assert_eq!(site().code_of(raw), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_short_url_is_read_back(raw in "[A-Za-z0-9_-]{1,64}") {
            if let Some(code) = parse_code(&raw) {
                prop_assert_eq!(site().code_of(&site().short_url(&code)), Some(code));
            }
        }

        #[test]
        fn any_other_text_is_no_code(raw in "\\PC*") {
            if let Some(code) = site().code_of(&raw) {
                prop_assert!(raw.contains(code.as_str()));
            }
        }
    }
}
