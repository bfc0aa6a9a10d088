//! The registrable host of the page that has a link.

use url::{Host, Url};

use crate::domain::Dimension;
use crate::domain::public_suffix::{is_listed_suffix, registrable_domain};

/// The longest `Referer` that is read.
pub(super) const MAX_BYTES: usize = 1_024;

/// The longest scheme and host of a referrer. The name of a host has at most 253 bytes.
const MAX_ORIGIN: usize = 300;

/// A referrer as far as its host: what comes after it says nothing of it.
pub(super) fn origin(referrer: &[u8]) -> &[u8] {
    const USUAL: &[u8] = b"https://";
    if referrer.is_empty() {
        return referrer;
    }
    let start = if referrer.starts_with(USUAL) {
        USUAL.len()
    } else if let Some(at) = referrer.windows(3).position(|part| part == b"://") {
        at + 3
    } else {
        return referrer;
    };
    let rest = &referrer[start..];
    // More slashes than two: a browser would look for the host behind them. A backslash is a slash there.
    if matches!(rest.first(), None | Some(b'/' | b'\\')) {
        return referrer;
    }
    let end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
    let length = rest.iter().position(end);
    length.map_or(referrer, |length| &referrer[..start + length])
}

/// The registrable domain of a referrer's host, as `example.co.uk`; nothing of its path or its query. Of an Android app, its
/// name. `None` for any other text, and for addresses of hosts without a name.
pub(super) fn host_of(referrer: &str) -> Option<String> {
    let origin = str::from_utf8(origin(referrer.as_bytes())).ok()?;
    if origin.len() > MAX_ORIGIN {
        return None;
    }
    let url = Url::parse(origin).ok()?;
    match (url.scheme(), url.host()?) {
        ("http" | "https", Host::Domain(host)) => {
            let host = host.trim_end_matches('.');
            let domain = registrable_domain(host);
            Some(
                domain
                    .unwrap_or_else(|| host.trim_start_matches("www."))
                    .to_owned(),
            )
        }
        ("android-app", Host::Domain(app)) => Some(app.to_ascii_lowercase()),
        _ => None,
    }
}

/// What is kept of a host, or of an app, in a filter. `None` for any other text.
pub(super) fn kept_of(asked: &str) -> Option<String> {
    let is_name = |text: &str| !text.contains(['/', '\\', ':', '?', '#', '@', ' ']);
    let asked = Some(asked.trim_end_matches('.')).filter(|asked| is_name(asked))?;
    let asked = asked.to_lowercase();
    if asked == Dimension::OTHER {
        return Some(asked);
    }
    let scheme = if is_app(&asked) {
        "android-app"
    } else {
        "https"
    };
    host_of(&format!("{scheme}://{asked}"))
}

/// Whether a name reads as that of an Android app, which is a host's backwards: it begins as hosts end, and ends in another
/// way, or it begins with one of the three oldest endings.
fn is_app(name: &str) -> bool {
    let Some((first, rest)) = name.split_once('.') else {
        return false;
    };
    let last = rest.rsplit('.').next().unwrap_or_default();
    let is_old = matches!(first, "com" | "net" | "org") && rest.contains('.');
    is_old || first.len() <= 3 && is_listed_suffix(first) && !is_listed_suffix(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_referrer_is_its_registrable_domain() {
        for (referrer, host) in [
            ("https://www.example.com/a?b=c#d", Some("example.com")),
            ("https://news.bbc.co.uk/", Some("bbc.co.uk")),
            ("https://EXAMPLE.com:8443/", Some("example.com")),
            ("https://user:password@example.com/", Some("example.com")),
            (
                "https://somebody.github.io/page",
                Some("somebody.github.io"),
            ),
            ("https://t.co/abc", Some("t.co")),
            (
                "https://b\u{fc}cher.example/",
                Some("xn--bcher-kva.example"),
            ),
            ("http://intranet/", Some("intranet")),
            (
                "android-app://com.google.android.gm/",
                Some("com.google.android.gm"),
            ),
            ("http://192.0.2.1/", None),
            ("http://[2001:db8::1]/", None),
            ("about:blank", None),
            ("https://\\/example.com/a", Some("example.com")),
            ("ftp://example.com/", None),
            ("example.com", None),
            ("", None),
        ] {
            assert_eq!(host_of(referrer).as_deref(), host, "{referrer}");
        }
    }

    #[test]
    fn a_host_that_is_longer_than_names_of_hosts_is_not_read() {
        let long = format!("https://{}example.com/", "a.".repeat(200));
        assert_eq!(host_of(&long), None);
        let path = format!("https://example.com/{}", "a/".repeat(400));
        assert_eq!(host_of(&path).as_deref(), Some("example.com"));
    }

    proptest! {
        #[test]
        fn a_referrer_has_the_host_of_its_origin(
            text in "(https?|android-app|ftp)?:?/{0,3}[a-z@:.\\\\é%]{0,6}[/?#\\\\:a-z]{0,6}(://)?[/?#a-z]{0,6}",
        ) {
            let host = |text: &str| Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
            let origin = str::from_utf8(origin(text.as_bytes())).unwrap();
            prop_assert_eq!(host(origin), host(&text));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = host_of(&text);
            if let Some(host) = host_of(&format!("https://{text}")) {
                prop_assert!(!host.contains(['/', '?', '#', '@']), "{}", host);
            }
        }

        #[test]
        fn a_host_that_is_kept_is_found_by_itself_and_by_every_host_below_it(
            below in "(www\\.|[a-z0-9_-]{1,5}\\.){0,3}",
            text in "[A-Za-z0-9é!%_-]{1,6}\\.(com|co\\.uk|github\\.io|example)\\.?",
        ) {
            let (referrer, host) = (format!("https://{below}{text}/"), format!("{below}{text}"));
            if let Some(kept) = host_of(&referrer).filter(|_| !is_app(host.trim_end_matches('.').to_lowercase().as_str()) && !host.contains('%')) {
                prop_assert_eq!(kept_of(&kept), Some(kept.clone()));
                prop_assert_eq!(kept_of(&host), Some(kept.clone()));
                prop_assert_eq!(kept_of(&host.to_uppercase()), Some(kept));
            }
        }
    }

    #[test]
    fn an_app_is_found_by_its_name() {
        for (asked, kept) in [
            ("com.google.android.gm", Some("com.google.android.gm")),
            ("COM.Slack", Some("com.slack")),
            ("org.telegram.messenger", Some("org.telegram.messenger")),
            ("de.tagesschau.client", Some("de.tagesschau.client")),
            ("de.wikipedia.org", Some("wikipedia.org")),
            ("m.facebook.com", Some("facebook.com")),
            ("wiki.intranet.local", Some("intranet.local")),
            ("intranet", Some("intranet")),
            ("OTHER", Some("other")),
            ("192.0.2.1", None),
            ("example.com:8443", None),
            ("a b", None),
            ("", None),
        ] {
            assert_eq!(kept_of(asked).as_deref(), kept, "{asked}");
        }
    }
}
