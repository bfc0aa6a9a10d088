//! Every Redis key: its name, type, expiry, who writes it and who removes it.
//!
//! | key | type | expiry | written by | removed by |
//! | --- | --- | --- | --- | --- |
//! | `{prefix}:state` | hash `epoch`, `change`, `flush`, `life`, `elsewhere`, `database` | none | whichever script runs first; `forget.lua`, `take.lua`, `admit.lua`, `over.lua`, `admission` | nobody |
//! | `{prefix}:recorders` | hash recorder → `number microseconds` | none | `record.lua` | the flusher, after a week |
//! | `{prefix}:pending` | hash link id → clicks | none | `record.lua` | renamed by `take.lua`; `admit.lua` |
//! | `{prefix}:flush:EPOCH:N` | hash link id → clicks | none | `take.lua`, `admit.lua` | `finish.lua`, `admit.lua` |
//! | `{prefix}:flushing` | set of the `N` above | none | `take.lua`, `admit.lua` | `finish.lua`, `admit.lua` |
//! | `{prefix}:flusher` | string, who flushes | seconds | `take.lua`, `extend.lua` | `release.lua`, expiry |
//! | `{prefix}:changes` | stream of changed codes | none, trimmed | `forget.lua` | trimming, `admit.lua` |
//! | `{prefix}:probe` | string | a second | whoever looks for a Redis that was away | expiry |
//! | `{prefix}:limit:ACTION:CALLER:MINUTE` | counter | two minutes | `limits` | expiry |
//! | `{prefix}:link:CODE` | string, a cached link | six hours | `remember.lua` | `forget.lua`, expiry, eviction |
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

    /// Which shard of a cluster it is; `None` for a single Redis.
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
        /// Epoch of the data set, newest change, newest flush; the life of its server, and whether it went on in
        /// another.
        state => "state",
        /// The last batch applied per recorder.
        recorders => "recorders",
        /// Clicks that no flush has taken yet.
        pending => "pending",
        /// Numbers of the flushes under way.
        flushing => "flushing",
        /// Who flushes at the moment.
        flusher => "flusher",
        /// Written to learn whether Redis takes writes.
        probe => "probe",
        /// The newest changes of links.
        changes => "changes",
    }

    /// The increments of one flush. With its epoch: a late reader never takes another's for it.
    #[must_use]
    pub fn flush(&self, epoch: &str, number: i64) -> String {
        format!("{}{epoch}:{number}", self.flush_prefix())
    }

    /// How those keys begin; scripts append the rest.
    #[must_use]
    pub fn flush_prefix(&self) -> String {
        format!("{}:flush:", self.tag)
    }

    /// How often somebody did something in a minute.
    #[must_use]
    pub fn limit(&self, action: &str, caller: u64, window: u64) -> String {
        format!("{}:limit:{action}:{caller:016x}:{window}", self.tag)
    }

    /// What is cached for a code.
    #[must_use]
    pub fn link(&self, code: &ShortCode) -> String {
        format!("{}:link:{code}", self.tag)
    }
}
