//! The `Location` of a redirect: a target as a URI (RFC 3986), with a visitor's query if the link wants it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::iter;

use foldhash::fast::RandomState;
use percent_encoding::{percent_decode, percent_encode_byte};
use url::Url;

/// The value of a redirect's `Location` header: a URI by RFC 3986 in every byte, which strict clients can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(Box<str>);

/// The location with the visitor's query is longer than [`Location::MAX_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the target with the visitor's query is longer than {} bytes",
    Location::MAX_BYTES
)]
pub struct LocationTooLong;

impl Location {
    /// The longest location that is sent. The proxies in `deploy/` have room for it; a target takes 6 KiB at most.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// The location that leads to a target: the same string, with an international host in punycode and with everything
    /// percent-encoded that a URI has no room for.
    #[must_use]
    pub(super) fn to(target: &str) -> Self {
        let Some(authority) = authority(target) else {
            return Self::to_path(target);
        };
        let start = target.find("://").map_or(0, |at| at + 3);
        let (scheme, Self(path)) = (
            &target[..start],
            Self::to_path(&target[start + authority.len()..]),
        );
        let authority =
            international(target, authority).unwrap_or_else(|| encoded_authority(authority));
        Self(format!("{scheme}{authority}{path}").into())
    }

    /// The location that leads to a path, maybe with a query and a fragment, of the same host.
    #[must_use]
    pub fn to_path(path: &str) -> Self {
        let location = match path.split_once('#') {
            Some((path, fragment)) => format!("{}#{}", encoded(path), encoded(fragment)),
            None => encoded(path),
        };
        Self(location.into())
    }

    /// A location from a cache; `None` if it is not a URI, or a URI that would be written in another way.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        authority(raw)?;
        let location = Self::to(raw);
        (*location.0 == *raw).then_some(location)
    }

    /// The header's value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same location with a visitor's query added; `None` when there is nothing to add. A parameter that both have gets
    /// the visitor's value. Names are compared as bytes, with their escapes decoded and `+` as a space, as forms write it.
    ///
    /// # Errors
    /// [`LocationTooLong`].
    pub fn with_query(&self, query: &str) -> Result<Option<Self>, LocationTooLong> {
        let added = encoded(query.trim_matches('&'));
        if added.is_empty() {
            return Ok(None);
        }
        let (location, fragment) = match self.0.split_once('#') {
            Some((location, fragment)) => (location, Some(fragment)),
            None => (&*self.0, None),
        };
        let (path, own) = location.split_once('?').unwrap_or((location, ""));
        let replaced = replaced(own, &added);
        let is_kept = |pair: &&str| {
            !pair.is_empty() && (replaced.is_empty() || !replaced.contains(&name_of(pair)))
        };
        let mut merged = String::with_capacity(self.0.len() + 1 + added.len());
        merged.push_str(path);
        let mut separator = '?';
        for pair in own.split('&').filter(is_kept).chain([added.as_str()]) {
            merged.push(separator);
            merged.push_str(pair);
            separator = '&';
        }
        if let Some(fragment) = fragment {
            merged.push('#');
            merged.push_str(fragment);
        }
        if merged.len() > Self::MAX_BYTES {
            return Err(LocationTooLong);
        }
        Ok(Some(Self(merged.into())))
    }

    /// Whether [`Location::with_query`] has room for a query; usually its length is enough to tell.
    ///
    /// # Errors
    /// [`LocationTooLong`].
    pub fn check_room_for(&self, query: &str) -> Result<(), LocationTooLong> {
        // An encoded byte takes three, and a `?` or `&` is before the query. Escapes are encoded already: to find out takes no
        // more than to look.
        let longest: usize = query
            .bytes()
            .map(|byte| if is_plain(byte) { 1 } else { 3 })
            .sum();
        if self.0.len() + 1 + longest <= Self::MAX_BYTES {
            return Ok(());
        }
        self.with_query(query).map(drop)
    }
}

/// The part between `http://` and the path, or `None` if `raw` does not have that form.
///
/// Stricter than browsers, which tolerate missing and additional slashes and read `\` as `/`: such targets are refused.
pub(super) fn authority(raw: &str) -> Option<&str> {
    let (scheme, rest) = raw.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let host = !authority.is_empty() && !rest[end..].starts_with('\\');
    (http && host).then_some(authority)
}

