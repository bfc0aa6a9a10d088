use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;

use super::*;
use crate::domain::{OwnHost, TargetUrl};

/// `http-URI` of RFC 9110, 4.2, by the grammar of RFC 3986.
static URI: LazyLock<Regex> = LazyLock::new(|| {
    let escape = "%[0-9A-Fa-f]{2}";
    let name = format!("(?:[A-Za-z0-9._~!$&'()*+,;=-]|{escape})");
    let part = format!("(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{escape})");
    let host = format!(r"(?:\[[0-9A-Fa-f:.]+\]|{name}+)");
    let rest = format!("(?:{part}|[/?])*");
    let uri = format!(r"^(?i:https?)://{host}(?::[0-9]*)?(?:/{part}*)*(?:\?{rest})?(?:\#{rest})?$");
    Regex::new(&uri).unwrap()
});

fn target(raw: &str) -> Option<TargetUrl> {
    let own = OwnHost::of(&Url::parse("https://sho.rt").unwrap()).unwrap();
    TargetUrl::parse(raw, &own).ok()
}

fn location(raw: &str) -> String {
    target(raw).unwrap().location().as_str().to_owned()
}

fn merged(target: &str, query: &str) -> Result<Option<String>, LocationTooLong> {
    let location = Location::parse(target).unwrap();
    let merged = location.with_query(query)?;
    Ok(merged.map(|location| location.as_str().to_owned()))
}

#[test]
fn a_target_that_is_a_uri_is_its_location() {
    for raw in [
        "https://example.com",
        "HTTP://Example.COM:80/A%20b?q=%3c?/#x/?",
        "https://example.com:/a//b/;p=1,2/@x:y",
        "https://%65xample.com/",
        "https://[2001:DB8::1]:81/~a(b)*!$&'+=",
        "https://[::ffff:192.0.2.1]",
    ] {
        assert_eq!(location(raw), raw);
    }
}

#[test]
fn what_a_uri_has_no_room_for_is_encoded_in_each_part() {
    for (raw, expected) in [
        ("https://e.example/a|b", "https://e.example/a%7Cb"),
        (
            "https://e.example/\"q\"?a=\"b\"#\"c\"",
            "https://e.example/%22q%22?a=%22b%22#%22c%22",
        ),
        (
            "https://e.example/<x>?y=<z>",
            "https://e.example/%3Cx%3E?y=%3Cz%3E",
        ),
        (
            "https://e.example/^'{}?^'{}#^`",
            "https://e.example/%5E'%7B%7D?%5E'%7B%7D#%5E%60",
        ),
        (
            r"https://e.example/a\b?a\b#a\b",
            "https://e.example/a%5Cb?a%5Cb#a%5Cb",
        ),
        (
            "https://e.example/[1]?a[]=1#[2]",
            "https://e.example/%5B1%5D?a%5B%5D=1#%5B2%5D",
        ),
        ("https://[::1]:81/[::1]", "https://[::1]:81/%5B::1%5D"),
        (
            "https://e.example/100%?50%&%4#%zz%a",
            "https://e.example/100%25?50%25&%254#%25zz%25a",
        ),
        ("https://e.example/%%41%4", "https://e.example/%25%41%254"),
        ("https://e.example?a#b#c", "https://e.example?a#b%23c"),
        ("https://e.example?a b#c d", "https://e.example?a%20b#c%20d"),
        ("https://e{x}.example/", "https://e%7Bx%7D.example/"),
        ("http://e.example?\u{fc}", "http://e.example?%C3%BC"),
    ] {
        assert_eq!(location(raw), expected);
    }
}

#[test]
fn an_international_host_is_in_punycode_however_it_is_written() {
    for (raw, expected) in [
        (
            "https://b\u{fc}cher.example:8080/\u{e4} b?q=\u{fc}#\u{f6}",
            "https://xn--bcher-kva.example:8080/%C3%A4%20b?q=%C3%BC#%C3%B6",
        ),
        (
            "https://b%C3%BCcher.example/",
            "https://xn--bcher-kva.example/",
        ),
        (
            "https://B\u{dc}CHER.example:/",
            "https://xn--bcher-kva.example:/",
        ),
        (
            "https://\u{4f8b}\u{3048}\u{3002}example",
            "https://xn--r8jz45g.example",
        ),
    ] {
        assert_eq!(location(raw), expected);
    }
}

#[test]
fn a_path_of_this_host_is_a_uri_reference() {
    assert_eq!(
        Location::to_path("/a?q=|\u{e9}#[").as_str(),
        "/a?q=%7C%C3%A9#%5B"
    );
}

#[test]
fn the_longest_target_has_room_in_a_location() {
    for letter in ["\u{e4}", "|", "\u{1f600}"] {
        let raw = format!("https://e.example/{}", letter.repeat(2_030 / letter.len()));
        assert!(location(&raw).len() < Location::MAX_BYTES);
    }
}

#[test]
fn a_location_from_a_cache_is_one_that_would_be_written() {
    for raw in [
        "https://e.example/a|b",
        "https://e.example/50%",
        "https://e.example/[1]",
        "https://e.example/#a#b",
        "https://e.example/\u{e4}",
        "https://b%C3%BCcher.example/",
        "https://e.example/a b",
        "ftp://e.example/",
        "/a",
        "",
    ] {
        assert_eq!(Location::parse(raw), None, "{raw}");
    }
}

