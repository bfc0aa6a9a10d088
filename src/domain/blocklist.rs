//! The blocklist: hosts, hosts with all below them, and beginnings of URLs, to which no link leads.
//!
//! A line is an entry: `example.org`, `*.example.org` (this host and all below it), or `example.org/path` with or without
//! `https://` (this path and all below it, of either scheme). An entry with a query is of URLs with that path and with all of
//! these parameters, whatever others they have. `!` before an entry is an exception, which goes before every other entry; one with
//! a query is of URLs with no other parameters. Empty lines, and those that begin with `#`, are left out. All spellings of a URL are
//! the same ([`canonical`]). Entries are kept as hashes of 64 bits: 8 bytes each, and some 50 for those with a query.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use url::Url;

use super::{HostPattern, InvalidHostPattern};
use canonical::{Canonical, hash};

mod canonical;

/// Parameters that a visitor may have added if the list has an entry with a query: a redirect must not read thousands.
const MAX_FORWARDED: usize = 100;

/// Which targets are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocklist {
    blocked: Entries,
    excepted: Entries,
    digest: String,
}

/// The first line of a list that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct InvalidBlocklist {
    /// The line, from 1 up.
    pub line: usize,
    /// Why it is invalid.
    pub why: InvalidEntry,
}

/// Why a line is invalid.
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
    Prefix {
        host: String,
        path: Vec<u8>,
        parameters: Vec<u64>,
    },
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
        let no_host = InvalidEntry::Host(InvalidHostPattern::NoHost);
        let Canonical {
            hosts,
            paths,
            parameters,
        } = Canonical::of(&url).ok_or(no_host)?;
        let path = paths.into_iter().next().unwrap_or_default();
        if path.is_empty() && parameters.is_empty() {
            return Err(InvalidEntry::WholeHost);
        }
        Ok(Self::Prefix {
            host: hosts.into_iter().next().ok_or(no_host)?,
            path,
            parameters,
        })
    }
}

/// Entries as hashes, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entries {
    hosts: Box<[u64]>,
    tops: Box<[u64]>,
    prefixes: Box<[u64]>,
    /// Hosts of prefixes, each with the length of a prefix.
    lengths: Box<[u64]>,
    queries: Box<[QueryEntry]>,
}

/// An entry with a query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueryEntry {
    /// Of host and path.
    place: u64,
    /// The least of its parameters, and the others: a URL must have it, so it is looked up.
    first: u64,
    rest: Box<[u64]>,
}

/// Which URLs with a query an entry with a query is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameters {
    /// URLs that have its parameters, and maybe others.
    AtLeast,
    /// URLs that have only its parameters: it is unknown what another parameter does to the page.
    Exactly,
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
    fn cover(&self, host: &str, url: &Canonical, parameters: Parameters) -> bool {
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
        if self.prefixes.is_empty() && self.queries.is_empty() {
            return false;
        }
        let covered = |path: &[u8]| {
            self.cover_path(host, path) || self.cover_query(host, path, &url.parameters, parameters)
        };
        let mut paths = url.paths.iter();
        match parameters {
            Parameters::AtLeast => paths.any(|path| covered(path)),
            // Another reading of the path would be a way past the list.
            Parameters::Exactly => paths.all(|path| covered(path)),
        }
    }

    fn cover_path(&self, host: &str, path: &[u8]) -> bool {
        (1..=path.len()).any(|length| {
            let next = path.get(length);
            next.is_none_or(|byte| matches!(byte, b'/' | b'?' | b';'))
                && has(&self.lengths, (host, length))
                && has(&self.prefixes, (host, &path[..length]))
        })
    }

    /// Whether there are entries with a query for the host and path of a URL.
    fn have_queries_of(&self, url: &Canonical) -> bool {
        let is_place = |host: &String, path: &Vec<u8>| {
            let place = hash((&**host, &path[..]));
            let found = self
                .queries
                .binary_search_by_key(&place, |entry| entry.place);
            found.is_ok()
        };
        let mut hosts = url.hosts.iter().filter(|_| !self.queries.is_empty());
        hosts.any(|host| url.paths.iter().any(|path| is_place(host, path)))
    }

    fn cover_query(&self, host: &str, path: &[u8], given: &[u64], parameters: Parameters) -> bool {
        if self.queries.is_empty() {
            return false;
        }
        let place = hash((host, path));
        let start = self.queries.partition_point(|entry| entry.place < place);
        let length = self.queries[start..].partition_point(|entry| entry.place == place);
        let of_place = &self.queries[start..start + length];
        let is_given = |parameter: &u64| given.binary_search(parameter).is_ok();
        let is_of = |entry: &QueryEntry| match parameters {
            Parameters::AtLeast => entry.rest.iter().all(is_given),
            Parameters::Exactly => given.get(1..) == Some(&entry.rest[..]),
        };
        given.iter().any(|first| {
            let start = of_place.partition_point(|entry| entry.first < *first);
            let entries = of_place[start..].iter();
            entries.take_while(|entry| entry.first == *first).any(is_of)
        })
    }
}

