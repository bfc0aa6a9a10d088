//! Changes of links: dropped from memory, announced in Redis, and followed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{CacheShard, LinkCache};
use crate::cache::cursor::InvalidationCursor;
use crate::cache::redis_tier::{ListDeadline, RedisTier};
use crate::cache::unannounced::{NoteNumber, Pending};
use crate::domain::{ChangedCode, Shard, ShortCode};
use crate::shared_redis::RedisFailure;

/// Changes that are announced in one call.
const ANNOUNCED_AT_ONCE: usize = 500;

/// A change could not be announced in Redis; it is announced later.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Redis is away.
    #[error(transparent)]
    Unavailable(#[from] RedisFailure),
}

/// The changes of a shard that this process had noted at some moment.
#[derive(Clone, Copy, Debug)]
pub struct ChangeNote {
    shard: Shard,
    newest: NoteNumber,
}

/// The state of the cache before changes are read in the database.
pub struct BeforeReading {
    asked: Instant,
    shards: Vec<BeforeReadingShard>,
}

struct BeforeReadingShard {
    /// The newest change that Redis was too late to list.
    unlisted: i64,
    is_redis_away: bool,
}

impl LinkCache {
    /// Removes changed codes of one shard from this process and from Redis, and announces the changes to all instances.
    /// Meant for some hundreds of codes. Returns the term of the Redis in which they were announced.
    ///
    /// # Errors
    /// When Redis fails; the codes are removed from this process all the same, which announces them when it reaches Redis
    /// ([`LinkCache::announce_noted`]).
    pub async fn invalidate(
        &self,
        shard: Shard,
        codes: &[ShortCode],
    ) -> Result<Option<i64>, CacheError> {
        let shard = self.shard(shard);
        let Some(redis) = &shard.redis else {
            self.drop_changed(shard, codes).await;
            return Ok(None);
        };
        let noted = shard.unannounced.note(Some(codes));
        self.drop_changed(shard, codes).await;
        let cursor = redis.announce(codes).await?;
        shard.unannounced.announced(codes, noted);
        self.catch_up_to(&cursor).await;
        Ok(Some(cursor.term.number))
    }

    /// Drops changed codes from the memory of this process.
    async fn drop_changed(&self, shard: &CacheShard, codes: &[ShortCode]) {
        let removal = async {
            for code in codes {
                self.l2.remove(code).await;
            }
        };
        shard.changes.apply(&self.l2, removal).await;
    }

    /// What is to be known before changes are read in the database.
    #[must_use]
    pub fn before_reading(&self) -> BeforeReading {
        let shard = |shard: &CacheShard| BeforeReadingShard {
            unlisted: shard.changes.unlisted(),
            is_redis_away: shard.redis.as_ref().is_some_and(|redis| !redis.is_up()),
        };
        BeforeReading {
            asked: Instant::now(),
            shards: self.shards.iter().map(shard).collect(),
        }
    }

    /// Applies changes that were read from the database, which has all changes up to then. `None`: any link may have
    /// changed. A Redis that is away may not have them yet.
    pub async fn apply_read_changes(&self, codes: Option<&[ChangedCode]>, before: &BeforeReading) {
        for (number, (shard, before)) in self.shards.iter().zip(&before.shards).enumerate() {
            let is_of_shard = |changed: &&ChangedCode| {
                let mut shards = self.shards_of(changed);
                shards.any(|shard| shard.index() == number)
            };
            let codes: Option<Vec<_>> = codes.map(|codes| {
                let of_shard = codes.iter().filter(is_of_shard);
                of_shard.map(|changed| changed.code.clone()).collect()
            });
            if codes.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            if before.is_redis_away {
                shard.unannounced.note(codes.as_deref());
            }
            if let Some(codes) = &codes {
                self.drop_changed(shard, codes).await;
            }
        }
        if codes.is_none() {
            self.clear_process().await;
        }
        self.note_read(before);
    }

    /// Every change that the database had then is applied.
    pub fn note_read(&self, before: &BeforeReading) {
        for (shard, of_shard) in self.shards.iter().zip(&before.shards) {
            shard.changes.has_read(of_shard.unlisted);
            shard.freshness.confirm(before.asked);
        }
    }

    /// What this process has noted of a shard's changes up to now.
    #[must_use]
    pub fn noted(&self, shard: Shard) -> ChangeNote {
        ChangeNote {
            shard,
            newest: self.shard(shard).unannounced.newest(),
        }
    }

    /// Every change that was noted by then is announced: the outbox was published afterwards.
    pub fn all_announced(&self, up_to: ChangeNote) {
        let shard = self.shard(up_to.shard);
        shard.unannounced.all_announced(up_to.newest);
    }

    /// Announces the changes that this process knows and Redis was not told of, when the outbox cannot be read.
    ///
    /// # Errors
    /// When Redis fails.
    pub async fn announce_noted(&self, shard: Shard) -> Result<(), CacheError> {
        let of_shard = self.shard(shard);
        let (pending, up_to) = of_shard.unannounced.pending();
        match pending {
            Pending::AnyLink => {
                self.forget(shard).await?;
            }
            Pending::Codes(codes) => {
                for codes in codes.chunks(ANNOUNCED_AT_ONCE) {
                    if let Some(redis) = &of_shard.redis {
                        redis.announce(codes).await?;
                    }
                    of_shard.unannounced.announced(codes, up_to);
                }
            }
        }
        Ok(())
    }

