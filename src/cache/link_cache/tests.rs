use std::time::Duration;

use super::*;
use crate::cache::cursor::InvalidationCursor;
use crate::domain::{Clock, SystemClock};
use crate::shared_redis::{Layout, RedisServers, Term};

fn cache() -> LinkCache {
    shards_and_cache().1
}

fn shards_and_cache() -> (RedisShards, LinkCache) {
    // No server listens there, and these tests need no server.
    let url = "redis://127.0.0.1:1".to_owned();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let servers = RedisServers::parse(&[url]).unwrap();
    let deadline = Duration::from_secs(1);
    let redis = RedisShards::new(&servers, Layout::Single, "test", deadline, &clock);
    let cache = LinkCache::new(CacheLimits::of_a_test(), Some(&redis));
    (redis, cache)
}

fn cursor(number: i64, epoch: &str, change: i64) -> InvalidationCursor {
    let epoch = epoch.into();
    InvalidationCursor {
        shard: Shard::ONLY,
        term: Arc::new(Term { number, epoch }),
        change,
        asked: Instant::now(),
    }
}

/// Whether cached links were removed because of this.
async fn invalidates(cache: &LinkCache, cursor: InvalidationCursor) -> bool {
    let version = cache.version();
    cache.catch_up_to(&cursor).await;
    cache.version() != version
}

#[tokio::test]
async fn a_loss_of_data_is_noticed_once_however_late_the_last_reply_from_before_comes() {
    let cache = cache();
    assert!(invalidates(&cache, cursor(1, "first", 10)).await);
    assert!(invalidates(&cache, cursor(2, "second", 20)).await);
    assert!(!invalidates(&cache, cursor(1, "first", 10)).await);
    assert!(!invalidates(&cache, cursor(2, "second", 20)).await);
}

#[tokio::test]
async fn a_redis_that_does_not_say_which_links_changed_is_away() {
    let (redis, cache) = shards_and_cache();
    let shard = redis.iter().next().unwrap();
    // Taken for up, although no server was found yet.
    shard.recovered();
    cache.synchronise_unless_away(Shard::ONLY).await;
    assert!(!shard.is_up());
}

#[tokio::test]
async fn a_redis_that_comes_back_in_an_earlier_epoch_is_noticed() {
    let cache = cache();
    for (term, epoch, change) in [(1, "first", 10), (2, "second", 20), (3, "first", 1_000_010)] {
        assert!(invalidates(&cache, cursor(term, epoch, change)).await);
    }
}
