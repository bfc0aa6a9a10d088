//! Address of a service, as clients write it.

use std::fmt;
use std::str::FromStr;

use shunt::domain::{OwnHost, ShortCode};
use shunt::http::paths;
use url::Url;

use super::Failure;

/// Scheme, host and maybe a path; nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceUrl {
    url: Url,
    /// It was given without its scheme.
    is_completed: bool,
}

impl FromStr for ServiceUrl {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        let completed = with_scheme(raw);
        let url = Url::parse(completed.as_deref().unwrap_or(raw))
            .map_err(|_| "is not an address; give an address such as https://sho.rt")?;
        let plain = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") {
            Err("must begin with http:// or https://".into())
        } else if !plain || url.query().is_some() || url.fragment().is_some() {
            Err("must be without a user name, ? and #".into())
        } else {
            let is_completed = completed.is_some();
            Ok(Self { url, is_completed })
        }
    }
}

/// Without a slash at the end: the same text for the same service.
impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

impl ServiceUrl {
    /// The scheme, if the person left it out.
    pub(super) fn added_scheme(&self) -> Option<&str> {
        self.is_completed.then(|| self.url.scheme())
    }

    /// The host to which no link may lead.
    pub(super) fn own_host(&self) -> Option<OwnHost> {
        OwnHost::of(&self.url)
    }

    /// Whether requests go over TLS.
    pub(super) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether it is on this machine, where no proxy is used.
    pub(super) fn is_local(&self) -> bool {
        is_local(&self.url)
    }

    /// Address of an endpoint, with its query.
    pub(super) fn route(&self, path: &str, query: &[(&str, &str)]) -> Result<Url, Failure> {
        let mut url = Url::parse(&format!("{self}{path}")).map_err(|error| Failure::of(&error))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// The short URL of a link whose service does not say it.
    pub(super) fn short_url(&self, code: &str) -> String {
        format!("{self}/{code}")
    }

    /// The code in an argument that is a code, or a short URL below this address.
    pub(super) fn code(&self, given: &str) -> Option<ShortCode> {
        let base = without_scheme(&self.to_string()).to_owned();
        let below = without_scheme(given).strip_prefix(&base);
        let path = below.and_then(|path| path.strip_prefix('/'));
        let code = path.map_or(given, |path| path.strip_prefix("urls/r/").unwrap_or(path));
        paths::parse_code(code.strip_suffix('/').unwrap_or(code))
    }

    /// A text that may be a short URL below another address of the same service, with the code that it has then.
    pub(super) fn short_url_elsewhere(given: &str) -> Option<(String, ShortCode)> {
        let given = given.strip_suffix('/').unwrap_or(given);
        let (before, code) = given.rsplit_once('/')?;
        let before = before.strip_suffix("/urls/r").unwrap_or(before);
        let code = paths::parse_code(code)?;
        Some((format!("{before}/{code}"), code))
    }

    /// The host of a short URL, with its port.
    pub(super) fn host_of(short_url: &str) -> Option<&str> {
        let (host, _) = without_scheme(short_url).split_once('/')?;
        Some(host)
    }

    /// Whether two short URLs are the same but for their scheme.
    pub(super) fn is_same_link(one: &str, other: &str) -> bool {
        without_scheme(one) == without_scheme(other)
    }
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// Whether a host is this machine.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// An address that a person gave without its scheme, with one: https, or http for this machine. `None` for a text that
/// has a scheme, and for one that begins with no host.
pub(super) fn with_scheme(raw: &str) -> Option<String> {
    let end = raw.find(['/', '?', '#', ':']).unwrap_or(raw.len());
    let host = &raw[..end];
    let is_name = host.contains('.') && !host.starts_with('.');
    if raw.contains("://") && raw[end..].starts_with("://") || !(is_name || host == "localhost") {
        return None;
    }
    let url = Url::parse(&format!("https://{raw}")).ok()?;
    let scheme = if is_local(&url) { "http" } else { "https" };
    Some(format!("{scheme}://{raw}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(raw: &str) -> ServiceUrl {
        raw.parse().unwrap_or_else(|error| panic!("{raw}: {error}"))
    }

    #[test]
    fn one_service_has_one_name() {
        for raw in ["https://sho.rt", "https://sho.rt/", "HTTPS://SHO.RT:443"] {
            assert_eq!(service(raw).to_string(), "https://sho.rt");
        }
        assert_eq!(service("http://h/go/").short_url("abc"), "http://h/go/abc");
    }

    #[test]
    fn an_address_that_is_no_services_is_refused() {
        for raw in [
            "",
            "shorter",
            "ftp://sho.rt",
            "http://u:p@h",
            "http://h/?q",
            "http://h/#f",
        ] {
            assert!(raw.parse::<ServiceUrl>().is_err(), "{raw}");
        }
    }

    #[test]
    fn a_short_link_of_this_service_is_as_good_as_its_code() {
        let here = service("https://sho.rt");
        for given in [
            "K7mXq2R",
            "https://sho.rt/K7mXq2R",
            "https://sho.rt/urls/r/K7mXq2R",
            "https://sho.rt/K7mXq2R/",
            "http://sho.rt/K7mXq2R",
            "sho.rt/K7mXq2R",
        ] {
            let code = here.code(given);
            assert_eq!(
                code.as_ref().map(ShortCode::as_str),
                Some("K7mXq2R"),
                "{given}"
            );
        }
        for given in [
            "https://other.example/K7mXq2R",
            "https://sho.rt",
            "https://sho.rt/K7mXq2R//",
            "https://sho.rt/",
            "a/b",
            "../x",
            "metrics",
        ] {
            assert!(here.code(given).is_none(), "{given}");
        }
    }

    #[test]
    fn a_short_link_below_another_address_is_taken_apart() {
        for (given, expected) in [
            ("https://sho.rt/abc", Some(("https://sho.rt/abc", "abc"))),
            ("sho.rt/go/abc/", Some(("sho.rt/go/abc", "abc"))),
            (
                "https://sho.rt/urls/r/abc",
                Some(("https://sho.rt/abc", "abc")),
            ),
            ("https://sho.rt", None),
            ("abc", None),
            ("https://sho.rt/a?b", None),
        ] {
            let parts = ServiceUrl::short_url_elsewhere(given);
            let parts = parts
                .as_ref()
                .map(|(url, code)| (url.as_str(), code.as_str()));
            assert_eq!(parts, expected, "{given}");
        }
        assert!(ServiceUrl::is_same_link("https://sho.rt/abc", "sho.rt/abc"));
        assert!(!ServiceUrl::is_same_link(
            "https://sho.rt/abc",
            "sho.rt/abC"
        ));
    }

    #[test]
    fn a_missing_scheme_is_added() {
        for (given, expected) in [
            ("example.org/x", Some("https://example.org/x")),
            ("example.org:8443", Some("https://example.org:8443")),
            (
                "example.org?u=http://h",
                Some("https://example.org?u=http://h"),
            ),
            ("localhost:8000", Some("http://localhost:8000")),
            ("127.0.0.1:8000", Some("http://127.0.0.1:8000")),
            ("http://example.org", None),
            ("ftp://example.org", None),
            ("mailto:ada@example.org", None),
            ("javascript:alert(1)", None),
            ("word", None),
            ("", None),
        ] {
            assert_eq!(with_scheme(given).as_deref(), expected, "{given}");
        }
        let completed = service("sho.rt");
        assert_eq!(completed.to_string(), "https://sho.rt");
        assert_eq!(completed.added_scheme(), Some("https"));
        assert_eq!(service("https://sho.rt").added_scheme(), None);
    }
}