#[test]
fn the_visitors_parameters_are_added_and_replace_those_of_the_same_name() {
    for (target, query, expected) in [
        ("https://a.example", "x=1", "https://a.example?x=1"),
        (
            "https://a.example/p?y=2",
            "x=1",
            "https://a.example/p?y=2&x=1",
        ),
        (
            "https://a.example/p?x=2&y=3&x=4",
            "x=1",
            "https://a.example/p?y=3&x=1",
        ),
        (
            "https://a.example/p?x=2#part",
            "x=1",
            "https://a.example/p?x=1#part",
        ),
        (
            "https://a.example/?a%20b=2",
            "a+b=1",
            "https://a.example/?a+b=1",
        ),
        (
            "https://a.example/?%61=2&%c3%A9=3",
            "a=1&%C3%a9=4",
            "https://a.example/?a=1&%C3%a9=4",
        ),
        (
            "https://a.example/?",
            "x=1&x=2",
            "https://a.example/?x=1&x=2",
        ),
        ("https://a.example/?x&y", "x=1", "https://a.example/?y&x=1"),
        (
            "https://a.example/?x=1",
            "q=\u{e9} #",
            "https://a.example/?x=1&q=%C3%A9%20%23",
        ),
        // Found by a fuzzer: an empty text between two `&` is not a parameter.
        (
            "https://a.example/?=1&y",
            "x&&z",
            "https://a.example/?=1&y&x&&z",
        ),
        ("https://a.example/?=1&y", "=2", "https://a.example/?y&=2"),
        (
            "https://a.example/?x=1",
            "a[]=|&b=5%",
            "https://a.example/?x=1&a%5B%5D=%7C&b=5%25",
        ),
    ] {
        assert_eq!(merged(target, query), Ok(Some(expected.into())));
    }
}

#[test]
fn names_are_compared_as_bytes() {
    for (target, query) in [
        ("https://a.example/?%E9=1&x=2", "%EA=3"),
        ("https://a.example/?%FF=1", "%EF%BF%BD=3"),
        ("https://a.example/?a=1", "A=3"),
        ("https://a.example/?%25E9=1", "%E9=3"),
        ("https://a.example/?a%2Bb=1", "a+b=3"),
    ] {
        assert_eq!(merged(target, query), Ok(Some(format!("{target}&{query}"))));
    }
    for (target, query) in [
        ("https://a.example/?%e9=1", "%E9=3"),
        ("https://a.example/?%zz=1", "%zz=3"),
    ] {
        let Ok(location) = TargetUrl::from_stored(target).location().with_query(query) else {
            panic!()
        };
        assert!(!location.unwrap().as_str().contains("=1"), "{query}");
    }
}

#[test]
fn a_location_has_8_kib_and_not_a_byte_more() {
    assert_eq!(merged("https://a.example/?x=1", ""), Ok(None));
    assert_eq!(merged("https://a.example/?x=1", "&&"), Ok(None));
    let room = Location::MAX_BYTES - "https://a.example/?".len();
    let location = Location::parse("https://a.example/").unwrap();
    for (query, is_taken) in [
        ("x".repeat(room), true),
        ("x".repeat(room + 1), false),
        ("|".repeat(room / 3), true),
        ("|".repeat(room / 3 + 1), false),
    ] {
        assert_eq!(location.with_query(&query).is_ok(), is_taken);
        assert_eq!(location.check_room_for(&query).is_ok(), is_taken);
    }
}

proptest! {
    #[test]
    fn the_location_of_any_target_is_a_uri(
        raw in "(?i)https?://([a-z0-9.!\"$&'()*+,;=_`{}~äöü%-]{1,9}\\.example|\\[[0-9a-f:.]{2,9}\\])(:[0-9]{0,4})?([/?#]\\PC{0,40})?",
    ) {
        if let Some(target) = target(&raw) {
            let location = target.location();
            prop_assert_eq!(target.as_str(), &raw);
            prop_assert!(URI.is_match(location.as_str()), "{}", location.as_str());
            prop_assert_eq!(Location::parse(location.as_str()), Some(location));
        }
    }

    #[test]
    fn a_location_that_was_kept_elsewhere_is_a_uri(raw in prop_oneof![any::<String>(), "(?i)(https?|ftp)://[a-z.]{1,9}(:[0-9]{1,3})?([/?#][ -~ä]{0,20})?"]) {
        if let Some(location) = Location::parse(&raw) {
            prop_assert_eq!(location.as_str(), &raw);
            prop_assert!(raw.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }

    #[test]
    fn any_query_gives_a_uri_with_the_visitors_parameters(query in "\\PC{0,60}", own in "[a-z=&%+|]{0,20}") {
        let location = TargetUrl::from_stored(&format!("https://a.example/?{own}")).location();
        if let Some(merged) = location.with_query(&query).unwrap() {
            prop_assert!(URI.is_match(merged.as_str()), "{}", merged.as_str());
            prop_assert!(merged.as_str().ends_with(&encoded(query.trim_matches('&'))));
            let given = encoded(&query);
            let given: Vec<_> = given.split('&').filter(|pair| !pair.is_empty()).map(name_of).collect();
            let kept = own.split('&').filter(|pair| !pair.is_empty() && !given.contains(&name_of(&encoded(pair))));
            for pair in kept {
                prop_assert!(merged.as_str().contains(&encoded(pair)), "{} {}", pair, merged.as_str());
            }
        }
    }
}
