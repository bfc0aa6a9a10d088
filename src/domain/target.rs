//! Target URLs: which may be shortened, and the `Location` to which a redirect leads.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::{Host, Url};

/// Longest target, in bytes (contract).
const MAX_LENGTH: usize = 2048;

/// Longest `Location`, in bytes. Proxies take the head of a response of 4 KiB at least (nginx: `proxy_buffer_size`), and a
/// character beyond ASCII takes up to three times its bytes in a `Location`.
const MAX_LOCATION: usize = 3_584;

/// Characters that have to be encoded in a `Location` header: a URI reference has no controls, no spaces and only
/// ASCII (other bytes are always encoded).
const NOT_IN_LOCATION: &AsciiSet = &CONTROLS.add(b' ');

/// An absolute `http` or `https` URL that may be shortened, exactly as it was given.
#[derive(Clone, PartialEq, Eq)]
pub struct TargetUrl(Box<str>);

/// The value of a redirect's `Location` header: visible ASCII only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(Box<str>);

/// Why a string may not be shortened; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// Over 2048 bytes.
    #[error("target_url: must be at most 2048 bytes long")]
    TooLong,
    /// Its `Location` would be over 3584 bytes.
    #[error(
        "target_url: must be at most 3584 bytes long with its characters beyond ASCII percent-encoded"
    )]
    TooLongEncoded,
    /// A control character, or white space at either end.
    #[error("target_url: must not contain control characters or begin or end with a space")]
    Control,
    /// No URL at all, a relative one, or one of another scheme.
    #[error("target_url: must be an absolute http:// or https:// URL with a host")]
    NotHttp,
    /// `user:password@` before the host.
    #[error("target_url: must not contain a user name or password")]
    Credentials,
    /// It would lead back to this service.
    #[error("target_url: must not lead back to this service's own host")]
    OwnHost,
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
        let target = Self(raw.into());
        // A target of ASCII can only grow by its spaces.
        if raw.len() * 3 > MAX_LOCATION && target.location().as_str().len() > MAX_LOCATION {
            return Err(InvalidTarget::TooLongEncoded);
        }
        Ok(target)
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

    /// The `Location` that leads there: the same string, with an international host in punycode, and characters that a
    /// header cannot carry percent-encoded.
    #[must_use]
    pub fn location(&self) -> Location {
        let raw = self.as_str();
        let mut head = "";
        let mut host = None;
        let mut tail = raw;
        if let Some(authority) = authority(raw).filter(|authority| !authority.is_ascii()) {
            let start = raw.len() - raw.split_once("//").map_or(0, |(_, rest)| rest.len());
            head = &raw[..start];
            tail = &raw[start + authority.len()..];
            host = Url::parse(raw).ok().and_then(|url| {
                let port = authority.rsplit_once(':').map(|(_, port)| port);
                let name = url.host_str()?.to_owned();
                Some(port.map_or(name.clone(), |port| format!("{name}:{port}")))
            });
            if host.is_none() {
                (head, tail) = ("", raw);
            }
        }
        let tail = utf8_percent_encode(tail, NOT_IN_LOCATION);
        Location(format!("{head}{}{tail}", host.unwrap_or_default()).into())
    }
}

/// Whether a name is of labels as the DNS has them: 1 to 63 bytes each, 253 in all. A dot may end it.
fn can_be_looked_up(host: &Host<&str>) -> bool {
    let Host::Domain(name) = host else {
        return true;
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.len() <= 253 && name.split('.').all(|label| (1..=63).contains(&label.len()))
}

/// The part between `http://` and the path, or `None` where `raw` has not that form.
///
/// Stricter than browsers, which tolerate missing and additional slashes and read `\` as `/`: such targets are refused.
fn authority(raw: &str) -> Option<&str> {
    let (scheme, rest) = raw.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let host = !authority.is_empty() && !rest[end..].starts_with('\\');
    (http && host).then_some(authority)
}

impl fmt::Debug for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetUrl({})", self.0)
    }
}

impl Location {
    /// A location from a cache; `None` when a header cannot carry it.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let visible = raw.bytes().all(|byte| byte.is_ascii_graphic());
        (visible && authority(raw).is_some()).then(|| Self(raw.into()))
    }

    /// The header's value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The host under which clients reach this service: a target on it would lead back here.
