//! Target URLs: which may be shortened.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::embedded_address::canonical_address;
use super::host::{all_of, normal};
use super::hosts::{CurrentHosts, DomainHost};
use super::location::{Location, authority};
use super::target_network::Network;

/// Longest target, in bytes (contract).
pub(super) const MAX_LENGTH: usize = 2048;

/// An absolute `http` or `https` URL that may be shortened, exactly as it was given.
#[derive(Clone, PartialEq, Eq)]
pub struct TargetUrl(Box<str>);

/// Why a string may not be shortened; its text is for the client, after the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// Over 2048 bytes.
    #[error("must be at most 2048 bytes long")]
    TooLong,
    /// A control character, or white space at either end.
    #[error("must not contain control characters or begin or end with a space")]
    Control,
    /// Not a URL, a relative URL, or a URL with another scheme.
    #[error("must be an absolute http:// or https:// URL with a host")]
    NotHttp,
    /// `user:password@` before the host.
    #[error("must not contain a user name or password")]
    Credentials,
    /// It would lead back to this service.
    #[error("must not lead back to this service's own host")]
    OwnHost,
    /// Its host is on the link of the machine that fetches it, as metadata services of clouds are.
    #[error("must not lead to a link-local address or a metadata service")]
    LinkLocal,
    /// Its host is in a private network, and this service refuses private networks.
    #[error("must not lead into a private network")]
    Private,
}

impl TargetUrl {
    /// Checks a URL that a client wants shortened.
    ///
    /// # Errors
    /// [`InvalidTarget`] says which rule of the contract it breaks.
    pub fn parse(raw: &str, own: &OwnHost) -> Result<Self, InvalidTarget> {
        if raw.len() > MAX_LENGTH {
            return Err(InvalidTarget::TooLong);
        }
        if raw.chars().any(char::is_control) || raw.trim() != raw {
            return Err(InvalidTarget::Control);
        }
        let authority = authority(raw).ok_or(InvalidTarget::NotHttp)?;
        let url = Url::parse(raw).map_err(|_| InvalidTarget::NotHttp)?;
        if authority.contains('@') {
            return Err(InvalidTarget::Credentials);
        }
        if !url.host().is_some_and(|host| can_be_looked_up(&host)) {
            return Err(InvalidTarget::NotHttp);
        }
        if own.is_of(&url) {
            return Err(InvalidTarget::OwnHost);
        }
        match url.host().map(|host| Network::of(&host)) {
            Some(Network::LinkLocal) => return Err(InvalidTarget::LinkLocal),
            Some(Network::Private) if own.refuses_private => return Err(InvalidTarget::Private),
            _ => {}
        }
        Ok(Self(raw.into()))
    }

    /// A target from the database: it was checked before it was stored.
    #[must_use]
    pub fn from_stored(raw: &str) -> Self {
        Self(raw.into())
    }

    /// The target exactly as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its host in one spelling: a name in lower case and punycode without the root's dot, or an address. `None`: it is none
    /// of this version's.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        let url = Url::parse(&self.0).ok()?;
        url.host().map(normal)
    }

    /// That host, and all other hosts to which it may lead: an IPv6 address may carry an IPv4 address.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let url = Url::parse(&self.0).ok();
        let host = url.as_ref().and_then(Url::host);
        host.map(all_of).unwrap_or_default()
    }

    /// The `Location` that leads there.
    #[must_use]
    pub fn location(&self) -> Location {
        Location::to(&self.0)
    }
}

/// Whether a name consists of labels as the DNS has them: 1 to 63 bytes each, 253 in all. It may end with a dot. A label `*`
/// stands for other labels, in patterns as in the DNS, so no host has it.
fn can_be_looked_up(host: &Host<&str>) -> bool {
    let Host::Domain(name) = host else {
        return true;
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label != "*";
    name.len() <= 253 && name.split('.').all(is_label)
}

impl fmt::Debug for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetUrl({})", self.0)
    }
}

/// The host under which clients reach this service: a target on it would lead back here. It also says whether targets in
/// private networks are refused.
#[derive(Clone, Debug)]
pub struct OwnHost {
    host: Host<String>,
    port: Option<u16>,
    refuses_private: bool,
    /// The other hosts of the service.
    others: CurrentHosts,
}

impl OwnHost {
    /// Of a service whose public address is not known: no target leads back to it.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            host: Host::Domain(String::new()),
            port: None,
            refuses_private: false,
            others: CurrentHosts::default(),
        }
    }

    /// `None` if the address has no host.
    #[must_use]
    pub fn of(base: &Url) -> Option<Self> {
        Some(Self {
            host: plain(base.host()?),
            port: base.port_or_known_default(),
            refuses_private: false,
            others: CurrentHosts::default(),
        })
    }

    /// The same, with targets in private networks refused or not.
    #[must_use]
    pub fn with_private_refused(self, refuses_private: bool) -> Self {
        Self {
            refuses_private,
            ..self
        }
    }

    /// The same of a service that has other hosts, too.
    #[must_use]
    pub fn with_others(self, others: CurrentHosts) -> Self {
        Self { others, ..self }
    }

    /// Those hosts.
    #[must_use]
    pub fn others(&self) -> &CurrentHosts {
        &self.others
    }

    /// Whether a request that names this host is one for the service's own host.
    #[must_use]
    pub fn is_named(&self, host: &DomainHost) -> bool {
        let own = match &self.host {
            Host::Domain(name) => normal(Host::Domain(name)),
            Host::Ipv4(address) => normal(Host::Ipv4(*address)),
            Host::Ipv6(address) => normal(Host::Ipv6(*address)),
        };
        own == host.name()
    }

    /// Whether `url` leads back here, in any spelling of its host.
    ///
    /// A public host is this service on every port. On loopback, all addresses are the same host, and other ports are
    /// other programs of this machine.
    fn is_of(&self, url: &Url) -> bool {
        let Some(host) = url.host().map(plain) else {
            return false;
        };
        let name = url.host().map(normal).unwrap_or_default();
        if self.others.get().named(name.as_bytes()).is_some() {
            return true;
        }
        if is_loopback(&self.host) {
            is_loopback(&host) && url.port_or_known_default() == self.port
        } else {
            host == self.host
        }
    }
}

/// One spelling per host: names in lower case (as the parser gives them) without the root's dot, IPv4 written as IPv6 as IPv4.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is how `Url` hands it out"
)]
fn plain(host: Host<&str>) -> Host<String> {
    match host {
        Host::Domain(name) => {
            Host::Domain(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase())
        }
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => match canonical_address(address.into()) {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        },
    }
}

/// Loopback and "this host" in all their forms.
fn is_loopback(host: &Host<String>) -> bool {
    match host {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    }
}

#[cfg(test)]
mod tests;
