//! A piece of a flush in memory: the links after the ledger's mark, as many as there is room for.
//!
//! Redis keeps a flush in one hash, so that nothing is to be divided where clicks are recorded. Each piece costs a scan of what is
//! left of it. The scan that reads a piece also has Redis forget the links before it that are in the database for good: so a
//! flush of one piece, which is nearly every flush, costs nothing more than reading it. A scan is not of one moment, but a link that
//! it misses is one that was forgotten, and so is before the ledger's mark.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio::time::sleep;

use super::scan::{HashScan, PAUSES, TIMEOUT};
use crate::clicks::Pace;
use crate::shared_redis::keys::link_and_owner;
use crate::shared_redis::{RedisFailure, RedisShard, scripts};
use crate::store::{ClickDetails, DetailSums, FlushId, FlushMark, KnownClasses, LinkClicks};
use crate::telemetry::metrics::CLASSES_UNKNOWN;

/// Batches whose classes one command reads.
const BATCHES_PER_RANGE: usize = 100;

/// Fields that one command forgets.
const FIELDS_PER_FORGETTING: usize = 1_000;

/// Classes that are kept at least, whether or not anything refers to them.
const KNOWN_CLASSES: usize = 10_000;

/// How much of a flush is in memory at once, whatever Redis has of it.
///
/// A link takes at most 94 bytes: 70 in a tree, each of whose nodes has room for 11 entries of 24 bytes and has at least 5, and 24
/// in the list that is made of the tree. A sum of a link and class takes at most 70 bytes, too. So the default is at most 94 MB, and
/// 70 MB more while visitors are classified. Beside these are the classes themselves, each once: the classes that sums refer to,
/// and at most as many others. All of them are in `ANALYTICS_REDIS_MIB`, and take some 64 bytes more each in memory.
#[derive(Clone, Copy, Debug)]
pub struct PieceSize {
    /// Links with clicks; at least one.
    pub links: usize,
    /// Sums of clicks by link and class. The sums of a single link may not fit: the clicks of the sums past the room have no class.
    pub classes: usize,
}

impl Default for PieceSize {
    fn default() -> Self {
        Self {
            links: 1_000_000,
            classes: 1_000_000,
        }
    }
}

/// Links of a flush with their clicks and classes.
pub(super) struct Piece {
    /// Where the ledger's mark stood when it was read: the piece has the links behind it.
    after: FlushMark,
    /// By rising link.
    increments: Vec<LinkClicks>,
    /// `None` where no class is noted of any click of the flush: they are switched off.
    details: Option<DetailSums>,
    /// Whether it has the last link of the flush.
    is_last: bool,
}

/// Links that are written in one transaction.
pub(super) struct Part<'a> {
    pub(super) clicks: &'a [LinkClicks],
    pub(super) details: ClickDetails,
    /// Where the ledger stands afterwards.
    pub(super) up_to: FlushMark,
}

impl Piece {
    /// Reads the links behind a mark. Links up to `durable` are in the database for good, and are forgotten.
    /// `None` if Redis does not have this flush any more.
    pub(super) async fn read(
        redis: &RedisShard,
        flush: &FlushId,
        after: FlushMark,
        durable: FlushMark,
        size: PieceSize,
    ) -> Result<Option<Self>, RedisFailure> {
        let key = redis.keys().flush(&flush.epoch, flush.number);
        // Sorted as they come: a million in one step would keep a core from redirects for long. Redis may return a field twice; it
        // is taken once.
        let most = size.links.max(1);
        let (mut lowest, mut is_last) = (BTreeMap::new(), true);
        let mut scan = HashScan::new(redis, &key);
        while let Some(found) = scan.next::<String, u64>().await? {
            let mut written = Vec::new();
            for (field, clicks) in found {
                // A field that no link can have is skipped.
                let Some((link, owner)) = link_and_owner(&field) else {
                    continue;
                };
                if after.includes(link) {
                    if durable.includes(link) {
                        written.push(field);
                    }
                    continue;
                }
                let is_full = lowest.len() == most;
                if is_full
                    && lowest
                        .last_key_value()
                        .is_some_and(|(last, _)| *last < link)
                {
                    is_last = false;
                    continue;
                }
                lowest.insert(link, (owner, clicks));
                if lowest.len() > most {
                    lowest.pop_last();
                    is_last = false;
                }
            }
            forget(redis, flush, &written).await?;
        }
        let of_links = lowest.into_iter();
        let of_links = of_links.map(|(link, (owner, clicks))| LinkClicks {
            link,
            owner,
            clicks,
        });
        let mut piece = Self {
            after,
            increments: of_links.collect(),
            details: None,
            is_last,
        };
        let is_whole = piece.read_details(redis, flush, size.classes).await?;
        Ok(is_whole.then_some(piece))
    }

