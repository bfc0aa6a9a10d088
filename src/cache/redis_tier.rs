//! Links cached in Redis, for all instances.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::FromRedisValue;

use super::cursor::InvalidationCursor;
use super::link::CachedLink;
use super::lookup_batcher::{LookupBatcher, LookupQueue, RedisLookup, TierState};
use super::stored_link::encode;
use crate::domain::ShortCode;
use crate::shared_redis::{Call, DedicatedConnection, RedisFailure, RedisShard, Term, scripts};

/// How long Redis caches a link: many times as long as a process does, which looks it up there again.
const LINK_EXPIRY: Duration = Duration::from_hours(6);

/// Deadline of background calls, for which no request waits.
const BACKGROUND_DEADLINE: Duration = Duration::from_secs(1);

/// Max changes that are applied one by one; past that the whole cache is cleared.
const MAX_CHANGES: i64 = 1_000;

/// How long a list of changes is waited for.
#[derive(Clone, Copy)]
pub(super) enum ListDeadline {
    /// Half of a click's deadline; a late list means that Redis is away.
    OfRedirects,
    /// A second.
    InBackground,
}

#[derive(Clone)]
pub(super) struct RedisTier {
    shard: RedisShard,
    connection: Arc<DedicatedConnection>,
    lookups: LookupQueue,
}

impl RedisTier {
    /// Returns the batcher, too, which must run for [`RedisTier::get`] to find anything.
    pub(super) fn new(shard: RedisShard) -> (Self, LookupBatcher) {
        let connection = Arc::new(shard.dedicated_connection());
        let (lookups, batcher) = LookupQueue::new(shard.clone(), Arc::clone(&connection));
        let tier = Self {
            shard,
            connection,
            lookups,
        };
        (tier, batcher)
    }

    pub(super) fn for_worker(&self) -> (Self, LookupBatcher) {
        Self::new(self.shard.clone())
    }

    pub(super) fn is_up(&self) -> bool {
        self.shard.is_up()
    }

    /// Whether it can at least be read: a full Redis can.
    pub(super) fn is_reachable(&self) -> bool {
        self.shard.is_reachable()
    }

    /// How long a command of a redirect's path may take.
    pub(super) fn deadline(&self) -> Duration {
        self.shard.deadline()
    }

    /// Returns once Redis is up; at once if it is.
    pub(super) async fn is_back(&self) {
        self.shard.is_back().await;
    }

    /// For how long Redis has been away; zero if it is up.
    pub(super) fn away_for(&self) -> Duration {
        self.shard.away_for()
    }

    /// Notes that Redis is away.
    pub(super) fn trip(&self, failure: &RedisFailure) {
        self.shard.trip(failure);
    }

    /// The cached link of a code; an empty result if Redis fails.
    pub(super) async fn get(&self, code: &ShortCode) -> RedisLookup {
        self.lookups.get(code).await
    }

    /// Caches a link, unless a link changed since the tier was in this state. A failure is ignored: the next instance reads
    /// the database.
    pub(super) async fn insert(&self, code: &ShortCode, link: &CachedLink, before: &TierState) {
        let keys = self.shard.keys();
        let mut call = scripts::CACHE_LINK.call(&[&keys.state(), &keys.link(code)]);
        call.arg(&before.change)
            .arg(&before.generation)
            .arg(encode(link, &before.generation))
            .arg(LINK_EXPIRY.as_secs());
        let _: Result<bool, RedisFailure> = self.connection.query(&call).await;
    }

