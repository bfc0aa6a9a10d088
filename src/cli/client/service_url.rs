//! Address of a service, as clients write it.

use std::fmt;
use std::str::FromStr;

use shunt::domain::ShortCode;
use shunt::http::paths;
use url::Url;

use super::Failure;

/// Scheme, host and maybe a path; nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceUrl(Url);

impl FromStr for ServiceUrl {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        let url = Url::parse(raw)
            .map_err(|error| format!("{error}; give an address such as https://sho.rt"))?;
        let plain = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") {
            Err("must begin with http:// or https://".into())
        } else if !plain || url.query().is_some() || url.fragment().is_some() {
            Err("must have no user, no ? and no #".into())
        } else {
            Ok(Self(url))
        }
    }
}

/// Without a slash at the end: the same text for the same service.
impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl ServiceUrl {
    /// Whether requests go over TLS.
    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it is on this machine, where no proxy is used.
    pub(super) fn is_local(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Address of an endpoint, with its query.
    pub(super) fn route(&self, path: &str, query: &[(&str, &str)]) -> Result<Url, Failure> {
        let mut url = Url::parse(&format!("{self}{path}")).map_err(|error| Failure::of(&error))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// The link that people share.
    pub(super) fn short_url(&self, code: &str) -> String {
        format!("{self}/{code}")
    }

    /// The code in an argument, which is a code or a short link of this service.
    pub(super) fn code(&self, given: &str) -> Result<ShortCode, Failure> {
        let base = self.to_string();
        let code = given
            .strip_prefix(&base)
            .and_then(|path| path.strip_prefix('/'))
            .map_or(given, |path| path.strip_prefix("urls/r/").unwrap_or(path));
        let code = code.strip_suffix('/').unwrap_or(code);
        paths::parse_code(code).ok_or_else(|| {
            Failure::Usage(format!(
                "`{given}` is neither a short code nor a short link of {base}"
            ))
        })
    }
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
            "sho.rt",
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
        ] {
            let code = here.code(given).ok();
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
            assert!(here.code(given).is_err(), "{given}");
        }
    }
}
