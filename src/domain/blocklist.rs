//! The blocklist: hosts, hosts with all below them, and beginnings of URLs, to which no link leads.
//!
//! A line is an entry: `example.org`, `*.example.org` (this host and all below it), or `example.org/path` with or without
//! `https://` (this path and all below it, of either scheme). `!` before an entry is an exception, which goes before every other entry.
//! Empty lines, and those that begin with `#`, are left out. Entries are kept as hashes of 64 bits: 8 bytes each.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use percent_encoding::percent_decode_str;
use url::Url;

use super::host::normal;
use super::{HostPattern, InvalidHostPattern, TargetUrl};

/// Which targets are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocklist {
    blocked: Entries,
    excepted: Entries,
    digest: String,
}

/// The first line of a list that is no entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct InvalidBlocklist {
    /// The line, from 1 up.
    pub line: usize,
    /// Why it is none.
    pub why: InvalidEntry,
}

/// Why a line is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntry {
    /// See [`InvalidHostPattern`].
    #[error(transparent)]
    Host(#[from] InvalidHostPattern),
    /// A URL without a path would be all of its host.
    #[error("must have a path behind the host; a host alone is written without https:// and /")]
    WholeHost,
    /// Entries are of all ports.
    #[error("must not have a port, a user name or a fragment")]
    Port,
}

/// An entry that was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Hosts(HostPattern),
    Prefix { host: String, path: Vec<u8> },
}

impl Entry {
    fn parse(raw: &str) -> Result<Self, InvalidEntry> {
        let rest = ["https://", "http://"].iter().find_map(|scheme| {
            let head = raw.get(..scheme.len())?;
            head.eq_ignore_ascii_case(scheme)
                .then(|| &raw[scheme.len()..])
        });
        let is_url = rest.is_some();
        let rest = rest.unwrap_or(raw);
        let Some(end) = rest.find(['/', '?']) else {
            if is_url {
                return Err(InvalidEntry::WholeHost);
            }
            return Ok(Self::Hosts(HostPattern::parse(rest)?));
        };
        let HostPattern::One(_) =
            HostPattern::parse(rest[..end].trim_end_matches(':')).map_err(|why| {
                if rest[..end].contains([':', '@']) {
                    InvalidEntry::Port
                } else {
                    why.into()
                }
            })?
        else {
            return Err(InvalidHostPattern::NoHost.into());
        };
        let url = Url::parse(&format!("https://{rest}"))
            .map_err(|_| InvalidEntry::Host(InvalidHostPattern::NoHost))?;
        if url.port().is_some() || !url.username().is_empty() || url.fragment().is_some() {
            return Err(InvalidEntry::Port);
        }
        let host = url.host().map(normal);
        let host = host.ok_or(InvalidEntry::Host(InvalidHostPattern::NoHost))?;
        let path = plain_path(&url);
        if path == b"/" {
            return Err(InvalidEntry::WholeHost);
        }
        Ok(Self::Prefix { host, path })
    }
}

/// The path and the query of a URL, with all percent-encoding undone: `/%61` and `/a` are the same.
fn plain_path(url: &Url) -> Vec<u8> {
    let mut path: Vec<u8> = percent_decode_str(url.path()).collect();
    if let Some(query) = url.query() {
        path.push(b'?');
        path.extend(percent_decode_str(query));
    }
    path
}

/// Entries as hashes, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entries {
    hosts: Box<[u64]>,
    tops: Box<[u64]>,
    prefixes: Box<[u64]>,
    /// Hosts of prefixes, each with the length of a prefix.
    lengths: Box<[u64]>,
}

/// Keyed by the process: no stranger finds a target whose hash is that of an exception.
fn hash(value: impl Hash) -> u64 {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(value)
}

fn has(sorted: &[u64], value: impl Hash) -> bool {
    !sorted.is_empty() && sorted.binary_search(&hash(value)).is_ok()
}

fn sorted(mut hashes: Vec<u64>) -> Box<[u64]> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}

impl Entries {
    fn cover(&self, host: &str, url: &Url) -> bool {
        if has(&self.hosts, host) {
            return true;
        }
        let mut top = Some(host);
        while let Some(name) = top.filter(|_| !self.tops.is_empty()) {
            if has(&self.tops, name) {
                return true;
            }
            top = name.split_once('.').map(|(_, rest)| rest);
        }
        !self.prefixes.is_empty() && self.cover_path(host, &plain_path(url))
    }

    fn cover_path(&self, host: &str, path: &[u8]) -> bool {
        let is_end = |byte: u8| matches!(byte, b'/' | b'?');
        (1..=path.len()).any(|length| {
            let is_boundary =
                length == path.len() || is_end(path[length]) || is_end(path[length - 1]);
            is_boundary
                && has(&self.lengths, (host, length))
                && has(&self.prefixes, (host, &path[..length]))
        })
    }
}

#[derive(Default)]
struct Gathered {
    hosts: Vec<u64>,
    tops: Vec<u64>,
    prefixes: Vec<u64>,
    lengths: Vec<u64>,
}

impl Gathered {
    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Hosts(HostPattern::One(host)) => self.hosts.push(hash(&*host)),
            Entry::Hosts(HostPattern::AndBelow(top)) => self.tops.push(hash(&*top)),
            Entry::Prefix { host, path } => {
                self.lengths.push(hash((&*host, path.len())));
                self.prefixes.push(hash((&*host, &path[..])));
            }
        }
    }

    fn sorted(self) -> Entries {
        Entries {
            hosts: sorted(self.hosts),
            tops: sorted(self.tops),
            prefixes: sorted(self.prefixes),
            lengths: sorted(self.lengths),
        }
    }
}

impl Blocklist {
    /// Reads a whole list. `digest` names it.
    ///
    /// # Errors
    /// The first line that is no entry.
    pub fn parse(text: &str, digest: String) -> Result<Self, InvalidBlocklist> {
        let (mut blocked, mut excepted) = (Gathered::default(), Gathered::default());
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (to, raw) = match line.strip_prefix('!') {
                Some(rest) => (&mut excepted, rest.trim_start()),
                None => (&mut blocked, line),
            };
            let entry = Entry::parse(raw).map_err(|why| InvalidBlocklist { line: at + 1, why })?;
            to.add(entry);
        }
        Ok(Self {
            blocked: blocked.sorted(),
            excepted: excepted.sorted(),
            digest,
        })
    }

    /// Whether no link may lead to a target.
    #[must_use]
    pub fn blocks(&self, target: &TargetUrl) -> bool {
        if self.entries() == 0 {
            return false;
        }
        let Ok(url) = Url::parse(target.as_str()) else {
            return false;
        };
        let host = url.host().map(normal);
        host.is_some_and(|host| {
            self.blocked.cover(&host, &url) && !self.excepted.cover(&host, &url)
        })
    }

    /// The name of the list; empty where there is none.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How many entries it has, exceptions included, and each once.
    #[must_use]
    pub fn entries(&self) -> usize {
        let count = |of: &Entries| of.hosts.len() + of.tops.len() + of.prefixes.len();
        count(&self.blocked) + count(&self.excepted)
    }
}

/// The blocklist in force, which a running service may be given anew; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CurrentBlocklist(Arc<RwLock<Arc<Blocklist>>>);

impl CurrentBlocklist {
    /// The list in force.
    #[must_use]
    pub fn get(&self) -> Arc<Blocklist> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another list in force.
    pub fn set(&self, list: Blocklist) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(list);
    }
}

#[cfg(test)]
mod tests;
