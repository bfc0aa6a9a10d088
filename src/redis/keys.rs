//! Every Redis key: its name, type, expiry, who writes it and who removes it.
//!
//! | key | type | expiry | written by | removed by |
//! | --- | --- | --- | --- | --- |
//! | `{prefix}:state` | hash `term`, `epoch`, `flush`, `change`, `generation`, `life`, `database`, `rolled_back` | none | `begin_term`; `announce_changes`, `begin_flush`, `forget_cached_links`; recovery (`database`); scripts that find it rolled back | never |
//! | `{prefix}:recorders` | hash recorder → `number microseconds` | none | `record_clicks` | `forget_recorder`, after a week |
//! | `{prefix}:pending` | hash link id → clicks | none | `record_clicks` | renamed by `begin_flush`; `begin_term` |
//! | `{prefix}:flush:EPOCH:N` | hash link id → clicks | none | `begin_flush` | `finish_flush`, `begin_term` |
//! | `{prefix}:flushing` | set of the `N` above | none | `begin_flush` | `finish_flush`, `begin_term` |
//! | `{prefix}:flusher` | string, name of the flusher with the lease | seconds | `begin_flush`, `extend_flush_lease` | `release_flush_lease`, expiry |
//! | `{prefix}:changes` | stream of changed codes | none, trimmed | `announce_changes` | trimming, `begin_term`, `forget_cached_links` |
//! | `{prefix}:history` | string, JSON | none | `redis::history` | never |
//! | `{prefix}:probe` | string | a second | the search for a master (`redis::master`) | expiry |
//! | `{prefix}:limit:ACTION:CALLER:WINDOW` | counter | two windows | `count_attempts` | expiry |
//! | `{prefix}:link:CODE` | string, a cached link | six hours | `cache_link` | `announce_changes`, expiry, eviction |
//!
//! Only cached links have an expiry worth evicting: Redis runs with a `volatile-*` policy, so that
//! counters are never evicted. The braces are part of the names: on a cluster they keep all keys of
//! one data set together, as the scripts need. There each shard is a data set of its own, and `prefix:K` stands
//! for `prefix`.

use crate::domain::{Shard, ShortCode};

/// The names of all keys below one prefix.
#[derive(Clone, Debug)]
pub struct Keys {
    tag: String,
    shard: Option<Shard>,
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident => $suffix:literal),+ $(,)?) => {
        $($(#[$doc])* #[must_use] pub fn $name(&self) -> String { format!(concat!("{}:", $suffix), self.tag) })+
    };
}

impl Keys {
    /// Keys of the data set called `prefix`.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self {
            tag: format!("{{{prefix}}}"),
            shard: None,
        }
    }

    /// Keys of one shard of the cluster that keeps the data sets called `prefix`: `{prefix:3}:…`.
    #[must_use]
    pub fn of_shard(prefix: &str, shard: Shard) -> Self {
        Self {
            tag: format!("{{{prefix}:{}}}", shard.index()),
            shard: Some(shard),
        }
    }

    /// Keys of a data set with this tag, which is not among the configured ones.
    #[must_use]
    pub fn of_tag(tag: &str) -> Self {
        Self {
            tag: tag.to_owned(),
            shard: None,
        }
    }

    /// The shard of a cluster; `None` for a single Redis.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// What all keys of this data set begin with.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    keys! {
        /// Term and epoch of the data set, newest flush, newest change; the generation of cached links; the replication ID
        /// of the server that the term is for (`life`), the database that it belongs to, and whether a script found it to
        /// be rolled back.
        state => "state",
        /// The last batch applied per recorder.
        recorders => "recorders",
        /// Clicks that are in no flush yet.
        pending => "pending",
        /// Numbers of the flushes under way.
        flushing => "flushing",
        /// The lease on flushing: the name of the flusher that has it.
        flusher => "flusher",
        /// Written to find out whether Redis takes writes.
        probe => "probe",
        /// What instances have seen of the database, as JSON.
        history => "history",
        /// The newest changes of links.
        changes => "changes",
    }

    /// The increments of one flush. The epoch is in the name, so that a late reader never reads a flush of another epoch.
    #[must_use]
    pub fn flush(&self, epoch: &str, number: i64) -> String {
        format!("{}{epoch}:{number}", self.flush_prefix())
    }

    /// The first part of the names of flush keys; scripts append the rest.
    #[must_use]
    pub fn flush_prefix(&self) -> String {
        format!("{}:flush:", self.tag)
    }

    /// Counter of the rate limit of one caller and window.
    #[must_use]
    pub fn limit(&self, action: &str, caller: u64, window: u64) -> String {
        format!("{}:limit:{action}:{caller:016x}:{window}", self.tag)
    }

    /// The cached link of a code.
    #[must_use]
    pub fn link(&self, code: &ShortCode) -> String {
        format!("{}:link:{code}", self.tag)
    }
}
