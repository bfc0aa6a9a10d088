//! The page to which a client asks to be led, in a parameter, a field or `Referer`: a page of the account, and never elsewhere.

use percent_encoding::percent_decode_str;
use url::{Position, Url};

/// The first page of an account. All its pages are there and below.
const FIRST: &str = "/app";

/// Longest path that is read.
const MAX_BYTES: usize = 4_096;

/// A path that is escaped more often leads nowhere: no page has such a path.
const MAX_DECODINGS: usize = 4;

/// The page of the account that a client names, written as its browser reads it; the first page if the client names any other path.
pub(super) fn own_path(named: &str) -> String {
    page(named).unwrap_or_else(|| FIRST.to_owned())
}

/// The page of the account that a client names; `None` if it names any other path.
pub(super) fn page(named: &str) -> Option<String> {
    if named.len() > MAX_BYTES {
        return None;
    }
    let base = Url::parse("http://own.invalid/").ok()?;
    let url = base.join(named).ok()?;
    (url.origin() == base.origin() && stays_below(url.path()))
        .then(|| url[Position::BeforePath..Position::AfterQuery].to_owned())
}

/// Whether a path is below [`FIRST`] however often it is decoded on its way: browsers take `%2e%2e` for `..`, and some proxies
/// `%2f` for a slash.
fn stays_below(path: &str) -> bool {
    let mut path = path.to_owned();
    for _ in 0..=MAX_DECODINGS {
        if !is_below(&path) {
            return false;
        }
        match percent_decode_str(&path).decode_utf8() {
            Err(_) => return false,
            Ok(decoded) if decoded == path => return true,
            Ok(decoded) => path = decoded.into_owned(),
        }
    }
    false
}

fn is_below(path: &str) -> bool {
    let rest = path.strip_prefix(FIRST);
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_dotted = |segment: &str| {
        let name = segment.split(';').next();
        matches!(name, Some("." | ".."))
    };
    rest.is_some_and(|rest| {
        !rest.contains("//")
            && !rest.contains(|char: char| char == '\\' || char.is_control())
            && !rest.split('/').any(is_dotted)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Location;
    use crate::http::paths::redirect_code;

    #[test]
    fn a_client_is_led_to_pages_of_the_account_only() {
        for own in [
            "/app",
            "/app/links?q=a",
            "/app?sort=clicks",
            "/app?q=a%2F..%2Fb%20c",
            "/app/links/K7mXq2R",
            "/app/admin?kind=host&value=%2A.bad.example",
        ] {
            assert_eq!(own_path(own), own);
        }
        for foreign in [
            "",
            "/",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example\\app",
            "https://evil.example/app",
            "http:/app/../bob1",
            "/app//evil.example",
            "/app/../bob1",
            "/app/..\\bob1",
            "/app\\..\\bob1",
            "/app/%2e%2e/bob1",
            "/app/%2E./bob1",
            "/app/.%2e/bob1",
            "/app/.%09./bob1",
            "/app/.\t./bob1",
            "/app/.\n./bob1",
            "/\tapp/../bob1",
            "/app/x/../../bob1",
            "/app/x/%2e%2e/%2e%2e/bob1",
            "/app/%2e%2e%2fbob1",
            "/app/..%2fbob1",
            "/app/..%5cbob1",
            "/app/%252e%252e/bob1",
            "/app/%25252e%25252e/bob1",
            "/app%2f..%2fbob1",
            "/app/..;/bob1",
            "/app/%2e%2e;x=1/bob1",
            "/app/%ff",
            "/app/%0d%0ax:%20y",
            "/app/a%2f%2fb",
            "/apps",
            "/app%",
            "/APP/..",
            "/app\r\nx: y",
            "javascript:alert(1)",
            "data:text/html,/app",
        ] {
            assert_eq!(own_path(foreign), "/app", "{foreign}");
        }
        let escaped = format!("/app/%{}2e", "25".repeat(MAX_DECODINGS + 1));
        assert_eq!(own_path(&escaped), "/app");
        assert_eq!(own_path(&format!("/app/{}", "x".repeat(MAX_BYTES))), "/app");
    }

    #[test]
    fn a_page_is_named_as_a_browser_would_ask_for_it() {
        for (named, page) in [
            ("/app/links#top", "/app/links"),
            ("/app/links?q=a b", "/app/links?q=a%20b"),
            ("/app/x/../account", "/app/account"),
            ("/app\\account", "/app/account"),
        ] {
            assert_eq!(own_path(named), page);
        }
    }

    /// Paths that are nearly below `/app`, in pieces that browsers read in ways of their own, escaped up to three times.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => Just("/"), 1 => Just("\\"), 2 => Just(".."), 2 => Just("."), 1 => Just("%2e"), 1 => Just("%2E%2e"),
            1 => Just("%2f"), 1 => Just("%5c"), 1 => Just("%25"), 1 => Just("\t"), 1 => Just("\n"), 1 => Just("\r"),
            1 => Just("?"), 1 => Just("#"), 1 => Just(";"), 1 => Just(":"), 1 => Just("@"), 2 => Just("app"), 2 => Just("bob1"),
            1 => Just("evil.example"), 1 => Just("http:"), 1 => Just("\u{ff0e}"), 1 => Just("\u{2215}"), 1 => Just(" "),
        ];
        let pieces = proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat());
        let start = prop_oneof![4 => Just("/app"), 2 => Just("/app/"), 1 => Just("")];
        (start, pieces, 0..3).prop_map(|(start, pieces, escapes)| {
            let escaped = (0..escapes).fold(pieces, |pieces, _| pieces.replace('%', "%25"));
            format!("{start}{escaped}")
        })
    }

    proptest! {
        #[test]
        fn whatever_a_client_names_its_browser_stays_below_app(named in prop_oneof![4 => hostile(), 1 => any::<String>(), 1 => "\\PC{0,40}"]) {
            let base = Url::parse("https://sho.rt").unwrap();
            let led = base.join(Location::to_path(&own_path(&named)).as_str()).unwrap();
            prop_assert_eq!(led.origin(), base.origin());
            prop_assert!(led.path() == "/app" || led.path().starts_with("/app/"), "{}", led);
            let mut path = led.path().to_owned();
            for _ in 0..8 {
                // As a browser, or a proxy in front, would ask for it after each decoding.
                let mut asked = base.clone();
                asked.set_path(&path);
                prop_assert!(asked.path() == "/app" || asked.path().starts_with("/app/"), "{} of {}", asked, named);
                prop_assert!(redirect_code(asked.path()).is_none());
                path = percent_decode_str(&path).decode_utf8_lossy().into_owned();
            }
            // It is the same page however often it goes through the form for signing in.
            prop_assert_eq!(own_path(&own_path(&named)), own_path(&named));
        }
    }
}