    /// For how long the Redis of any shard has been away; zero if all are up.
    #[must_use]
    pub fn redis_away_for(&self) -> Duration {
        let redis = self.shards.iter().filter_map(|shard| shard.redis.as_ref());
        redis.map(RedisTier::away_for).max().unwrap_or_default()
    }

    /// Told when a host may have changed, here or at another instance.
    #[must_use]
    pub fn hosts_changed(&self) -> Arc<Notify> {
        self.l2.hosts_changed()
    }

    /// Whether changes are published to other instances, in Redis.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shards.iter().any(|shard| shard.redis.is_some())
    }

    /// Makes every link of a shard that is cached in Redis a miss, and drops all links from the memory of every instance:
    /// which of them changed is not known. Returns the term of that Redis.
    ///
    /// # Errors
    /// When Redis fails.
    pub async fn forget(&self, shard: Shard) -> Result<Option<i64>, CacheError> {
        let shard = self.shard(shard);
        let Some(redis) = &shard.redis else {
            self.clear_process().await;
            return Ok(None);
        };
        let noted = shard.unannounced.note(None);
        self.clear_process().await;
        let cursor = redis.forget_links().await?;
        shard.unannounced.all_announced(noted);
        self.catch_up_to(&cursor).await;
        Ok(Some(cursor.term.number))
    }

    /// The data sets in which a change of a code is announced: first that of the code, which has the cached link, then that of the
    /// clicks.
    pub fn shards_of(&self, changed: &ChangedCode) -> impl Iterator<Item = Shard> {
        let of_code = self.shard_of(&changed.code);
        let of_clicks = changed.link.as_ref().map(|link| self.shard_of(link));
        let of_clicks = of_clicks.filter(|shard| *shard != of_code);
        std::iter::once(of_code).chain(of_clicks)
    }

    /// All data sets.
    pub fn all_shards(&self) -> impl Iterator<Item = Shard> {
        Shard::all(u16::try_from(self.shards.len()).unwrap_or(u16::MAX))
    }

    /// Drops every link from the memory of this process: which of them changed is not known.
    pub async fn clear_process(&self) {
        let changes = &self.shards[0].changes;
        changes.apply(&self.l2, async { self.l2.clear() }).await;
    }

    /// The newest change of a shard that this process has applied. The version of the cache, read afterwards, includes it.
    #[must_use]
    pub fn newest_change(&self, shard: Shard) -> i64 {
        self.shard(shard).changes.applied()
    }

    /// Applies every change up to the cursor, and returns whether Redis listed them in time. Costs nothing when there is none.
    pub async fn catch_up_to(&self, cursor: &InvalidationCursor) -> bool {
        self.applied_up_to(cursor, ListDeadline::OfRedirects).await
    }

    async fn applied_up_to(&self, cursor: &InvalidationCursor, deadline: ListDeadline) -> bool {
        let shard = self.shard(cursor.shard);
        let Some(redis) = &shard.redis else {
            return true;
        };
        let (changes, l2) = (&shard.changes, &self.l2);
        let is_applied =
            changes.is_current(cursor) || changes.catch_up(cursor, redis, l2, deadline).await;
        if is_applied {
            shard.freshness.confirm(cursor.asked);
        }
        is_applied
    }

    /// Reads the newest change of a shard, and applies the changes up to it; to be called before the first look-up. Returns
    /// whether Redis listed them in time.
    ///
    /// # Errors
    /// When Redis is away or refuses to be written to.
    pub async fn synchronise(&self, shard: Shard) -> Result<bool, CacheError> {
        let Some(redis) = &self.shard(shard).redis else {
            return Ok(true);
        };
        let cursor = redis.newest_change().await?;
        Ok(self.catch_up_to(&cursor).await)
    }

    /// The same for redirects whose clicks Redis did not acknowledge. While Redis is away, changes wait until it is back. A
    /// Redis that fails twice is away: otherwise deleted links would be followed by a process that takes it for up. Returns
    /// whether Redis said where the changes stand.
    pub async fn synchronise_unless_away(&self, shard: Shard) -> bool {
        let Some(redis) = &self.shard(shard).redis else {
            return false;
        };
        let mut is_repeated = false;
        while redis.is_reachable() {
            let failure = match self.synchronise(shard).await {
                Ok(is_applied) => return is_applied,
                Err(CacheError::Unavailable(failure)) => failure,
            };
            if is_repeated {
                redis.trip(&failure);
                return false;
            }
            is_repeated = true;
        }
        false
    }

    /// The same in the background, while no request waits for it.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn poll_changes(&self, shard: Shard) -> Result<bool, CacheError> {
        let Some(redis) = &self.shard(shard).redis else {
            return Ok(true);
        };
        let cursor = redis.newest_change_in_background().await?;
        Ok(self
            .applied_up_to(&cursor, ListDeadline::InBackground)
            .await)
    }
}
