//! Hosts beside the service's own: each has codes of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::host::parsed;
use super::{DomainId, InvalidDomain, Location, ShortCode};

/// Bytes of a host in a request: the longest name of the DNS.
const MAX_HOST: usize = 253;

/// Bytes of most hosts.
const SHORT_HOST: usize = 64;

/// The same with a port and a dot at the end of the host.
const MAX_GIVEN: usize = MAX_HOST + ".:65535".len();

/// A host as it was given, maybe with a port. Two that differ only in case, port or the root's dot are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainHost {
    given: Box<str>,
    name: Box<str>,
}

impl DomainHost {
    /// A host as a person writes it.
    ///
    /// # Errors
    /// [`InvalidDomain::Host`].
    pub fn parse(raw: &str) -> Result<Self, InvalidDomain> {
        let raw = raw.trim();
        if raw.len() > MAX_GIVEN {
            return Err(InvalidDomain::Host);
        }
        let (host, port) = match raw.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (raw, None),
        };
        let is_port = |port: &str| {
            let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
            is_number && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        if port.is_some_and(|port| !is_port(port)) {
            return Err(InvalidDomain::Host);
        }
        let name = parsed(host).map_err(|_| InvalidDomain::Host)?;
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte));
        if name.len() > MAX_HOST || !is_plain {
            return Err(InvalidDomain::Host);
        }
        // Another spelling than that of requests, as with letters beyond ASCII, is not shared with people.
        let plain = host.strip_suffix('.').unwrap_or(host);
        let given = match port {
            _ if plain.eq_ignore_ascii_case(&name) => raw.to_owned(),
            None => name.clone(),
            Some(port) => format!("{name}:{port}"),
        };
        Ok(Self {
            given: given.into(),
            name: name.into(),
        })
    }

    /// A host from the database.
    #[must_use]
    pub fn from_stored(given: String, name: String) -> Self {
        Self {
            given: given.into(),
            name: name.into(),
        }
    }

    /// The host as it was given, with its port.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// The host in its one spelling, without a port.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for DomainHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.given)
    }
}

/// What is kept in memory of a host.
#[derive(Debug, PartialEq, Eq)]
pub struct ServedHost {
    /// Its number.
    pub id: DomainId,
    /// The host.
    pub host: DomainHost,
    /// Where `/` leads.
    pub root: Option<Arc<Location>>,
    /// Where an unknown code leads.
    pub not_found: Option<Arc<Location>>,
}

/// All hosts beside the service's own.
#[derive(Debug, Default)]
pub struct Hosts {
    by_name: HashMap<Box<[u8]>, Arc<ServedHost>, RandomState>,
    by_id: HashMap<DomainId, Arc<ServedHost>, RandomState>,
}

impl Hosts {
    /// These hosts.
    #[must_use]
    pub fn new(hosts: impl IntoIterator<Item = ServedHost>) -> Self {
        let mut all = Self::default();
        for host in hosts {
            let host = Arc::new(host);
            let name = host.host.name().as_bytes().into();
            all.by_name.insert(name, Arc::clone(&host));
            all.by_id.insert(host.id, host);
        }
        all
    }

    /// The host that a request names in its `Host` header, or in its target: whatever the case, with or without a port and the
    /// root's dot. `None`: it is taken for the service's own. Allocates nothing.
    #[must_use]
    pub fn named(&self, host: &[u8]) -> Option<&Arc<ServedHost>> {
        if self.by_name.is_empty() {
            return None;
        }
        let host = without_port(host.trim_ascii());
        let host = host.strip_suffix(b".").unwrap_or(host);
        // Every redirect pays for it, and most hosts are short.
        let (mut short, mut long);
        let lower: &mut [u8] = if host.len() <= SHORT_HOST {
            short = [0_u8; SHORT_HOST];
            &mut short
        } else {
            long = [0_u8; MAX_HOST];
            &mut long
        };
        let lower = lower.get_mut(..host.len())?;
        for (lower, byte) in lower.iter_mut().zip(host) {
            *lower = byte.to_ascii_lowercase();
        }
        self.by_name.get(&*lower)
    }

    /// Whether the service has no other host.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The host with this number.
    #[must_use]
    pub fn get(&self, id: DomainId) -> Option<&Arc<ServedHost>> {
        self.by_id.get(&id)
    }
}

fn without_port(host: &[u8]) -> &[u8] {
    // The colons of an address in brackets are its own.
    let (last, is_kept) = match host.first() {
        Some(b'[') => (b']', true),
        _ => (b':', false),
    };
    let end = host.iter().position(|byte| *byte == last);
    let end = end.map_or(host.len(), |end| end + usize::from(is_kept));
    &host[..end]
}

/// The hosts in force, which all workers share; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CurrentHosts(Arc<InForce>);

#[derive(Debug, Default)]
struct InForce {
    hosts: RwLock<Arc<Hosts>>,
    /// Rises with every change, after it.
    version: AtomicU64,
}

