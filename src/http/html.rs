//! Content negotiation: the entries of `Accept` and similar headers by their weight, and whether a client prefers a page to
//! JSON.

use axum::http::HeaderValue;

/// The media type of pages.
pub const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Most entries of a header that are read: browsers send fewer than ten.
const MAX_ENTRIES: usize = 32;

/// The entries of an `Accept` or `Accept-Language` header with their weights in thousandths (RFC 9110, 12.4.2), without
/// those that are not wanted at all. An entry whose weight cannot be read counts for nothing.
pub fn ranked(header: &str) -> impl Iterator<Item = (&str, u16)> {
    weighted(header).filter(|(_, weight)| *weight > 0)
}

/// The same with the entries that are not wanted.
fn weighted(header: &str) -> impl Iterator<Item = (&str, u16)> {
    let entries = header.split(',').take(MAX_ENTRIES).filter_map(|entry| {
        let mut parts = entry.split(';');
        let name = parts.next()?.trim();
        let weight = parts.find_map(|part| part.trim().strip_prefix("q="));
        let weight = weight.map_or(Some(1_000), thousandths)?;
        Some((name, weight))
    });
    entries.filter(|(name, _)| !name.is_empty())
}

fn thousandths(raw: &str) -> Option<u16> {
    let (whole, fraction) = raw.trim().split_once('.').unwrap_or((raw.trim(), ""));
    let is_short = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction: u16 = format!("{fraction:0<3}")
        .parse()
        .ok()
        .filter(|_| is_short)?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(1_000),
        _ => None,
    }
}

/// Whether a client names `text/html`, and likes JSON less. Clients that take anything get JSON.
#[must_use]
pub fn prefers_html(accept: &str) -> bool {
    let weight = |wanted: &str| {
        let named = ranked(accept).filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, weight)| weight).max().unwrap_or(0)
    };
    weight("text/html") > weight("application/json")
}

/// Whether a client accepts `text/html`, by its name or by a wildcard. A client without `Accept` accepts anything.
#[must_use]
pub fn accepts_html(accept: &str) -> bool {
    if accept.trim().is_empty() {
        return true;
    }
    let weight = |wanted: &str| {
        let named = weighted(accept).filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, weight)| weight).max()
    };
    // The most exact entry decides.
    let mut weights = ["text/html", "text/*", "*/*"].into_iter().map(weight);
    weights.find_map(|weight| weight).unwrap_or(0) > 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_is_for_clients_that_name_html_and_like_json_less() {
        for accept in [
            "text/html",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/json;q=0.5, Text/HTML;q=0.7",
        ] {
            assert!(prefers_html(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/*",
            "application/json",
            "text/html, application/json",
            "text/html;q=0.4, application/json;q=0.5",
            "text/html;q=0",
            "text/html;q=2",
        ] {
            assert!(!prefers_html(accept), "{accept}");
        }
    }

    #[test]
    fn html_is_accepted_by_its_name_and_as_one_of_many() {
        for accept in [
            "",
            "*/*",
            "text/*",
            "TEXT/HTML;q=0.1",
            "application/json, */*;q=0.5",
            "text/html, application/json",
            "image/png, text/*;q=0, text/html",
        ] {
            assert!(accepts_html(accept), "{accept}");
        }
        for accept in [
            "application/json",
            "text/html;q=0, */*",
            "text/*;q=0.0, */*",
            "*/*;q=0",
            "text/plain",
            "*/*;q=2",
        ] {
            assert!(!accepts_html(accept), "{accept}");
        }
    }

    proptest! {
        #[test]
        fn no_header_is_read_wrongly_enough_to_panic(raw in "\\PC{0,80}|[a-z/*;q=0-9., ]{0,80}") {
            for (name, weight) in ranked(&raw) {
                prop_assert!(!name.is_empty() && (1..=1_000).contains(&weight));
            }
            prop_assert!(!prefers_html(&raw) || accepts_html(&raw));
        }
    }
}
