//! A URL as the blocklist compares it: every spelling of a URL, in the list or as a target, comes to the same.
//!
//! - Host: as everywhere ([`crate::domain::host`]); of an IPv6 address also each address of IPv4 within it.
//! - Path: all percent-encoding undone, `\` as `/`, without empty segments, with dot segments resolved, without a slash at its end.
//!   Case stays as it is. Some servers leave out what follows a `;` in a segment: the path without that is compared as well.
//! - Parameters: decoded as forms are (`+` is a space), each once and in no order, without empty ones; `a` is `a=`.
//! - Scheme, port and fragment are left out.

use std::hash::{BuildHasher, Hash};

use foldhash::quality::FixedState;
use percent_encoding::{percent_decode, percent_decode_str};
use url::Url;

use crate::domain::host::all_of;

/// What is kept of a part of a URL, or compared.
pub(super) fn hash(value: impl Hash) -> u64 {
    FixedState::with_seed(0).hash_one(value)
}

/// A URL in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Canonical {
    /// The host in its one spelling, and then those to which it may lead besides.
    pub(super) hosts: Vec<String>,
    /// Empty for the root; it never ends with a slash.
    pub(super) path: Vec<u8>,
    /// The hashes of names and values, sorted, each once.
    pub(super) parameters: Vec<u64>,
}

impl Canonical {
    /// `None` for what has no host.
    pub(super) fn of(url: &Url) -> Option<Self> {
        Some(Self {
            hosts: all_of(url.host()?),
            path: path(url.path()),
            parameters: url.query().map(parameters).unwrap_or_default(),
        })
    }

    /// The path without what follows a `;` in each segment, where that is another one.
    pub(super) fn path_without_parameters(&self) -> Option<Vec<u8>> {
        if !self.path.contains(&b';') {
            return None;
        }
        let segments = self.path.split(|byte| *byte == b'/').map(name);
        Some(segments.collect::<Vec<_>>().join(&b'/'))
    }
}

fn path(raw: &str) -> Vec<u8> {
    let decoded: Vec<u8> = percent_decode_str(raw).collect();
    let mut segments = Vec::new();
    for segment in decoded.split(|byte| matches!(byte, b'/' | b'\\')) {
        match name(segment) {
            b"" | b"." => {}
            b".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    let slashed = segments.iter().map(|segment| [b"/", *segment].concat());
    slashed.collect::<Vec<_>>().concat()
}

/// A segment without what follows a `;`.
fn name(segment: &[u8]) -> &[u8] {
    let mut parts = segment.split(|byte| *byte == b';');
    parts.next().unwrap_or_default()
}

fn parameters(query: &str) -> Vec<u64> {
    let decoded = |raw: &str| -> Vec<u8> {
        let spaced = raw.replace('+', " ");
        percent_decode(spaced.as_bytes()).collect()
    };
    let pairs = query.split('&').filter(|pair| !matches!(*pair, "" | "="));
    let mut hashes: Vec<_> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            hash((decoded(name), decoded(value)))
        })
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
