//! Targets as people type them: without a scheme.

use std::net::Ipv4Addr;

/// The same with `https://`, if it begins with a host and has no scheme. Any other text stays as it is, and is refused as such.
pub(super) fn with_scheme(typed: &str) -> String {
    let end = typed.find(['/', '?', '#']).unwrap_or(typed.len());
    if is_host(&typed[..end]) {
        format!("https://{typed}")
    } else {
        typed.to_owned()
    }
}

/// Whether it is a name with a dot in it or an address, maybe with a port.
fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    let is_port = port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        let is_letter = |char: char| char.is_alphanumeric() || char == '-' || char == '_';
        !label.is_empty() && label.chars().all(is_letter)
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let has_letter = |label: &str| label.chars().any(char::is_alphabetic);
    let is_name = name.contains('.')
        && name.split('.').all(is_label)
        && name.rsplit('.').next().is_some_and(has_letter);
    is_port && (is_name || name.parse::<Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_without_a_scheme_gets_one() {
        for typed in [
            "example.org",
            "example.org/x?a=b:c#d",
            "www.example.org:8080/x",
            "bücher.example/straße",
            "192.0.2.1/x",
            "example.org./",
            "EXAMPLE.ORG?q=https://example.com/",
        ] {
            assert_eq!(with_scheme(typed), format!("https://{typed}"));
        }
    }

    #[test]
    fn any_other_text_stays_as_it_is() {
        for typed in [
            "",
            "nonsense",
            "https://example.org/",
            "HTTP://example.org",
            "mailto:ada@example.org",
            "javascript:alert(1)",
            "javascript:alert(1).x",
            "data:text/html,x.y",
            "ada@example.org",
            "ada:secret@example.org/",
            "//example.org/",
            "/path.html",
            "two words.org",
            "example..org",
            "1.5",
            "file.example:x/",
        ] {
            assert_eq!(with_scheme(typed), typed);
        }
    }

    proptest! {
        #[test]
        fn only_the_scheme_is_added(typed in "\\PC{0,40}|[a-z0-9.:/?#@-]{0,30}") {
            let given = with_scheme(&typed);
            let with = format!("https://{typed}");
            prop_assert!(given == typed || given == with);
            prop_assert_eq!(with_scheme(&given), given.clone());
        }
    }
}
