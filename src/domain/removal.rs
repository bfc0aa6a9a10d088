//! Removals: what the service's administrators take away, and the words that they give with it.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::embedded_address::canonical_network;
use super::{HostPattern, ShortCode, Timestamp, UserId};

/// Longest reason, in characters.
const MAX_REASON: usize = 1_000;

/// How a removed link is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovalStatus {
    /// 410: the link is gone.
    Gone,
    /// 451: the link was removed for legal reasons.
    LegalReasons,
}

impl RemovalStatus {
    /// The status code of HTTP.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Gone => 410,
            Self::LegalReasons => 451,
        }
    }

    /// The status with this code.
    ///
    /// # Errors
    /// [`InvalidRemoval::Status`].
    pub fn parse(code: u16) -> Result<Self, InvalidRemoval> {
        [Self::Gone, Self::LegalReasons]
            .into_iter()
            .find(|status| status.code() == code)
            .ok_or(InvalidRemoval::Status)
    }
}

/// Identifier of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemovalId(pub i64);

/// Why something was removed, or reported: a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(Box<str>);

impl Reason {
    /// A reason without the spaces around it.
    ///
    /// # Errors
    /// [`InvalidRemoval::NoReason`], [`InvalidRemoval::LongReason`], [`InvalidRemoval::ControlInReason`].
    pub fn parse(raw: &str) -> Result<Self, InvalidRemoval> {
        let raw = raw.trim();
        if raw.is_empty() {
            Err(InvalidRemoval::NoReason)
        } else if raw.chars().count() > MAX_REASON {
            Err(InvalidRemoval::LongReason)
        } else if raw.chars().any(|char| char.is_control() && char != '\n') {
            Err(InvalidRemoval::ControlInReason)
        } else {
            Ok(Self(raw.into()))
        }
    }

    /// The reason as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a removal takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalTarget {
    /// One link.
    Link(ShortCode),
    /// All links to a host, or to a host and all below it.
    Host(HostPattern),
    /// All links of an account, which is banned with it.
    User(UserId),
    /// All links that were made from an address, or from a range of them.
    Address(AddressRange),
}

impl RemovalTarget {
    /// The word for its kind in the API.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Link(_) => "link",
            Self::Host(_) => "host",
            Self::User(_) => "user",
            Self::Address(_) => "address",
        }
    }

    /// Its value as the API and the database have it.
    #[must_use]
    pub fn value(&self) -> String {
        match self {
            Self::Link(code) => code.as_key().to_owned(),
            Self::Host(pattern) => pattern.to_string(),
            Self::User(user) => user.0.to_string(),
            Self::Address(range) => range.to_string(),
        }
    }

    /// The target of this kind with this value.
    ///
    /// # Errors
    /// [`InvalidRemoval`] says which of the two is wrong.
    pub fn parse(kind: &str, value: &str) -> Result<Self, InvalidRemoval> {
        let value = value.trim();
        match kind {
            "link" => ShortCode::parse(value)
                .map(Self::Link)
                .ok_or(InvalidRemoval::Code),
            "host" => HostPattern::parse(value)
                .map(Self::Host)
                .map_err(InvalidRemoval::Host),
            "user" => value
                .parse()
                .ok()
                .filter(|number| *number > 0)
                .map(|number| Self::User(UserId(number)))
                .ok_or(InvalidRemoval::User),
            "address" => AddressRange::parse(value)
                .map(Self::Address)
                .ok_or(InvalidRemoval::Address),
            _ => Err(InvalidRemoval::Kind),
        }
    }
}

/// Why a removal is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRemoval {
    /// No known kind.
    #[error("kind: must be link, host, user or address")]
    Kind,
    /// No short code.
    #[error("value: must be a short code")]
    Code,
    /// No host that may be removed.
    #[error("value: {0}")]
    Host(super::InvalidHostPattern),
    /// No account.
    #[error("value: must be an account's number, or its e-mail address")]
    User,
    /// No address.
    #[error("value: must be an IP address, or a range of them such as 198.51.100.0/24")]
    Address,
    /// No known status.
    #[error("status: must be 410 or 451")]
    Status,
    /// Nothing but spaces.
    #[error("reason: must not be empty")]
    NoReason,
    /// Over 1,000 characters.
    #[error("reason: must be at most 1000 characters long")]
    LongReason,
    /// A control character.
    #[error("reason: must not contain control characters")]
    ControlInReason,
}

/// Bits that the addresses of one IPv6 client have in common.
const CLIENT_V6: u8 = 64;

/// Addresses that begin with the same bits. IPv4 written as IPv6 is IPv4. A client of IPv6 has a /64, of which a link keeps no more: that is
/// the narrowest range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange(IpNet);

