//! Addresses as people write them.

/// A URL of which people leave out the scheme.
pub(super) fn with_scheme(raw: &str) -> String {
    let url = raw.trim();
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
        !scheme.is_empty() && scheme.bytes().all(is_part)
    };
    if url.is_empty() || scheme.is_some_and(is_scheme) {
        return url.to_owned();
    }
    format!("http://{url}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_scheme_is_added_where_there_is_none() {
        for (raw, url) in [
            ("example.org/a", "http://example.org/a"),
            (" https://example.org ", "https://example.org"),
            ("javascript:alert(1)", "javascript:alert(1)"),
            ("", ""),
        ] {
            assert_eq!(with_scheme(raw), url);
        }
    }

    proptest! {
        #[test]
        fn an_address_is_kept_behind_its_scheme(raw in "\\PC{0,60}") {
            prop_assert!(with_scheme(&raw).ends_with(raw.trim()));
        }
    }
}
