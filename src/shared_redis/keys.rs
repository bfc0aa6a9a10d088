//! Every Redis key: its name, type, expiry, who writes it and who removes it.
//!
//! | key | type | expiry | written by | removed by |
//! | --- | --- | --- | --- | --- |
//! | `{prefix}:state` | hash `term`, `epoch`, `flush`, `pending_in`, `begun`, `change`, `generation`, `replication_id`, `database`, `rolled_back`, `details_bytes`, `details_bytes_in_flushes`; `recorder:R` → number of its last batch | none | `begin_term`; `announce_changes`, `record_clicks`, `begin_flush`, `forget_cached_links`; recovery (`database`); scripts that find it rolled back | never |
//! | `{prefix}:recorders` | hash recorder → when it was heard of, in microseconds | none | `record_clicks` | `forget_recorder`, after a week |
//! | `{prefix}:pending` | hash `LINK:OWNER` → clicks | none | `record_clicks` | renamed by `begin_flush`, `record_clicks`; `begin_term` |
//! | `{prefix}:flush:EPOCH:N` | hash `LINK:OWNER` → clicks | none | `begin_flush`, `record_clicks` | `finish_flush`, `begin_term`; fields by `forget_links` |
//! | `{prefix}:flushing` | set of the `N` above | none | `begin_flush`, `record_clicks` | `finish_flush`, `begin_term` |
//! | `{prefix}:intervals` | hash `N`, or that which the pending clicks will get → interval; `name:N` → name; `details:N` → bytes of its classes | none | `record_clicks`, `begin_flush` | `finish_flush`, `begin_term` |
//! | `{prefix}:details` | list of packed classes, one of each batch of `pending` | none | `record_clicks` | as `pending` |
//! | `{prefix}:details:EPOCH:N` | the same of a flush | none | `begin_flush`, `record_clicks` | `finish_flush`, `begin_term` |
//! | `{prefix}:flusher` | string, name of the flusher with the lease | seconds | `begin_flush`, `extend_flush_lease` | `release_flush_lease`, expiry |
//! | `{prefix}:changes` | stream of changed codes | none, trimmed | `announce_changes` | trimming, `begin_term`, `forget_cached_links` |
//! | `{prefix}:history` | string, JSON | none | `redis::history` | never |
//! | `{prefix}:probe` | string | a second | the search for a master (`redis::master`) | expiry |
//! | `{prefix}:limit:ACTION:CALLER:WINDOW` | counter | two windows | `count_attempts` | expiry |
//! | `{prefix}:day_key:DAY` | string, the key of a day (UTC), by which visitors are known again on it | the end of the day | `analytics::daily_key` | expiry |
//! | `{prefix}:link:CODE`, of another host `{prefix}:link:DOMAIN/CODE` | string, a cached link | six hours | `cache_link` | `announce_changes`, expiry, eviction |
//!
//! A data set that is given up is removed by `remove_data_set`, but for the keys that expire.
//!
//! Only cached links have an expiry worth evicting: Redis runs with a `volatile-*` policy, so that
//! counters are never evicted. The braces are part of the names: on a cluster they keep all keys of
//! one data set together, as the scripts need. There each shard is a data set of its own, and `prefix:K/N.S` stands
//! for `prefix`: shard K of N. The number S places the shard on the cluster, see [`Keys::of_shard`].

use std::fmt::{self, Display};

use crc::{CRC_16_XMODEM, Crc};

use crate::domain::{LinkId, Shard, ShortCode, UserId};