#[derive(Clone, Debug)]
pub struct OwnHost {
    host: Host<String>,
    port: Option<u16>,
}

impl OwnHost {
    /// `None` when the address has no host.
    #[must_use]
    pub fn of(base: &Url) -> Option<Self> {
        Some(Self {
            host: plain(base.host()?),
            port: base.port_or_known_default(),
        })
    }

    /// Whether `url` leads back here, in any spelling of its host.
    ///
    /// A public host is this service on every port. On loopback, all addresses are the same host, and other ports are
    /// other programs of this machine.
    fn is_of(&self, url: &Url) -> bool {
        let Some(host) = url.host().map(plain) else {
            return false;
        };
        if is_loopback(&self.host) {
            is_loopback(&host) && url.port_or_known_default() == self.port
        } else {
            host == self.host
        }
    }
}

/// One spelling per host: names in lower case (as the parser gives them) without the root's dot, IPv4 inside IPv6 as
/// IPv4.
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
        Host::Ipv6(address) => address
            .to_ipv4_mapped()
            .map_or(Host::Ipv6(address), Host::Ipv4),
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn own(base: &str) -> OwnHost {
        OwnHost::of(&Url::parse(base).unwrap()).unwrap()
    }

    fn parse(raw: &str) -> Result<TargetUrl, InvalidTarget> {
        TargetUrl::parse(raw, &own("https://sho.rt"))
    }

    fn location(raw: &str) -> String {
        parse(raw).unwrap().location().as_str().to_owned()
    }

    #[test]
    fn only_absolute_http_urls_with_a_host_are_accepted() {
        for raw in [
            "",
            "example.com",
            "/a",
            "//example.com",
            "http:",
            "http://",
            "http:///a",
            "http://?q",
            "http:example.com",
            "http:/example.com",
            "ftp://example.com",
            "javascript:alert(1)",
            "javascript://example.com/%0aalert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://example.com:99999/",
            "http://exa mple.com/",
            "http://[::1",
            r"http:\\example.com",
            r"http://example.com\@evil.example",
        ] {
            assert_eq!(parse(raw), Err(InvalidTarget::NotHttp), "{raw}");
        }
        for raw in [
            "http://example.com",
            "HTTPS://EXAMPLE.com/a?b#c",
            "http://[2001:db8::1]:81/",
        ] {
            assert_eq!(parse(raw).unwrap().as_str(), raw);
        }
    }

    #[test]
    fn control_characters_and_outer_spaces_are_refused() {
        for raw in [
            "https://example.com/\r\nX: y",
            "https://example.com/\0",
            "https://example.com/\u{85}",
            " https://example.com",
            "https://example.com ",
            "https://exa\tmple.com",
        ] {
            assert_eq!(parse(raw), Err(InvalidTarget::Control), "{raw:?}");
        }
    }

    #[test]
    fn a_user_name_or_password_is_refused() {
        for raw in [
            "http://user@example.com/",
            "http://u:p@example.com",
            "http://@example.com/",
        ] {
            assert_eq!(parse(raw), Err(InvalidTarget::Credentials), "{raw}");
        }
        assert!(parse("https://example.com/@user").is_ok());
    }

    #[test]
    fn targets_end_at_2048_bytes() {
        let target = |length: usize| format!("https://example.com/{}", "a".repeat(length - 20));
        assert!(parse(&target(2048)).is_ok());
        assert_eq!(parse(&target(2049)), Err(InvalidTarget::TooLong));
    }

    #[test]
    fn a_location_ends_at_3584_bytes() {
        let target = |letters: usize| format!("https://example.com/{}", "ä".repeat(letters));
        assert_eq!(location(&target(594)).len(), 3_584);
        assert_eq!(parse(&target(595)), Err(InvalidTarget::TooLongEncoded));
        // What is stored already goes on to be followed.
        assert!(
            TargetUrl::from_stored(&target(1_000))
                .location()
                .as_str()
                .len()
                > 4_000
        );
    }

    #[test]
    fn every_spelling_of_the_own_host_is_refused() {
        for raw in [
            "https://sho.rt/a",
            "http://sho.rt",
            "https://SHO.RT:443/",
            "https://sho.rt./a",
            "https://sho.rt:8443/",
            "https://%73ho.rt/",
            "https://ｓho.rt/",
        ] {
            assert_eq!(parse(raw), Err(InvalidTarget::OwnHost), "{raw}");
        }
        let idn = own("https://bücher.example");
        for raw in ["https://xn--bcher-kva.example/", "https://BÜCHER.example/"] {
            assert_eq!(
                TargetUrl::parse(raw, &idn),
                Err(InvalidTarget::OwnHost),
                "{raw}"
            );
        }
        let local = own("http://127.0.0.1:8000");
        for raw in [
            "http://localhost:8000/a",
            "http://127.1:8000/",
            "http://2130706433:8000/",
            "http://[::1]:8000/",
            "http://[::ffff:127.0.0.1]:8000/",
            "http://0.0.0.0:8000/",
        ] {
            assert_eq!(
                TargetUrl::parse(raw, &local),
                Err(InvalidTarget::OwnHost),
                "{raw}"
            );
        }
        assert!(TargetUrl::parse("http://localhost:3000/", &local).is_ok());
        assert!(parse("https://not-sho.rt/").is_ok());
    }

    #[test]
    fn the_location_is_the_target_where_a_header_can_carry_it() {
        for raw in [
            "https://example.com",
            "HTTP://Example.COM:80/A%20b?q=<>\"{}|#x",
        ] {
            assert_eq!(location(raw), raw);
        }
    }

    #[test]
    fn the_location_is_ascii_with_an_international_host_in_punycode() {
        assert_eq!(
            location("https://bücher.example:8080/ä b?q=ü#ö"),
            "https://xn--bcher-kva.example:8080/%C3%A4%20b?q=%C3%BC#%C3%B6"
        );
        assert_eq!(
            location("http://example.com?ü"),
            "http://example.com?%C3%BC"
        );
    }

    proptest! {
        #[test]
        fn a_location_is_always_visible_ascii(raw in "(?i)https?://[a-zäöü]{1,9}\\.example(:[0-9]{2,4})?[/?#]\\PC{0,40}") {
            if let Ok(target) = parse(&raw) {
                prop_assert_eq!(target.as_str(), &raw);
                prop_assert!(target.location().as_str().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }

        #[test]
        fn what_is_taken_is_what_the_contract_allows_and_comes_back_as_it_went(raw in targets()) {
            let Ok(target) = parse(&raw) else { return Ok(()) };
            prop_assert_eq!(target.as_str(), &raw);
            prop_assert_eq!(parse(target.as_str()), Ok(target.clone()));
            let url = Url::parse(&raw).unwrap();
            prop_assert!(matches!(url.scheme(), "http" | "https") && url.has_host());
            prop_assert!(url.username().is_empty() && url.password().is_none());
            prop_assert!(raw.len() <= MAX_LENGTH && !raw.chars().any(char::is_control));
            prop_assert!(!own("https://sho.rt").is_of(&url));
            // A browser is sent where the target leads, also when the location was in Redis meanwhile.
            let location = target.location();
            prop_assert_eq!(Url::parse(location.as_str()).unwrap(), url);
            prop_assert_eq!(Location::parse(location.as_str()), Some(location));
        }

        #[test]
        fn a_location_that_was_kept_elsewhere_is_an_http_address_in_visible_ascii(raw in targets()) {
            if let Some(location) = Location::parse(&raw) {
                prop_assert_eq!(location.as_str(), &raw);
                let scheme = raw.to_ascii_lowercase();
                prop_assert!(scheme.starts_with("http://") || scheme.starts_with("https://"));
                prop_assert!(raw.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }

    /// Anything, and what is nearly a target.
    fn targets() -> impl Strategy<Value = String> {
        let nearly = "(?i)(https?|ftp|javascript)(://|:/|:)([a-z%0-9.:@ß\\[\\]]{0,12}|sho\\.rt|[a-zäöüｓ。]{1,9}\\.example)(:[0-9]{0,5})?([/?#\\\\]\\PC{0,40})?[\n ]?";
        prop_oneof![1 => any::<String>(), 6 => nearly]
    }
}
