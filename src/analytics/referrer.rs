//! The host of the page that has a link.

use url::{Host, Url};

use crate::domain::Dimension;

/// The longest `Referer` that is read.
pub(super) const MAX_BYTES: usize = 1_024;

/// The registrable domain of a referrer's host, as `example.co.uk`; nothing of its path or its query. Of an Android app, its
/// name. `None` for any other text, and for addresses of hosts without a name.
pub(super) fn host_of(referrer: &str) -> Option<String> {
    let url = Url::parse(referrer).ok()?;
    match (url.scheme(), url.host()?) {
        ("http" | "https", Host::Domain(host)) => {
            let host = host.trim_end_matches('.');
            let domain = psl::domain_str(host);
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

/// Whether [`host_of`] may have returned it, or it stands for hosts for which a link had no more room.
pub(super) fn is_kept(value: &str) -> bool {
    let is_host = |scheme: &str| host_of(&format!("{scheme}://{value}")).as_deref() == Some(value);
    let is_app = !value.starts_with("www.") && is_host("android-app");
    value == Dimension::OTHER || is_host("https") || is_app
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
            ("ftp://example.com/", None),
            ("example.com", None),
            ("", None),
        ] {
            assert_eq!(host_of(referrer).as_deref(), host, "{referrer}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = host_of(&text);
            if let Some(host) = host_of(&format!("https://{text}")) {
                prop_assert!(!host.contains(['/', '?', '#', '@']), "{}", host);
            }
        }

        #[test]
        fn every_host_is_one_that_may_be_asked_for(
            scheme in "https?|android-app",
            text in "(www\\.|[a-z0-9_-]{1,5}\\.){0,3}[A-Za-z0-9é!%_-]{1,6}(\\.(com|co\\.uk|github\\.io))?\\.?",
        ) {
            if let Some(host) = host_of(&format!("{scheme}://{text}/")) {
                let is_like_a_page = scheme == "android-app" && host.starts_with("www.");
                prop_assert!(is_kept(&host) || is_like_a_page, "{}", host);
            }
        }
    }
}
