//! Targets, what leads to them, and the lists that they are looked up in.

use std::sync::LazyLock;

use http::HeaderValue;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::domain::{Blocklist, HostPattern, Location, OwnHost, TargetUrl};
use crate::http::paths::redirect_code;
use crate::page;

static OWN: LazyLock<Url> = LazyLock::new(|| Url::parse("https://sho.rt").expect("a URL"));

/// Path, query and fragment, decoded.
fn decoded(url: &Url) -> [Vec<u8>; 3] {
    [
        url.path(),
        url.query().unwrap_or_default(),
        url.fragment().unwrap_or_default(),
    ]
    .map(|part| percent_decode_str(part).collect())
}

fn is_header(location: &Location) {
    let value = HeaderValue::from_str(location.as_str()).expect("a header's value");
    assert!(value.as_bytes().iter().all(u8::is_ascii_graphic));
    assert!(location.as_str().len() <= Location::MAX_BYTES);
}

/// A target that is taken comes back as it went, and a browser is led where it says; it is listed by itself and by its host.
pub fn target(data: &[u8]) {
    let Some((first, raw)) = data.split_first() else {
        return;
    };
    let Ok(raw) = str::from_utf8(raw) else { return };
    let own = OwnHost::of(&OWN).expect("a host");
    let own = own.with_private_refused(first & 1 == 1);
    let Ok(target) = TargetUrl::parse(raw, &own) else {
        return;
    };
    assert_eq!(target.as_str(), raw);
    assert_eq!(TargetUrl::parse(raw, &own), Ok(target.clone()));
    let url = Url::parse(raw).expect("a URL");
    assert!(matches!(url.scheme(), "http" | "https") && url.has_host());
    assert!(url.username().is_empty() && url.password().is_none());
    assert!(!raw.chars().any(char::is_control));
    assert_ne!(url.host_str(), OWN.host_str());
    let location = target.location();
    is_header(&location);
    assert_eq!(Location::parse(location.as_str()), Some(location.clone()));
    let led = Url::parse(location.as_str()).expect("a location is a URL");
    assert_eq!(
        (led.scheme(), led.host(), led.port()),
        (url.scheme(), url.host(), url.port())
    );
    // Browsers read a backslash in a path as a slash, and a URI has only its escape.
    if !raw.contains('\\') {
        assert_eq!(decoded(&led), decoded(&url));
    }
    let host = target.host().expect("a host");
    let pattern = HostPattern::parse(&host).expect("a host is a pattern");
    assert!(pattern.matches(&host) && pattern.to_string() == host);
    assert_eq!(target.hosts().first(), Some(&host));
    let list = |entry: &str| Blocklist::parse(entry, String::new());
    // At the start of a line it would be an exception.
    let of_host = list(&host.replace('!', "%21")).expect("a host is an entry");
    assert!(of_host.blocks(raw) && of_host.blocks(location.as_str()));
    let entry = raw.split('#').next().unwrap_or_default();
    // A line has no space at its end.
    if let Ok(list) = list(entry)
        && entry.trim() == entry
    {
        assert!(list.blocks(raw) && list.blocks(url.as_str()) && list.blocks(location.as_str()));
    }
}

/// The names and values of a query. `None` for bytes that are no text: they would all look alike.
fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let is_text = |text: &String| !text.contains(char::REPLACEMENT_CHARACTER);
    let is_text = pairs
        .iter()
        .all(|(name, value)| is_text(name) && is_text(value));
    is_text.then_some(pairs)
}

/// With a visitor's query a link leads to the same place of the same host, with the parameters that the `url` crate would give it.
pub fn visitor_query(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let parts = (parts.next(), parts.next());
    let (Some(Ok(raw)), Some(Ok(query))) =
        (parts.0.map(str::from_utf8), parts.1.map(str::from_utf8))
    else {
        return;
    };
    let own = OwnHost::of(&OWN).expect("a host");
    let Ok(target) = TargetUrl::parse(raw, &own) else {
        return;
    };
    let location = target.location();
    let merged = location.with_query(query);
    assert_eq!(location.check_room_for(query).is_ok(), merged.is_ok());
    let Ok(Some(merged)) = merged else { return };
    is_header(&merged);
    assert_eq!(Location::parse(merged.as_str()), Some(merged.clone()));
    let before = Url::parse(location.as_str()).expect("a URL");
    let after = Url::parse(merged.as_str()).expect("a URL");
    assert_eq!(
        (
            after.scheme(),
            after.host(),
            after.port(),
            after.path(),
            after.fragment()
        ),
        (
            before.scheme(),
            before.host(),
            before.port(),
            before.path(),
            before.fragment()
        )
    );
    let own = before.query().unwrap_or_default();
    if let (Some(own), Some(given)) = (pairs(own), pairs(query)) {
        let kept = own
            .into_iter()
            .filter(|(name, _)| given.iter().all(|(other, _)| other != name));
        let expected: Vec<_> = kept.chain(given.iter().cloned()).collect();
        assert_eq!(pairs(after.query().unwrap_or_default()), Some(expected));
    }
}

/// A list says the same of a URL and of that URL as a browser writes it.
pub fn blocklist(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Some((url, text)) = text.split_once('\n') else {
        return;
    };
    let Ok(list) = Blocklist::parse(text, String::new()) else {
        return;
    };
    let is_blocked = list.blocks(url);
    assert!(!is_blocked || list.entries() > 0);
    if let Ok(mut url) = Url::parse(url) {
        assert_eq!(list.blocks(url.as_str()), is_blocked);
        url.set_fragment(Some("top"));
        assert_eq!(list.blocks(url.as_str()), is_blocked);
        if url.set_port(Some(8_443)).is_ok() {
            assert_eq!(list.blocks(url.as_str()), is_blocked);
        }
    }
}

/// Whatever page a client names, its browser stays below `/app`.
pub fn own_path(data: &[u8]) {
    let Ok(named) = str::from_utf8(data) else {
        return;
    };
    let path = page::own_path(named);
    let location = Location::to_path(&path);
    is_header(&location);
    let led = OWN.join(location.as_str()).expect("a URL");
    assert_eq!(led.origin(), OWN.origin());
    let mut path = led.path().to_owned();
    for _ in 0..8 {
        let mut asked = OWN.clone();
        asked.set_path(&path);
        assert!(
            asked.path() == "/app" || asked.path().starts_with("/app/"),
            "{asked}"
        );
        assert_eq!(redirect_code(asked.path()), None);
        path = percent_decode_str(&path).decode_utf8_lossy().into_owned();
    }
}
