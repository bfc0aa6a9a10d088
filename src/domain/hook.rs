//! Hooks: where events are sent, which of them, and how they are signed.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use url::{Host, Url};

use super::target_network::Network;
use super::{EventType, Tags, Timestamp};

/// Hooks of an account.
pub const MAX_HOOKS: u32 = 10;

/// To which addresses events may be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookTargets {
    /// By `https` to public addresses.
    #[default]
    Public,
    /// Anywhere, by `http`, too.
    Private,
}

impl HookTargets {
    /// The words of the setting.
    pub const NAMES: &str = "public or private";

    /// The targets with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "public" => Some(Self::Public),
            "private" => Some(Self::Private),
            _ => None,
        }
    }

    /// Whether events may be sent to an address, as the name of a host was resolved.
    #[must_use]
    pub fn allow(self, address: IpAddr) -> bool {
        let host: Host<&str> = match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        };
        self == Self::Private || Network::of(&host) == Network::Public
    }
}

/// The address of a receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct HookUrl(Url);

/// Why an address is no receiver's; its text is for the client, after the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHookUrl {
    /// Over 2048 bytes.
    #[error("must be at most 2048 bytes long")]
    TooLong,
    /// Not a URL, a relative URL, or a URL with another scheme.
    #[error("must be an absolute https:// URL")]
    NotHttps,
    /// The same where `http` is possible.
    #[error("must be an absolute http:// or https:// URL")]
    NotHttp,
    /// `user:password@` before the host.
    #[error("must not contain a user name or password")]
    Credentials,
    /// Its host is not on the internet.
    #[error("must lead to a public address")]
    Private,
}

impl HookUrl {
    const MAX_BYTES: usize = 2_048;

    /// Checks an address that a client gave.
    ///
    /// # Errors
    /// [`InvalidHookUrl`].
    pub fn parse(raw: &str, targets: HookTargets) -> Result<Self, InvalidHookUrl> {
        if raw.len() > Self::MAX_BYTES {
            return Err(InvalidHookUrl::TooLong);
        }
        let (schemes, refusal) = match targets {
            HookTargets::Public => (&["https"][..], InvalidHookUrl::NotHttps),
            HookTargets::Private => (&["http", "https"][..], InvalidHookUrl::NotHttp),
        };
        let mut url = Url::parse(raw).map_err(|_| refusal)?;
        let host = url.host().ok_or(refusal)?;
        if !schemes.contains(&url.scheme()) {
            return Err(refusal);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidHookUrl::Credentials);
        }
        if targets == HookTargets::Public && Network::of(&host) != Network::Public {
            return Err(InvalidHookUrl::Private);
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// An address from the database; `None` if it is invalid.
    #[must_use]
    pub fn from_stored(stored: &str) -> Option<Self> {
        let url = Url::parse(stored).ok()?;
        (url.has_host() && matches!(url.scheme(), "http" | "https")).then_some(Self(url))
    }

    /// As it is kept and shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it is reached by TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The name or address of its host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Host and port as the header `Host` has them.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.authority()
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0[url::Position::BeforePath..url::Position::AfterQuery]
    }
}

impl fmt::Debug for HookUrl {
    /// Without path and query: they may have a secret of the receiver.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HookUrl({})", self.authority())
    }
}

/// Which events are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFilter {
    /// Their types.
    pub types: Vec<EventType>,
    /// Of links with one of these tags; without tags: of all links.
    pub tags: Tags,
}

impl HookFilter {
    /// Whether an event of a link with these tags is sent.
    #[must_use]
    pub fn takes(&self, of: EventType, tags: &[String]) -> bool {
        let wanted = self.tags.as_slice();
        self.types.contains(&of)
            && (wanted.is_empty() || tags.iter().any(|tag| wanted.contains(tag)))
    }
}

/// What the service and a receiver share; has no `Debug`, as it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct HookSecret([u8; HookSecret::BYTES]);

impl HookSecret {
    const BYTES: usize = 24;

