//! Hosts beside the service's own: each has codes of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::code::HostKey;
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
    names: HashMap<Box<[u8]>, Arc<ServedHost>, RandomState>,
    /// What keys begin with, by what most requests write: the name, and the host as it was given.
    usual_names: HashMap<Box<[u8]>, HostKey, RandomState>,
    ids: HashMap<DomainId, Arc<ServedHost>, RandomState>,
}

impl Hosts {
    /// These hosts.
    #[must_use]
    pub fn new(hosts: impl IntoIterator<Item = ServedHost>) -> Self {
        let mut all = Self::default();
        for host in hosts {
            let host = Arc::new(host);
            let name = host.host.name().as_bytes();
            let given = host.host.as_str().as_bytes();
            for usual in [name, given] {
                all.usual_names.insert(usual.into(), HostKey::of(host.id));
            }
            all.names.insert(name.into(), Arc::clone(&host));
            all.ids.insert(host.id, host);
        }
        all
    }

    /// The host that a request names in its `Host` header, or in its target: whatever the case, with or without a port and the
    /// root's dot. `None`: it is taken for the service's own. Allocates nothing.
    #[must_use]
    pub fn named(&self, host: &[u8]) -> Option<&Arc<ServedHost>> {
        if self.names.is_empty() {
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
        self.names.get(&*lower)
    }

    /// What keys of the host begin with that a request names; `None`: it is taken for the service's own.
    fn key_of(&self, host: &[u8]) -> Option<HostKey> {
        let usual = self.usual_names.get(host).cloned();
        usual.or_else(|| self.named(host).map(|host| HostKey::of(host.id)))
    }

    /// Whether the service has no other host.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The host with this number.
    #[must_use]
    pub fn get(&self, id: DomainId) -> Option<&Arc<ServedHost>> {
        self.ids.get(&id)
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
            last: Vec::new(),
            last_key: None,
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

/// The hosts as a task saw them last: it looks whether they changed by one load. It remembers the host of its last request,
/// because most connections name only one.
#[derive(Debug)]
pub struct HostsView {
    hosts: Arc<Hosts>,
    version: u64,
    current: CurrentHosts,
    /// What the last request named, and what keys of that host begin with. No host at all is the service's own.
    last: Vec<u8>,
    last_key: Option<HostKey>,
}

impl HostsView {
    /// A code of the host that a request names, in its `Host` header or in its target, from the same code of the service's own.
    #[must_use]
    pub fn code_at(&mut self, host: &[u8], code: ShortCode) -> ShortCode {
        match self.key_of(host) {
            None => code,
            Some(key) => code.moved_to(key),
        }
    }

    fn key_of(&mut self, host: &[u8]) -> Option<&HostKey> {
        let version = self.current.0.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            self.hosts = self.current.get();
            self.last.clear();
            self.last_key = None;
        }
        // What is longer than any host is the service's own, as no host at all.
        let host = if self.hosts.is_empty() || host.len() > MAX_GIVEN {
            b""
        } else {
            host
        };
        if self.last != host {
            self.last_key = self.hosts.key_of(host);
            self.last.clear();
            self.last.extend_from_slice(host);
        }
        self.last_key.as_ref()
    }
}

#[cfg(test)]
mod tests;
