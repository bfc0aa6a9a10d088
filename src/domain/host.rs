//! Hosts in one spelling, and patterns of them.

use std::fmt;
use std::net::IpAddr;

use url::Host;

use super::embedded_address::{canonical_address, embedded_addresses};
use super::public_suffix::public_suffix;

/// A host in its one spelling: a name in lower case and punycode without the root's dot, or an address; an IPv6 address that is
/// another way to write one of IPv4 is that one.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is how `Url` hands it out"
)]
pub(super) fn normal(host: Host<&str>) -> String {
    let address = match host {
        Host::Domain(name) => {
            return name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        }
        Host::Ipv4(address) => address.into(),
        Host::Ipv6(address) => canonical_address(address.into()),
    };
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// All hosts that a host stands for: first itself in its one spelling, then each address that an IPv6 address leads to, and that
/// address as it is: earlier versions kept it so.
pub(super) fn all_of(host: Host<&str>) -> Vec<String> {
    let further = match host {
        Host::Ipv6(address) => {
            let inner = embedded_addresses(address).into_iter();
            let inner = inner.map(|inner| inner.to_string());
            inner.chain([format!("[{address}]")]).collect()
        }
        _ => Vec::new(),
    };
    let mut hosts = vec![normal(host)];
    for host in further {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// A host as a person writes it, in its one spelling.
pub(super) fn parsed(raw: &str) -> Result<String, InvalidHostPattern> {
    let is_plain = |char: char| !char.is_whitespace() && !char.is_control();
    if raw.is_empty() || !raw.chars().all(is_plain) {
        return Err(InvalidHostPattern::NoHost);
    }
    let host = Host::parse(raw).map_err(|_| InvalidHostPattern::NoHost)?;
    let host = match &host {
        Host::Domain(name) => normal(Host::Domain(name)),
        Host::Ipv4(address) => normal(Host::Ipv4(*address)),
        Host::Ipv6(address) => normal(Host::Ipv6(*address)),
    };
    let is_name = host
        .split('.')
        .all(|label| !label.is_empty() && label != "*");
    is_name.then_some(host).ok_or(InvalidHostPattern::NoHost)
}

/// One host, or a host with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// `example.org`: only this host.
    One(Box<str>),
    /// `*.example.org`: this host and every host below it.
    AndBelow(Box<str>),
}

/// Why a pattern of hosts is refused; its text is for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHostPattern {
    /// No host.
    #[error("must be a host such as example.org, or *.example.org")]
    NoHost,
    /// Everybody may have a name below this host: `com`, `co.uk`, `github.io`.
    #[error("must not be a public suffix, such as co.uk: the hosts of many owners end in it")]
    PublicSuffix,
}

impl HostPattern {
    /// A pattern as a person writes it.
    ///
    /// # Errors
    /// [`InvalidHostPattern`].
    pub fn parse(raw: &str) -> Result<Self, InvalidHostPattern> {
        let Some(rest) = raw.strip_prefix("*.") else {
            return Ok(Self::One(parsed(raw)?.into()));
        };
        let host = parsed(rest)?;
        let is_name = host.ends_with(|char: char| char.is_ascii_alphabetic())
            || host
                .rsplit('.')
                .next()
                .is_some_and(|label| label.starts_with("xn--"));
        if !is_name {
            return Err(InvalidHostPattern::NoHost);
        }
        if public_suffix(&host) == host {
            return Err(InvalidHostPattern::PublicSuffix);
        }
        Ok(Self::AndBelow(host.into()))
    }

    /// Whether a host, in its one spelling, matches.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        match self {
            Self::One(one) => **one == *host,
            Self::AndBelow(top) => {
                let rest = host.strip_suffix(&**top);
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        }
    }

    /// Each pattern, as its text, that matches this host.
    pub fn all_for(host: &str) -> impl Iterator<Item = String> + '_ {
        let tops =
            std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, top)| top));
        let tops = tops.map(|top| format!("*.{top}"));
        std::iter::once(host.to_owned()).chain(tops)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(host) => formatter.write_str(host),
            Self::AndBelow(top) => write!(formatter, "*.{top}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_have_one_spelling() {
        for (raw, shown) in [
            ("Example.ORG", "example.org"),
            ("example.org.", "example.org"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("0x7f.1", "127.0.0.1"),
            ("[::ffff:10.0.0.1]", "10.0.0.1"),
            ("[::10.0.0.1]", "10.0.0.1"),
            ("[64:ff9b::a00:1]", "10.0.0.1"),
            ("[2002:a00:1::7]", "10.0.0.1"),
            ("[64:ff9b:1::a00:1]", "[64:ff9b:1::a00:1]"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("*.Example.org", "*.example.org"),
            ("localhost", "localhost"),
            // Browsers look it up, so it must be possible to remove it.
            ("a*b.example.org", "a*b.example.org"),
        ] {
            assert_eq!(HostPattern::parse(raw).unwrap().to_string(), shown, "{raw}");
        }
        for raw in [
            "",
            "*",
            "*.",
            ".",
            "a b",
            "a..b",
            "https://a.example/",
            "a/b",
            "*.*.example",
            "a.*.example",
            "*.10.0.0.1",
            "a:80",
        ] {
            assert_eq!(
                HostPattern::parse(raw),
                Err(InvalidHostPattern::NoHost),
                "{raw}"
            );
        }
    }

    #[test]
    fn no_pattern_is_all_of_a_public_suffix() {
        for raw in [
            "*.com",
            "*.co.uk",
            "*.github.io",
            "*.blogspot.com",
            "*.com.",
            "*.CO.UK",
        ] {
            assert_eq!(
                HostPattern::parse(raw),
                Err(InvalidHostPattern::PublicSuffix),
                "{raw}"
            );
        }
        for raw in ["*.example.com", "*.someone.github.io", "github.io"] {
            assert!(HostPattern::parse(raw).is_ok(), "{raw}");
        }
    }

    #[test]
    fn a_star_is_the_host_itself_and_all_below() {
        let star = HostPattern::parse("*.example.org").unwrap();
        for host in ["example.org", "www.example.org", "a.b.example.org"] {
            assert!(star.matches(host), "{host}");
        }
        for host in ["notexample.org", "org", "example.org.evil.example"] {
            assert!(!star.matches(host), "{host}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_is_among_all_for_a_host_exactly_where_it_matches(
            raw in "(\\*\\.)?[ab]{1,2}(\\.[ab]{1,2}){1,2}",
            host in "[ab]{1,2}(\\.[ab]{1,2}){1,3}",
        ) {
            if let Ok(pattern) = HostPattern::parse(&raw) {
                let is_among = HostPattern::all_for(&host).any(|text| text == pattern.to_string());
                prop_assert_eq!(is_among, pattern.matches(&host));
            }
        }

        #[test]
        fn no_text_makes_it_panic(raw in "\\PC{0,30}") {
            if let Ok(pattern) = HostPattern::parse(&raw) {
                prop_assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }
    }
}