impl AddressRange {
    /// An address, or a range such as `2001:db8::/32`; `None` for anything else. A range of more than 2^24 addresses of IPv4,
    /// or of more than a provider has of IPv6, is refused.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let range = match raw.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_) => raw.parse::<IpNet>().ok()?,
        };
        let range = match canonical_network(range)? {
            IpNet::V6(range) if range.prefix_len() > CLIENT_V6 => {
                IpNet::new(range.addr().into(), CLIENT_V6).ok()?
            }
            range => range,
        };
        let range = range.trunc();
        let least = match range {
            IpNet::V4(_) => 8,
            IpNet::V6(_) => 16,
        };
        (range.prefix_len() >= least).then_some(Self(range))
    }

    /// Whether another range is wholly within this range.
    #[must_use]
    pub fn contains(&self, other: Self) -> bool {
        self.0.contains(&other.0)
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            write!(formatter, "{}", self.0.addr())
        } else {
            write!(formatter, "{}", self.0)
        }
    }
}

/// A removal as the database keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Identifier.
    pub id: RemovalId,
    /// What was removed: a word for its kind, and a value.
    pub kind: String,
    /// See [`RemovalTarget::value`].
    pub value: String,
    /// Why.
    pub reason: String,
    /// How its links are answered.
    pub status: RemovalStatus,
    /// The administrator; `None`: an operator on the command line, or the service itself.
    pub removed_by: Option<UserId>,
    /// When.
    pub removed_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// How many links it covers now; 100,000 stands for as many or more.
    pub links: u64,
    /// Whether links are still scanned, to be removed or restored.
    pub is_running: bool,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_and_ranges_are_parsed() {
        for (raw, shown) in [
            ("198.51.100.7", "198.51.100.7"),
            ("198.51.100.7/24", "198.51.100.0/24"),
            ("::ffff:198.51.100.7", "198.51.100.7"),
            ("::ffff:198.51.100.7/120", "198.51.100.0/24"),
            ("64:ff9b::198.51.100.7", "198.51.100.7"),
            ("64:ff9b::c633:6400/120", "198.51.100.0/24"),
            ("2002:c633:6407::1", "198.51.100.7"),
            ("2002:c633:6400::/40", "198.51.100.0/24"),
            ("2002:c633:6407:1::/64", "198.51.100.7"),
            ("64:ff9b::/64", "64:ff9b::/64"),
            ("::1", "::/64"),
            ("2001:db8:1:2::3/64", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:3::/80", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::/64", "2001:db8:1:2::/64"),
            ("2001:db8:0:0::/64", "2001:db8::/64"),
            ("2001:db8::/32", "2001:db8::/32"),
        ] {
            assert_eq!(AddressRange::parse(raw).unwrap().to_string(), shown);
        }
        for raw in [
            "",
            "0.0.0.0/0",
            "10.0.0.0/33",
            "::ffff:10.0.0.0/80",
            "64:ff9b::10.0.0.0/90",
            "2002::/16",
            "::/0",
            "10.0.0.0/+8",
            "example.org",
            "1.2.3",
        ] {
            assert_eq!(AddressRange::parse(raw), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_range_contains_its_addresses_alone(bits in 8..=32_u8, one: u32, other: u32) {
            let range = AddressRange::parse(&format!("{}/{bits}", std::net::Ipv4Addr::from(one))).unwrap();
            let is_same = one >> (32 - bits) == other >> (32 - bits);
            let of = |bits: u32| AddressRange::parse(&std::net::Ipv4Addr::from(bits).to_string()).unwrap();
            prop_assert!(range.contains(of(one)));
            prop_assert_eq!(range.contains(of(other)), is_same);
            prop_assert_eq!(AddressRange::parse(&range.to_string()), Some(range));
        }

        #[test]
        fn a_range_of_ipv6_contains_what_links_keep_of_its_clients(bits in 16..=128_u8, one: u128, other: u128) {
            let text = |bits: u128| std::net::Ipv6Addr::from(bits).to_string();
            let range = AddressRange::parse(&format!("{}/{bits}", text(one | 1 << 127))).unwrap();
            let kept = |client: u128| AddressRange::parse(&format!("{}/64", text(client | 1 << 127))).unwrap();
            let bits = u32::from(bits.min(64));
            let is_same = (one | 1 << 127) >> (128 - bits) == (other | 1 << 127) >> (128 - bits);
            prop_assert!(range.contains(kept(one)));
            prop_assert_eq!(range.contains(kept(other)), is_same);
        }

        #[test]
        fn no_text_makes_a_parser_panic(kind in "link|host|user|address|\\PC{0,9}", value in "\\PC{0,40}|[0-9a-f.:/*]{0,40}") {
            if let Ok(target) = RemovalTarget::parse(&kind, &value) {
                prop_assert_eq!(target.kind(), kind.as_str());
                let again = RemovalTarget::parse(&kind, &target.value());
                prop_assert_eq!(again, Ok(target));
            }
            if let Ok(reason) = Reason::parse(&value) {
                prop_assert_eq!(reason.as_str(), value.trim());
            }
        }
    }
}
