//! A URL as the blocklist compares it: every spelling of a URL, in the list or as a target, comes to the same.
//!
//! - Host: as everywhere ([`crate::domain::host`]); of an IPv6 address also each address of IPv4 within it.
//! - Path: all percent-encoding undone, `\` as `/`, without empty segments and segments of one dot, without a slash at its end. Case
//!   stays as it is. Servers read some paths in several ways, and all of these are compared: with segments of two dots resolved or
//!   not, and with what follows a `;` in a segment or without it.
//! - Parameters: decoded as forms are (`+` is a space), each once and in no order, without empty ones; `a` is `a=`.
//! - Scheme, port and fragment are left out.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

use percent_encoding::{percent_decode, percent_decode_str};
use url::Url;

use crate::domain::host::all_of;

/// What is kept of a part of a URL, or compared. Keyed by the process: no stranger finds a target whose hash is that of an
/// exception.
pub(super) fn hash(value: impl Hash) -> u64 {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(value)
}

/// A URL in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Canonical {
    /// The host in its one spelling, and then the hosts to which it may also lead.
    pub(super) hosts: Vec<String>,
    /// How a server may read the path, each reading once; at least one. The root is empty, and no path ends with a slash.
    pub(super) paths: Vec<Vec<u8>>,
    /// The hashes of names and values, sorted, each once.
    pub(super) parameters: Vec<u64>,
}

impl Canonical {
    /// `None` if there is no host.
    pub(super) fn of(url: &Url) -> Option<Self> {
        Some(Self {
            hosts: all_of(url.host()?),
            paths: paths(url.path()),
            parameters: url.query().map(parameters).unwrap_or_default(),
        })
    }
}

/// The readings of a path; the first one has its segments of two dots resolved.
fn paths(raw: &str) -> Vec<Vec<u8>> {
    let decoded: Vec<u8> = percent_decode_str(raw).collect();
    let segments = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
    let written: Vec<_> = segments
        .filter(|segment| !matches!(name(segment), b"" | b"."))
        .collect();
    let mut resolved = Vec::with_capacity(written.len());
    for segment in &written {
        if name(segment) == b".." {
            resolved.pop();
        } else {
            resolved.push(*segment);
        }
    }
    let mut paths = Vec::with_capacity(1);
    for segments in [resolved, written] {
        let names = segments.iter().copied().map(name).collect();
        for segments in [segments, names] {
            let path = joined(&segments);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

fn joined(segments: &[&[u8]]) -> Vec<u8> {
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