    /// Removes changed links, and announces their changes to all instances. No redirect waits for it, so a late answer does not
    /// mean that Redis is away.
    pub(super) async fn announce(
        &self,
        codes: &[ShortCode],
    ) -> Result<InvalidationCursor, RedisFailure> {
        let keys = self.shard.keys();
        let (state, changes) = (keys.state(), keys.changes());
        let links: Vec<_> = codes.iter().map(|code| keys.link(code)).collect();
        let mut all = vec![state.as_str(), changes.as_str()];
        all.extend(links.iter().map(String::as_str));
        let term = self.shard.term()?;
        let mut call = scripts::ANNOUNCE_CHANGES.call(&all);
        call.arg(term.number);
        for code in codes {
            call.arg(code.as_key());
        }
        let asked = Instant::now();
        let change = self.shard.query(&call, BACKGROUND_DEADLINE).await?;
        Ok(self.cursor(term, change, asked))
    }

    /// Makes every cached link a miss, for all instances.
    pub(super) async fn forget_links(&self) -> Result<InvalidationCursor, RedisFailure> {
        let (keys, term) = (self.shard.keys(), self.shard.term()?);
        let mut call = scripts::FORGET_CACHED_LINKS.call(&[&keys.state(), &keys.changes()]);
        call.arg(term.number).arg(self.shard.now().micros());
        let asked = Instant::now();
        let change = self.shard.query(&call, BACKGROUND_DEADLINE).await?;
        Ok(self.cursor(term, change, asked))
    }

    /// The newest change, within the deadline of a redirect.
    pub(super) async fn newest_change(&self) -> Result<InvalidationCursor, RedisFailure> {
        let (term, asked) = (self.shard.term()?, Instant::now());
        let change = self.ask(&self.read_change_call(&term)).await?;
        Ok(self.cursor(term, change, asked))
    }

    /// Makes a call for which a redirect waits, and that may be made twice. The dedicated connection may still be in the making,
    /// while the pool has one.
    async fn ask<T: FromRedisValue>(&self, call: &Call) -> Result<T, RedisFailure> {
        match self.connection.query(call).await {
            Err(RedisFailure::Refused(_) | RedisFailure::Full(_)) => {
                self.shard.query(call, self.shard.deadline()).await
            }
            result => result,
        }
    }

    /// The same in the background: a late answer does not mean that Redis is away.
    pub(super) async fn newest_change_in_background(
        &self,
    ) -> Result<InvalidationCursor, RedisFailure> {
        let (term, asked) = (self.shard.term()?, Instant::now());
        let call = self.read_change_call(&term);
        let change = self.shard.query(&call, BACKGROUND_DEADLINE).await?;
        Ok(self.cursor(term, change, asked))
    }

    fn read_change_call(&self, term: &Term) -> Call {
        let mut call = scripts::READ_CHANGE.call(&[&self.shard.keys().state()]);
        call.arg(term.number);
        call
    }

    fn cursor(&self, term: Arc<Term>, change: i64, asked: Instant) -> InvalidationCursor {
        InvalidationCursor {
            shard: self.shard.shard(),
            term,
            change,
            asked,
        }
    }

    /// The codes that changed after `known` up to `newest`; `None` if Redis no longer has all of them.
    pub(super) async fn changes(
        &self,
        known: i64,
        newest: i64,
        deadline: ListDeadline,
    ) -> Result<Option<Vec<ShortCode>>, RedisFailure> {
        let expected = newest
            .checked_sub(known)
            .filter(|count| (1..=MAX_CHANGES).contains(count));
        let Some(expected) = expected else {
            return Ok(None);
        };
        let mut range = redis::cmd("XRANGE");
        range
            .arg(self.shard.keys().changes())
            .arg(format!("({known}"))
            .arg(newest);
        let call = Call::plain(range);
        let entries: Vec<(String, Vec<(String, String)>)> = match deadline {
            ListDeadline::OfRedirects => self.ask(&call).await?,
            ListDeadline::InBackground => self.shard.query(&call, BACKGROUND_DEADLINE).await?,
        };
        let codes: Vec<_> = entries
            .iter()
            .flat_map(|(_, fields)| fields)
            .filter_map(|(_, code)| ShortCode::from_key(code))
            .collect();
        Ok((i64::try_from(codes.len()) == Ok(expected)).then_some(codes))
    }
}
