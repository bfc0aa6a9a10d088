//! The address at which a page was opened. Over plain HTTP at another address than `BASE_URL` its forms fail: the browser keeps no
//! cookie of them, or names an origin that is not the service's.

use axum::http::header::{HOST, HeaderMap};
use url::Url;

use crate::telemetry::throttle::LogThrottle;

/// The address at which a page with a form was opened, if its forms fail there; it is named in the log, too.
pub(super) fn opened_elsewhere(base_url: &str, headers: &HeaderMap) -> Option<String> {
    static LOG: LogThrottle = LogThrottle::new();
    // Browsers send it over https and on their own machine: there forms work at any address.
    if headers.contains_key("sec-fetch-site") {
        return None;
    }
    let address = address(headers)?;
    if Some(address.as_str()) == origin(base_url).as_deref() {
        return None;
    }
    if LOG.is_due() {
        tracing::warn!(
            opened_at = address,
            base_url,
            "a page with a form was opened at an address other than BASE_URL, so the form will fail; open the page at BASE_URL, or set \
             BASE_URL to the address that people use"
        );
    }
    Some(address)
}

/// What the browser was given as the address of the service.
fn address(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(HOST)?.to_str().ok()?;
    // A name of the DNS and a port have no more: the log is not filled.
    if host.len() > 260 {
        return None;
    }
    let is_https = headers
        .get("x-forwarded-proto")
        .is_some_and(|scheme| scheme == "https");
    let scheme = if is_https { "https" } else { "http" };
    origin(&format!("{scheme}://{host}"))
}

/// The origin of an address as browsers write it; `None` if it has more than a host and a port.
fn origin(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let origin = url.origin();
    (is_bare && origin.is_tuple()).then(|| origin.ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_what_the_browser_was_given_and_nothing_else() {
        let address = |host: &str, scheme: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            headers.insert("x-forwarded-proto", scheme.parse().unwrap());
            address(&headers)
        };
        for (host, scheme, wanted) in [
            ("10.0.0.5:8000", "http", Some("http://10.0.0.5:8000")),
            ("Sho.Rt:80", "http", Some("http://sho.rt")),
            ("sho.rt:443", "https", Some("https://sho.rt")),
            ("[::1]:8000", "javascript", Some("http://[::1]:8000")),
            ("ada@sho.rt", "http", None),
            ("<script>", "http", None),
            ("", "http", None),
        ] {
            assert_eq!(address(host, scheme).as_deref(), wanted, "{host}");
        }
    }
}
