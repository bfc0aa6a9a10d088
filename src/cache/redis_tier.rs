//! What Redis remembers of links, for all instances.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lookup_batcher::{LookupBatcher, LookupQueue, RedisLookup};
use super::{CachedLink, DedicatedConnection, InvalidationCursor, RedisFailure, RedisShard};
use crate::domain::{LinkId, Location, Shard, ShortCode};
use crate::redis::{Call, scripts};

/// How long Redis holds a link: many times as long as a process does, which only then looks it up again.
const LINK_EXPIRY: Duration = Duration::from_hours(6);

/// How long an answer may take that nobody waits for.
const LEISURE: Duration = Duration::from_secs(1);

/// Most changes that are caught up with one by one; past that everything is forgotten.
const MOST_CHANGES: i64 = 1_000;

#[derive(Clone)]
pub(super) struct RedisTier {
    redis: RedisShard,
    connection: Arc<DedicatedConnection>,
    misses: LookupQueue,
}

impl RedisTier {
    /// With what has to run for [`RedisTier::get`] to find anything.
    pub(super) fn new(redis: RedisShard) -> (Self, LookupBatcher) {
        let connection = Arc::new(redis.dedicated_connection());
        let (misses, asked) = LookupQueue::new(redis.clone(), Arc::clone(&connection));
        let remote = Self {
            redis,
            connection,
            misses,
        };
        (remote, asked)
    }

    pub(super) fn for_worker(&self) -> (Self, LookupBatcher) {
        Self::new(self.redis.clone())
    }

    pub(super) fn is_up(&self) -> bool {
        self.redis.is_up()
    }

    /// What Redis says of the code: nothing, where it fails.
    pub(super) async fn get(&self, code: &ShortCode) -> RedisLookup {
        self.misses.get(code).await
    }

    /// Failing is fine: the next instance reads the database.
    pub(super) async fn remember(&self, code: &ShortCode, link: &CachedLink, newest_change: &str) {
        let keys = self.redis.keys();
        let mut call = scripts::CACHE_LINK.call(&[&keys.state(), &keys.link(code)]);
        call.arg(newest_change)
            .arg(encode(link, &self.redis.replication_id()))
            .arg(LINK_EXPIRY.as_secs());
        let _: Result<bool, RedisFailure> = self.connection.query(&call).await;
    }

    pub(super) async fn forget(
        &self,
        codes: &[ShortCode],
    ) -> Result<InvalidationCursor, RedisFailure> {
        let keys = self.redis.keys();
        let (state, changes) = (keys.state(), keys.changes());
        let links: Vec<_> = codes.iter().map(|code| keys.link(code)).collect();
        let mut all = vec![state.as_str(), changes.as_str()];
        all.extend(links.iter().map(String::as_str));
        let mut call = scripts::ANNOUNCE_CHANGES.call(&all);
        call.arg(self.redis.process())
            .arg(self.redis.now().micros());
        for code in codes {
            call.arg(code.as_str());
        }
        let asked = Instant::now();
        let state = self.connection.query(&call).await?;
        Ok(self.observed(asked, state))
    }

    /// Where changes stand, for whoever waits to know.
    pub(super) async fn state(&self) -> Result<InvalidationCursor, RedisFailure> {
        let asked = Instant::now();
        let state = match self.connection.query(&self.state_call()).await {
            // It may still be connecting, where the pool has a connection.
            Err(RedisFailure::Refused(_) | RedisFailure::Full(_)) => {
                let deadline = self.redis.deadline();
                self.redis.query(&self.state_call(), deadline).await?
            }
            answered => answered?,
        };
        Ok(self.observed(asked, state))
    }

    /// The same where nobody waits: an answer that is late says nothing of Redis, which stays up.
    pub(super) async fn state_at_leisure(&self) -> Result<InvalidationCursor, RedisFailure> {
        let asked = Instant::now();
        let state = self.redis.query(&self.state_call(), LEISURE).await?;
        Ok(self.observed(asked, state))
    }

    fn state_call(&self) -> Call {
        let mut call = scripts::READ_CHANGE.call(&[&self.redis.keys().state()]);
        call.arg(self.redis.process())
            .arg(self.redis.now().micros());
        call
    }

    fn observed(&self, asked: Instant, (epoch, change): (String, i64)) -> InvalidationCursor {
        InvalidationCursor {
            shard: self.redis.shard(),
            epoch,
            change,
            asked,
        }
    }

    /// The codes that changed after `known` up to `newest`; `None` when Redis does not know them all.
    pub(super) async fn changes(&self, known: i64, newest: i64) -> Option<Vec<ShortCode>> {
        let expected = newest
            .checked_sub(known)
            .filter(|count| (1..=MOST_CHANGES).contains(count))?;
        let mut range = redis::cmd("XRANGE");
        range
            .arg(self.redis.keys().changes())
            .arg(format!("({known}"))
            .arg(newest);
        let entries: Vec<(String, Vec<(String, String)>)> =
            self.connection.query(&Call::plain(range)).await.ok()?;
        let codes: Vec<_> = entries
            .iter()
            .flat_map(|(_, fields)| fields)
            .filter_map(|(_, code)| ShortCode::parse(code))
            .collect();
        (i64::try_from(codes.len()) == Ok(expected)).then_some(codes)
    }
}

/// `life id active location`, in text, so that a person can read it with `redis-cli`. With the life of the
/// server: what an older Redis brings back was perhaps forgotten since.
fn encode(link: &CachedLink, life: &str) -> String {
    let active = u8::from(link.is_active);
    format!(
        "{life} {} {active} {}",
        link.id.number(),
        link.location.as_str()
    )
}

/// `None` for anything that [`encode`] does not write in this life.
pub(super) fn decode(stored: &str, life: &str, shard: Shard) -> Option<CachedLink> {
    let mut fields = stored.strip_prefix(life)?.strip_prefix(' ')?.splitn(3, ' ');
    let id = LinkId::parse(fields.next()?.parse().ok()?)?;
    let is_active = match fields.next()? {
        "1" => true,
        "0" => false,
        _ => return None,
    };
    let location = Location::parse(fields.next()?)?;
    Some(CachedLink {
        id,
        shard,
        location,
        is_active,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_link_comes_back_from_redis_as_it_went(id in 0..=LinkId::LAST.number(), is_active: bool, path in "[!-~]{0,50}") {
            let location = Location::parse(&format!("https://example.com/{path}")).unwrap();
            let link = CachedLink { id: LinkId::parse(id).unwrap(), shard: Shard::ONLY, location, is_active };
            prop_assert_eq!(decode(&encode(&link, "life"), "next", Shard::ONLY), None);
            prop_assert_eq!(decode(&encode(&link, "life"), "life", Shard::ONLY), Some(link));
        }

        #[test]
        fn anything_else_in_redis_is_a_miss(
            stored in prop_oneof![any::<String>(), "(life|lives)? [0-9+-]{1,20} [0-2] ?(https?|ftp)://[ -~ä]{0,20}"],
        ) {
            if let Some(link) = decode(&stored, "life", Shard::ONLY) {
                prop_assert_eq!(link.click().link(), link.id);
                prop_assert_eq!(decode(&encode(&link, "life"), "life", Shard::ONLY), Some(link));
            }
        }
    }
}