/// Hash slots of a Redis Cluster.
const SLOTS: u16 = 16_384;

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

    /// Keys of one of `count` shards of the cluster that keeps the data sets called `prefix`: `{prefix:3/32.17}:…`.
    ///
    /// The slots of a cluster are divided into as many windows as there are shards. The last number in the tag is the first
    /// that puts the shard's slot into the middle half of its own window. So the shards lie evenly, also where masters have
    /// ranges of slots whose bounds are rounded.
    #[must_use]
    pub fn of_shard(prefix: &str, shard: Shard, count: u16) -> Self {
        let index = shard.number();
        // Slots are multiplied by the number of shards, so that the bounds of windows are whole numbers.
        let is_in_window = |slot: u16| {
            let slots = i32::from(SLOTS);
            let from_start = i32::from(slot) * i32::from(count) - i32::from(index) * slots;
            (slots..3 * slots).contains(&(4 * from_start))
        };
        let tag = (0..=u32::MAX)
            .map(|suffix| format!("{prefix}:{index}/{count}.{suffix}"))
            .find(|tag| is_in_window(slot(tag)))
            .expect("some number leads to every slot");
        Self {
            tag: format!("{{{tag}}}"),
            shard: Some(shard),
        }
    }

    /// Keys of the data set with this tag, in the place of one with the keys `self`.
    #[must_use]
    pub fn with_tag(&self, tag: &str) -> Self {
        Self {
            tag: tag.to_owned(),
            shard: self.shard,
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
        /// Term and epoch of the data set, newest flush, interval of the pending clicks, newest flush that a flusher may have
        /// read; the last batch applied per recorder; how many bytes the classes of clicks take; newest change; the generation of
        /// cached links; the replication ID of the server that the term is for (`replication_id`), the database that it belongs
        /// to, and whether a script found it to be rolled back.
        state => "state",
        /// When each recorder was last heard of, by the quarter of an hour.
        recorders => "recorders",
        /// Clicks that are in no flush yet.
        pending => "pending",
        /// Numbers of the flushes under way.
        flushing => "flushing",
        /// The interval and the name of each flush, and how many bytes its classes take; and the interval of the pending clicks
        /// under the number that they will get.
        intervals => "intervals",
        /// The classes of the pending clicks.
        details => "details",
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

    /// The classes of the clicks of one flush.
    #[must_use]
    pub fn details_of(&self, epoch: &str, number: i64) -> String {
        format!("{}{epoch}:{number}", self.details_prefix())
    }

    /// The first part of the names of lists of classes; scripts append the rest.
    #[must_use]
    pub fn details_prefix(&self) -> String {
        format!("{}:details:", self.tag)
    }

    /// The field of the state that has the number of a recorder's last batch.
    #[must_use]
    pub fn recorder_field(recorder: impl Display) -> String {
        format!("recorder:{recorder}")
    }

    /// Counter of the rate limit of one caller and window.
    #[must_use]
    pub fn limit(&self, action: &str, caller: u64, window: u64) -> String {
        format!("{}:limit:{action}:{caller:016x}:{window}", self.tag)
    }

    /// The key of a day, by which visitors are known again on it.
    #[must_use]
    pub fn day_key(&self, day: u64) -> String {
        format!("{}:day_key:{day}", self.tag)
    }

    /// The cached link of a code.
    #[must_use]
    pub fn link(&self, code: &ShortCode) -> String {
        format!("{}:link:{}", self.tag, code.as_key())
    }
}

/// The field of a link in the pending clicks and in flushes. The owner is in it, who never changes: so Redis has nothing to do to keep
/// the owner with the clicks.
#[must_use]
pub fn link_field(link: LinkId, owner: UserId) -> impl Display {
    fmt::from_fn(move |text| write!(text, "{}:{}", link.number(), owner.0))
}

/// The link of such a field, and its owner.
#[must_use]
pub fn link_and_owner(field: &str) -> Option<(LinkId, UserId)> {
    let (link, owner) = field.split_once(':')?;
    let link = LinkId::parse(link.parse().ok()?)?;
    Some((link, UserId(owner.parse().ok()?)))
}

/// The slot of a tag, without its braces.
fn slot(tag: &str) -> u16 {
    const CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);
    CRC.checksum(tag.as_bytes()) % SLOTS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn slot_of(keys: &Keys) -> u16 {
        slot(keys.tag().trim_matches(['{', '}']))
    }

    /// How many of these shards each of `masters` has, laid out as `redis-cli --cluster create` does.
    fn spread(slots: &[u16], masters: u16) -> Vec<usize> {
        let bound = |master: u16| f64::from(SLOTS) * f64::from(master) / f64::from(masters);
        let of_master = |master| {
            let (from, to) = (bound(master).round(), bound(master + 1).round());
            let is_its_own = |slot: &&u16| (from..to).contains(&f64::from(**slot));
            slots.iter().filter(is_its_own).count()
        };
        (0..masters).map(of_master).collect()
    }

    #[test]
    fn the_slot_of_a_tag_is_that_of_redis() {
        // By `CLUSTER KEYSLOT`.
        assert_eq!(slot("123456789"), 12_739);
        assert_eq!(slot_of(&Keys::new("shunt")), 2_699);
    }

    #[test]
    fn the_busiest_master_has_a_fifth_more_than_its_share_at_most() {
        for prefix in ["shunt", "a", "shunt_test_0123456789abcdef"] {
            let keys = |shard| Keys::of_shard(prefix, shard, 32);
            let slots: Vec<_> = Shard::all(32).map(|shard| slot_of(&keys(shard))).collect();
            for masters in [3, 5, 8] {
                let shards = spread(&slots, masters);
                let busiest = *shards.iter().max().unwrap();
                assert_eq!(shards.iter().sum::<usize>(), 32);
                assert!(
                    busiest * usize::from(masters) * 10 <= 32 * 12,
                    "{masters}: {shards:?}"
                );
            }
        }
    }

    #[test]
    fn every_number_of_shards_has_one_in_each_window_and_tags_of_its_own() {
        let mut tags = HashSet::from([Keys::new("shunt").tag().to_owned()]);
        for count in [1, 2, 3, 7, 16, 32, 100, 256] {
            for shard in Shard::all(count) {
                let keys = Keys::of_shard("shunt", shard, count);
                let window = u32::from(slot_of(&keys)) * u32::from(count) / u32::from(SLOTS);
                assert_eq!(window, u32::from(shard.number()), "{}", keys.tag);
                assert!(tags.insert(keys.tag));
            }
        }
    }
}
