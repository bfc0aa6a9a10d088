//! The file `_redirects` of Netlify and of Cloudflare Pages: a line for each code.

use std::fmt::Write as _;

use super::{LastingLink, LastingLinks};

/// Lines that Cloudflare Pages reads at most, and their longest.
const LINES_OF_CLOUDFLARE: usize = 2_000;
const LINE_OF_CLOUDFLARE: usize = 2_000;

/// The whole file.
pub(super) fn text(all: &LastingLinks) -> String {
    let mut text = format!(
        "# The links of {}, served by Netlify or Cloudflare Pages without shunt: {} codes.\n\
         # Both add a visitor's query to a target without a query of its own.\n",
        all.service,
        all.len()
    );
    for comment in all.comments() {
        // A string takes all that is written to it.
        let _ = writeln!(text, "# {comment}");
    }
    for host in &all.hosts {
        let before = if host.is_own { "" } else { &*host.origin };
        for link in &host.links {
            let _ = writeln!(text, "{before}/{} {} 302", link.code, target(link));
        }
    }
    text
}

/// What this form cannot say.
pub(super) fn notes(all: &LastingLinks) -> Vec<String> {
    let mut notes = Vec::new();
    let elsewhere = all.hosts.iter().filter(|host| !host.is_own);
    let elsewhere: usize = elsewhere.map(|host| host.links.len()).sum();
    if elsewhere > 0 {
        notes.push(format!(
            "{elsewhere} codes are at other hosts: Netlify serves them, Cloudflare Pages leaves them out"
        ));
    }
    if all.len() > LINES_OF_CLOUDFLARE {
        notes.push(format!(
            "Cloudflare Pages reads only the first {LINES_OF_CLOUDFLARE} of these {} lines",
            all.len()
        ));
    }
    let links = all.hosts.iter().flat_map(|host| &host.links);
    let long = links.filter(|link| target(link).len() + link.code.len() + 6 > LINE_OF_CLOUDFLARE);
    match long.count() {
        0 => {}
        long => notes.push(format!(
            "{long} codes have a line of over {LINE_OF_CLOUDFLARE} bytes, which Cloudflare Pages leaves out"
        )),
    }
    notes
}

/// The target in one word. `:name` in a path stands for a part of the request there, so its colon is encoded; a scheme is in lower
/// case, by which Netlify knows a URL.
fn target(link: &LastingLink) -> String {
    let (scheme, rest) = link.location.split_once("://").unwrap_or_default();
    let start = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(start);
    let mut target = format!("{}://{authority}", scheme.to_ascii_lowercase());
    let mut bytes = rest.chars().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            ':' if bytes.peek().is_some_and(char::is_ascii_alphabetic) => target.push_str("%3A"),
            byte => target.push(byte),
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_no_placeholder() {
        for (location, expected) in [
            (
                "HTTPS://a.test:8443/:splat/b:1?c=:d#:e",
                "https://a.test:8443/%3Asplat/b:1?c=%3Ad#%3Ae",
            ),
            ("http://[::1]:80/x*y", "http://[::1]:80/x*y"),
            ("https://a.test", "https://a.test"),
        ] {
            let link = LastingLink {
                code: "abc".into(),
                location: location.into(),
                forwards: false,
                noindex: false,
                title: None,
            };
            assert_eq!(target(&link), expected);
        }
    }
}