    /// Reads the classes of its clicks. Those of a batch that this version cannot read are left out. If there is no room for all,
    /// the piece gets shorter. `false` if what was read is not of this flush: the data set went back, or the flush was
    /// finished.
    async fn read_details(
        &mut self,
        redis: &RedisShard,
        flush: &FlushId,
        most: usize,
    ) -> Result<bool, RedisFailure> {
        let keys = redis.keys();
        let of_flush = keys.details_of(&flush.epoch, flush.number);
        let (mut classes, mut from) = (KnownClasses::default(), 0);
        let (mut unclassified, mut purge_at) = (0, KNOWN_CLASSES);
        let mut pace = Pace::within(PAUSES);
        loop {
            let started = Instant::now();
            let mut call =
                scripts::READ_DETAILS.call(&[&keys.state(), &keys.intervals(), &of_flush]);
            call.arg(flush.term).arg(flush.number).arg(&flush.name);
            call.arg(from).arg(from + BATCHES_PER_RANGE - 1);
            let Some(found) = redis.query::<Option<Vec<Vec<u8>>>>(&call, TIMEOUT).await? else {
                return Ok(false);
            };
            for batch in found.iter().filter_map(|packed| classes.parse(packed)) {
                unclassified += self.add_details(batch, most);
            }
            if classes.count() >= purge_at {
                classes.forget_unused();
                purge_at = 2 * classes.count().max(KNOWN_CLASSES);
            }
            if found.len() < BATCHES_PER_RANGE {
                if unclassified > 0 {
                    metrics::counter!(CLASSES_UNKNOWN, "reason" => "memory")
                        .increment(unclassified);
                }
                return Ok(true);
            }
            from += BATCHES_PER_RANGE;
            sleep(pace.pause_after(started.elapsed(), redis.delay())).await;
        }
    }

    /// Adds the classes of its links. Returns how many clicks get no class, because a single link has more sums than there is room for.
    fn add_details(&mut self, mut batch: ClickDetails, most: usize) -> u64 {
        if batch.is_empty() {
            return 0;
        }
        let sums = self.details.get_or_insert_default();
        let Some(LinkClicks { link: last, .. }) = self.increments.last() else {
            return 0;
        };
        if let FlushMark::UpTo(mark) = self.after {
            batch = batch.split_after(mark);
        }
        drop(batch.split_after(*last));
        sums.add(batch);
        let (removed, unclassified) = sums.shrink_to(most);
        if let Some(removed) = removed {
            let room = self.increments.partition_point(|part| part.link < removed);
            // Never empty, also if Redis has classes of links that were not clicked.
            self.increments.truncate(room.max(1));
            self.is_last = false;
        }
        unclassified
    }

    /// What is still to be written where the ledger stands at a mark; `None` if nothing is. If the mark is before the piece, as the
    /// database lost parts in a crash, nothing is either: what is between the two has to be read again.
    pub(super) fn rest(&self, mark: FlushMark) -> Option<&[LinkClicks]> {
        if let FlushMark::UpTo(after) = self.after
            && !mark.includes(after)
        {
            return None;
        }
        let rest = mark.rest_of(&self.increments)?;
        (self.is_last || !rest.is_empty()).then_some(rest)
    }

    /// Takes out the first links of the rest, at most so many, to be written; `None` if nothing is left.
    pub(super) fn take_part(&mut self, mark: FlushMark, most: usize) -> Option<Part<'_>> {
        let rest = self.rest(mark)?.len();
        let rest = &self.increments[self.increments.len() - rest..];
        let clicks = &rest[..rest.len().min(most)];
        let up_to = match clicks.last() {
            Some(last) if clicks.len() < rest.len() || !self.is_last => FlushMark::UpTo(last.link),
            _ => FlushMark::Whole,
        };
        let details = self.details.as_mut();
        let details = details.map(|details| details.take_fitted_to(clicks));
        Some(Part {
            clicks,
            details: details.unwrap_or_default(),
            up_to,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.increments.is_empty()
    }
}

/// Has Redis forget links of a flush. One of its links is never among them, so that the flush stays: the ledger's mark is the last
/// link's only once the flush is whole.
async fn forget(
    redis: &RedisShard,
    flush: &FlushId,
    fields: &[String],
) -> Result<(), RedisFailure> {
    let keys = redis.keys();
    for fields in fields.chunks(FIELDS_PER_FORGETTING) {
        let mut call = scripts::FORGET_LINKS.call(&[
            &keys.state(),
            &keys.intervals(),
            &keys.flush(&flush.epoch, flush.number),
        ]);
        call.arg(flush.term).arg(flush.number).arg(&flush.name);
        call.arg(fields);
        redis.query::<()>(&call, TIMEOUT).await?;
    }
    Ok(())
}