    /// Draws a secret from the system's secure random source.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; Self::BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A secret from the database; `None` if it is invalid.
    #[must_use]
    pub fn from_bytes(stored: &[u8]) -> Option<Self> {
        stored.try_into().ok().map(Self)
    }

    /// For the database.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For the receiver: `whsec_` and base64.
    #[must_use]
    pub fn text(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.0))
    }

    /// The signature of a delivery (Standard Webhooks, `v1`): HMAC-SHA256 of the id, the second and the body.
    #[must_use]
    pub fn sign(&self, id: &str, at: Timestamp, body: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let signed = format!("{id}.{}.{body}", at.unix_seconds());
        let signature = hmac::sign(&key, signed.as_bytes());
        format!("v1,{}", STANDARD.encode(signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_hooks_lead_by_https_to_public_hosts() {
        let parse = |raw: &str| HookUrl::parse(raw, HookTargets::Public);
        for raw in [
            "https://example.org/a?b=c",
            "https://example.org:8443/",
            "https://[2001:4860:4860::8888]/",
        ] {
            assert!(parse(raw).is_ok(), "{raw}");
        }
        for (raw, refusal) in [
            ("http://example.org/", InvalidHookUrl::NotHttps),
            ("ftp://example.org/", InvalidHookUrl::NotHttps),
            ("example.org", InvalidHookUrl::NotHttps),
            ("https://a:b@example.org/", InvalidHookUrl::Credentials),
            ("https://127.0.0.1/", InvalidHookUrl::Private),
            ("https://0x7f.1/", InvalidHookUrl::Private),
            ("https://[::ffff:10.0.0.1]/", InvalidHookUrl::Private),
            ("https://169.254.169.254/", InvalidHookUrl::Private),
            ("https://localhost/", InvalidHookUrl::Private),
            ("https://intranet/", InvalidHookUrl::Private),
        ] {
            assert_eq!(parse(raw), Err(refusal), "{raw}");
        }
        let long = format!("https://example.org/{}", "a".repeat(2_048));
        assert_eq!(parse(&long), Err(InvalidHookUrl::TooLong));
    }

    #[test]
    fn private_hooks_lead_anywhere() {
        let url =
            HookUrl::parse("http://[::1]:9000/in?token=x#part", HookTargets::Private).unwrap();
        assert_eq!(
            (url.host(), url.port(), url.path()),
            ("::1", 9_000, "/in?token=x")
        );
        assert_eq!((url.authority(), url.is_https()), ("[::1]:9000", false));
        assert!(!format!("{url:?}").contains("token"));
        assert!(HookTargets::Private.allow("10.0.0.1".parse().unwrap()));
        assert!(!HookTargets::Public.allow("10.0.0.1".parse().unwrap()));
        assert!(HookTargets::Public.allow("8.8.8.8".parse().unwrap()));
    }

    #[test]
    fn a_filter_takes_types_and_tags() {
        let filter = |tags: &[&str]| HookFilter {
            types: vec![EventType::Clicks, EventType::Created],
            tags: Tags::parse(tags.iter().copied()).unwrap(),
        };
        let (sale, other) = (["sale".to_owned()], ["other".to_owned()]);
        assert!(filter(&[]).takes(EventType::Clicks, &other));
        assert!(!filter(&[]).takes(EventType::Deleted, &other));
        assert!(filter(&["sale"]).takes(EventType::Created, &sale));
        assert!(!filter(&["sale"]).takes(EventType::Created, &other));
        assert!(!filter(&["sale"]).takes(EventType::Created, &[]));
    }

    /// The example of the specification of Standard Webhooks has a secret of 24 bytes.
    #[test]
    fn a_delivery_is_signed_as_standard_webhooks_say() {
        let bytes = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let secret = HookSecret::from_bytes(&bytes).unwrap();
        assert_eq!(secret.text(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let at = Timestamp::from_micros(1_614_265_330_000_000).unwrap();
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
