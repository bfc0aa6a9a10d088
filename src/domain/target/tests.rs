use proptest::prelude::*;

use super::*;
use crate::domain::{Blocklist, HostPattern};

fn own(base: &str) -> OwnHost {
    OwnHost::of(&Url::parse(base).unwrap()).unwrap()
}

fn parse(raw: &str) -> Result<TargetUrl, InvalidTarget> {
    TargetUrl::parse(raw, &own("https://sho.rt"))
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
        "http://*/",
        "http://*.example.com/",
        "http://%2a.example.com/",
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
        "http://[::127.0.0.1]:8000/",
        "http://[::ffff:0:127.0.0.1]:8000/",
        "http://[64:ff9b::7f00:1]:8000/",
        "http://[2002:7f00:1::]:8000/",
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

proptest! {
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
        let led = Url::parse(location.as_str()).unwrap();
        prop_assert_eq!((led.scheme(), led.host(), led.port()), (url.scheme(), url.host(), url.port()));
        // Browsers read a backslash in a path as a slash, and a URI has only its escape.
        if !raw.contains('\\') {
            prop_assert_eq!(decoded(&led), decoded(&url));
        }
        prop_assert_eq!(Location::parse(location.as_str()), Some(location));
    }
}

/// Found by a fuzzer: a target's host could be no entry and no removal.
#[test]
fn the_host_of_every_target_can_be_listed_and_removed() {
    for raw in [
        "https://xn*--rk//0x7f",
        "https://a*b.example/",
        "http://a!$b.example/",
        "http://_a.example/",
    ] {
        let host = parse(raw).unwrap().host().unwrap();
        let pattern = HostPattern::parse(&host).unwrap();
        assert!(
            pattern.matches(&host) && pattern.to_string() == host,
            "{raw}"
        );
        let list = Blocklist::parse(&host, String::new()).unwrap();
        assert!(list.blocks(raw), "{raw}");
    }
}

/// Path, query and fragment.
fn decoded(url: &Url) -> [Vec<u8>; 3] {
    [
        url.path(),
        url.query().unwrap_or_default(),
        url.fragment().unwrap_or_default(),
    ]
    .map(|part| percent_encoding::percent_decode_str(part).collect())
}

/// Anything, and what is nearly a target.
fn targets() -> impl Strategy<Value = String> {
    let nearly = "(?i)(https?|ftp|javascript)(://|:/|:)([a-z%0-9.:@ß\\[\\]]{0,12}|sho\\.rt|[a-zäöüｓ。]{1,9}\\.example)(:[0-9]{0,5})?([/?#\\\\]\\PC{0,40})?[\n ]?";
    prop_oneof![1 => any::<String>(), 6 => nearly]
}