#[derive(Default)]
struct ListBuilder {
    hosts: Vec<u64>,
    tops: Vec<u64>,
    prefixes: Vec<u64>,
    lengths: Vec<u64>,
    queries: Vec<QueryEntry>,
}

impl ListBuilder {
    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Hosts(HostPattern::One(host)) => self.hosts.push(hash(&*host)),
            Entry::Hosts(HostPattern::AndBelow(top)) => self.tops.push(hash(&*top)),
            Entry::Prefix {
                host,
                path,
                parameters,
            } => {
                if let Some((first, rest)) = parameters.split_first() {
                    self.queries.push(QueryEntry {
                        place: hash((&*host, &path[..])),
                        first: *first,
                        rest: rest.into(),
                    });
                } else {
                    self.lengths.push(hash((&*host, path.len())));
                    self.prefixes.push(hash((&*host, &path[..])));
                }
            }
        }
    }

    fn sorted(mut self) -> Entries {
        self.queries.sort_unstable();
        self.queries.dedup();
        Entries {
            queries: self.queries.into(),
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
    /// The first invalid line.
    pub fn parse(text: &str, digest: String) -> Result<Self, InvalidBlocklist> {
        let (mut blocked, mut excepted) = (ListBuilder::default(), ListBuilder::default());
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

    /// Whether no link may lead to a URL.
    #[must_use]
    pub fn blocks(&self, url: &str) -> bool {
        if self.entries() == 0 {
            return false;
        }
        // A location has an escape in place of `\`, so that two dots after it lead elsewhere than they do in the target.
        let location = url.contains('\\').then(|| url.replace('\\', "%5C"));
        self.blocks_as_written(url) || location.is_some_and(|url| self.blocks_as_written(&url))
    }

    fn blocks_as_written(&self, url: &str) -> bool {
        let Some(url) = Url::parse(url).ok().as_ref().and_then(Canonical::of) else {
            return false;
        };
        let is_blocked = |host: &String| self.blocked.cover(host, &url, Parameters::AtLeast);
        let is_excepted = |host: &String| self.excepted.cover(host, &url, Parameters::Exactly);
        url.hosts.iter().any(is_blocked) && !url.hosts.first().is_some_and(is_excepted)
    }

    /// Whether no link may lead to a URL with a visitor's query. `without` is the URL before the query was added, and decides
    /// whether the query is read at all.
    #[must_use]
    pub fn blocks_forwarded(&self, without: &str, url: &str) -> bool {
        let Some(place) = Url::parse(without).ok().as_ref().and_then(Canonical::of) else {
            return false;
        };
        let has_queries = |entries: &Entries| entries.have_queries_of(&place);
        if !has_queries(&self.blocked) && !has_queries(&self.excepted) {
            return false;
        }
        url.bytes().filter(|byte| *byte == b'&').count() > MAX_FORWARDED || self.blocks(url)
    }

    /// Whether the query of a URL may decide whether it is blocked.
    fn looks_at_queries(&self) -> bool {
        !self.blocked.queries.is_empty() || !self.excepted.queries.is_empty()
    }

    /// The name of the list; empty without a list.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How many entries it has, exceptions included, and each once.
    #[must_use]
    pub fn entries(&self) -> usize {
        let count =
            |of: &Entries| of.hosts.len() + of.tops.len() + of.prefixes.len() + of.queries.len();
        count(&self.blocked) + count(&self.excepted)
    }
}

/// The blocklist in force, which a running service may be given anew; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CurrentBlocklist(Arc<InForce>);

#[derive(Debug, Default)]
struct InForce {
    list: RwLock<Arc<Blocklist>>,
    looks_at_queries: AtomicBool,
}

impl CurrentBlocklist {
    /// The list in force.
    #[must_use]
    pub fn get(&self) -> Arc<Blocklist> {
        Arc::clone(&self.0.list.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another list in force.
    pub fn set(&self, list: Blocklist) {
        let looks_at_queries = list.looks_at_queries();
        *self.0.list.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(list);
        self.0
            .looks_at_queries
            .store(looks_at_queries, Ordering::Release);
    }

    /// Whether the query of a URL may decide whether it is blocked: if not, a target that was checked need not be checked again
    /// with a visitor's query.
    #[must_use]
    pub fn looks_at_queries(&self) -> bool {
        self.0.looks_at_queries.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