/// The parameters of the first query that the second has, too, by their names. Each query is read once, and takes little more
/// memory than its bytes: a stranger chooses the second.
fn replaced<'a>(own: &'a str, added: &str) -> HashSet<Cow<'a, [u8]>, RandomState> {
    let mut found: HashMap<Cow<'a, [u8]>, bool, RandomState> = HashMap::default();
    if !own.is_empty() {
        found.reserve(own.bytes().filter(|byte| *byte == b'&').count() + 1);
    }
    let pairs = own.split('&').filter(|pair| !pair.is_empty());
    found.extend(pairs.map(|pair| (name_of(pair), false)));
    if !found.is_empty() {
        // One buffer for all names: most have no escape, and none gets memory of its own.
        let mut decoded = Vec::new();
        for pair in added.as_bytes().split(|byte| *byte == b'&') {
            let name = raw_name(pair);
            let name = if name.iter().any(|byte| matches!(byte, b'%' | b'+')) {
                decoded.clear();
                decoded.extend(decoded_name(name));
                &decoded
            } else {
                name
            };
            if let Some(is_given) = found.get_mut(name)
                && !pair.is_empty()
            {
                *is_given = true;
            }
        }
    }
    let given = found.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(name, _)| name).collect()
}

/// The name of a parameter as bytes.
fn name_of(pair: &str) -> Cow<'_, [u8]> {
    let name = raw_name(pair.as_bytes());
    if name.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        Cow::Owned(decoded_name(name).collect())
    } else {
        Cow::Borrowed(name)
    }
}

/// The name of a parameter as it is written.
fn raw_name(pair: &[u8]) -> &[u8] {
    let end = pair.iter().position(|byte| *byte == b'=');
    &pair[..end.unwrap_or(pair.len())]
}

/// The bytes of a name: its escapes decoded, `+` as a space.
fn decoded_name(name: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = name;
    iter::from_fn(move || {
        let (first, after) = rest.split_first()?;
        rest = after;
        match first {
            b'+' => Some(b' '),
            b'%' => {
                let escaped = after.first_chunk().copied().and_then(escaped);
                if escaped.is_some() {
                    rest = &after[2..];
                }
                escaped.or(Some(b'%'))
            }
            byte => Some(*byte),
        }
    })
}

/// The byte of an escape with these digits.
fn escaped(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? * 16 + low?).ok()
}

/// The authority of a target whose host is international, with that host in punycode.
fn international(target: &str, authority: &str) -> Option<String> {
    let is_ascii = |text: &str| percent_decode(text.as_bytes()).all(|byte| byte.is_ascii());
    if is_ascii(authority) {
        return None;
    }
    let url = Url::parse(target).ok()?;
    let host = encoded_authority(url.host_str()?);
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    Some(port.map_or(host.clone(), |port| format!("{host}:{port}")))
}

/// A host with its port; only an address of IPv6 has brackets.
fn encoded_authority(authority: &str) -> String {
    let address = authority
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    match address {
        Some((address, port)) => format!("[{}]{}", encoded(address), encoded(port)),
        None => encoded(authority),
    }
}

/// A part of a URI with everything percent-encoded that no part has room for, without `%` before two digits: that is an
/// escape already.
fn encoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut encoded = String::with_capacity(part.len());
    // Where the part begins that is copied as it is.
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let is_escape = || {
            let digits = bytes.get(at + 1..at + 3);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        if !(is_plain(*byte) || *byte == b'%' && is_escape()) {
            // A byte beyond ASCII is not plain, so what is copied begins and ends between characters.
            encoded.push_str(part.get(start..at).unwrap_or_default());
            encoded.push_str(percent_encode_byte(*byte));
            start = at + 1;
        }
    }
    encoded.push_str(part.get(start..).unwrap_or_default());
    encoded
}

/// Whether a path, a query or a fragment may have this byte as it is (RFC 3986, 3.3 to 3.5). A `?` ends the path, so none is
/// within it.
fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let (mut plain, mut byte) = ([false; 256], 0);
        while byte < 128 {
            plain[byte as usize] = matches!(byte, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' | b'!'
                | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/' | b'?');
            byte += 1;
        }
        plain
    };
    PLAIN[usize::from(byte)]
}

#[cfg(test)]
mod tests;