impl CurrentHosts {
    /// The hosts in force.
    #[must_use]
    pub fn get(&self) -> Arc<Hosts> {
        Arc::clone(&self.0.hosts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in force.
    pub fn set(&self, hosts: Hosts) {
        *self.0.hosts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(hosts);
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// The same for one task, which asks often.
    #[must_use]
    pub fn view(&self) -> HostsView {
        let version = self.0.version.load(Ordering::Acquire);
        HostsView {
            hosts: self.get(),
            version,
            current: self.clone(),
        }
    }

    /// The host of a code as it was given; `None`: it is the service's own.
    #[must_use]
    pub fn host_of(&self, code: &ShortCode) -> Option<String> {
        let domain = code.domain();
        if domain.is_own() {
            return None;
        }
        let hosts = self.get();
        // A host that was removed has no links; its number is better than the host of others.
        let host = hosts.get(domain).map(|host| host.host.to_string());
        Some(host.unwrap_or_else(|| domain.to_string()))
    }

    /// The address that people share: the scheme of this base, and the host of the code.
    #[must_use]
    pub fn short_url(&self, base: &str, code: &ShortCode) -> String {
        let scheme = base.split_once("://").map_or("https", |(scheme, _)| scheme);
        match self.host_of(code) {
            None => format!("{base}/{code}"),
            Some(host) => format!("{scheme}://{host}/{code}"),
        }
    }

    /// A code with its host, as people write it: `go.example.org/spring`, or a code of the service's own host.
    #[must_use]
    pub fn parse_code(&self, raw: &str) -> Option<ShortCode> {
        let Some((host, code)) = raw.rsplit_once('/') else {
            return ShortCode::parse(raw);
        };
        let hosts = self.get();
        let host = hosts.named(host.as_bytes())?;
        ShortCode::parse(code).map(|code| code.at(host.id))
    }

    /// The same of what [`ShortCode::as_key`] wrote, for people.
    #[must_use]
    pub fn shown_key(&self, key: &str) -> String {
        let code = ShortCode::from_key(key);
        let host = code.as_ref().and_then(|code| self.host_of(code));
        match (host, code) {
            (Some(host), Some(code)) => format!("{host}/{code}"),
            _ => key.to_owned(),
        }
    }
}

/// The hosts as a task saw them last: it looks whether they changed by one load.
#[derive(Debug)]
pub struct HostsView {
    hosts: Arc<Hosts>,
    version: u64,
    current: CurrentHosts,
}

impl HostsView {
    /// The hosts in force.
    pub fn get(&mut self) -> &Hosts {
        let version = self.current.0.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            self.hosts = self.current.get();
        }
        &self.hosts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts(given: &[&str]) -> Hosts {
        Hosts::new(given.iter().zip(1..).map(|(host, number)| ServedHost {
            id: DomainId::parse(number).unwrap(),
            host: DomainHost::parse(host).unwrap(),
            root: None,
            not_found: None,
        }))
    }

    #[test]
    fn a_host_is_found_whatever_its_case_its_port_and_the_dot_at_its_end() {
        let hosts = hosts(&["Go.Example.org:8443", "[2001:DB8::1]"]);
        for (named, id) in [
            ("go.example.org", 1),
            ("GO.example.ORG", 1),
            ("go.example.org.", 1),
            ("go.example.org.:80", 1),
            (" go.example.org:8443", 1),
            ("[2001:db8::1]", 2),
            ("[2001:DB8::1]:80", 2),
        ] {
            let found = hosts.named(named.as_bytes()).map(|host| host.id.number());
            assert_eq!(found, Some(id), "{named}");
        }
        for other in [
            "",
            ":",
            "example.org",
            "go.example.org..",
            "xgo.example.org",
            "[",
            "]",
        ] {
            assert!(hosts.named(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_host_is_kept_as_it_was_given() {
        for (raw, given, name) in [
            (
                "Go.Example.org:8443",
                "Go.Example.org:8443",
                "go.example.org",
            ),
            (" sho.rt ", "sho.rt", "sho.rt"),
            (
                "b\u{fc}cher.example:80",
                "xn--bcher-kva.example:80",
                "xn--bcher-kva.example",
            ),
        ] {
            let host = DomainHost::parse(raw).unwrap();
            assert_eq!((host.as_str(), host.name()), (given, name));
        }
        for raw in [
            "",
            "a b",
            "https://a.example",
            "a.example/",
            "a.example:",
            "a.example:0",
            "a.example:99999",
            "*.example",
            "a.example:+1",
        ] {
            assert_eq!(DomainHost::parse(raw), Err(InvalidDomain::Host), "{raw}");
        }
        // The short form of an address is written in many lengths.
        let long = "0".repeat(261);
        assert_eq!(DomainHost::parse(&long), Err(InvalidDomain::Host));
    }

    #[test]
    fn a_view_sees_each_change() {
        let current = CurrentHosts::default();
        let mut view = current.view();
        assert!(view.get().named(b"a.example").is_none());
        current.set(hosts(&["a.example"]));
        assert!(view.get().named(b"a.example").is_some());
        current.set(Hosts::default());
        assert!(view.get().named(b"a.example").is_none());
    }

    #[test]
    fn people_see_a_code_with_its_host() {
        let current = CurrentHosts::default();
        current.set(hosts(&["a.example:81"]));
        let code = current.parse_code("A.example/abc").unwrap();
        assert_eq!((code.as_key(), code.as_str()), ("1/abc", "abc"));
        assert_eq!(current.shown_key(code.as_key()), "a.example:81/abc");
        assert_eq!(current.shown_key("abc"), "abc");
        assert_eq!(current.host_of(&code).as_deref(), Some("a.example:81"));
        // The number of a domain is no host.
        assert_eq!(current.parse_code("1/abc"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_search_for_a_host_panic(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            assert!(hosts(&["a.example"]).named(&raw).is_none());
        }

        #[test]
        fn a_host_that_is_taken_is_found_as_it_was_given(raw in "\\PC{0,20}|[a-zA-Z0-9.-]{1,20}(:[0-9]{1,5})?") {
            if let Ok(host) = DomainHost::parse(&raw) {
                let hosts = hosts(&[&raw]);
                prop_assert!(hosts.named(host.as_str().as_bytes()).is_some(), "{}", host);
                prop_assert!(host.as_str().is_ascii());
            }
        }
    }
}
