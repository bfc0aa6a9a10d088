//! What a worker's table and the process do not hold is asked of Redis: while one question is on its way,
//! the next one gathers, as clicks do. One round trip serves many visitors.

use std::sync::Arc;

use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};

use super::CachedLink;
use super::redis_tier::decode;
use crate::domain::ShortCode;
use crate::redis::{Call, DedicatedConnection, RedisShard};

/// Codes asked for with one command at most.
const AT_ONCE: usize = 256;

/// Visitors that may wait to be taken along; more wait to wait.
const QUEUE: usize = 1_024;

/// What Redis says of a code.
#[derive(Default)]
pub(super) struct RedisLookup {
    pub(super) link: Option<CachedLink>,
    /// Number of the newest change, empty where there was none yet; `None` where Redis does not answer.
    pub(super) newest_change: Option<Arc<str>>,
}

/// A code that is asked for, and where its answer goes.
struct QueuedLookup {
    code: ShortCode,
    answer: oneshot::Sender<RedisLookup>,
}

/// Where codes are asked for; cheap to clone.
#[derive(Clone)]
pub(super) struct LookupQueue(mpsc::Sender<QueuedLookup>);

/// Asks Redis for the codes of one worker's misses.
pub struct LookupBatcher {
    redis: RedisShard,
    connection: Arc<DedicatedConnection>,
    misses: mpsc::Receiver<QueuedLookup>,
}

impl LookupQueue {
    /// Both ends; without the second one every code is a miss in Redis, too.
    pub(super) fn new(
        redis: RedisShard,
        connection: Arc<DedicatedConnection>,
    ) -> (Self, LookupBatcher) {
        let (sender, misses) = mpsc::channel(QUEUE);
        let asked = LookupBatcher {
            redis,
            connection,
            misses,
        };
        (Self(sender), asked)
    }

    /// What Redis says of the code. Waits for the question that is on its way, for those of whoever waits already
    /// ([`AT_ONCE`] codes in each) and for its own: a deadline of Redis each at most.
    pub(super) async fn get(&self, code: &ShortCode) -> RedisLookup {
        let (answer, answered) = oneshot::channel();
        let code = code.clone();
        // Should nobody ask any more, the database knows.
        let _ = self.0.send(QueuedLookup { code, answer }).await;
        answered.await.unwrap_or_default()
    }
}

impl LookupBatcher {
    /// Asks question after question, until nobody is left who could ask.
    pub async fn run(mut self) {
        let mut misses = Vec::with_capacity(AT_ONCE);
        while self.misses.recv_many(&mut misses, AT_ONCE).await > 0 {
            let (newest_change, found) = self.ask(&misses).await.unzip();
            let newest_change: Option<Arc<str>> = newest_change.map(String::into);
            let found = found.unwrap_or_default().into_iter();
            // After the answer: what an older life cached is not believed, should a new one have begun.
            let life = self.redis.replication_id();
            for (miss, stored) in misses.drain(..).zip(found.chain(std::iter::repeat(None))) {
                let link = stored.and_then(|stored| decode(&stored, &life, self.redis.shard()));
                // Whoever is gone does not want to know.
                let _ = miss.answer.send(RedisLookup {
                    link,
                    newest_change: newest_change.clone(),
                });
            }
        }
    }

    /// `None` where Redis fails: the database knows.
    async fn ask(&self, misses: &[QueuedLookup]) -> Option<(String, Vec<Option<String>>)> {
        let keys = self.redis.keys();
        let mut newest_change = redis::cmd("HGET");
        newest_change.arg(keys.state()).arg("change");
        let mut get = redis::cmd("MGET");
        for miss in misses {
            get.arg(keys.link(&miss.code));
        }
        // Two commands in one round trip: a script would cost Redis more.
        let (newest_change, get) = (Call::plain(newest_change), Call::plain(get));
        let (newest_change, links): (Result<Option<String>, _>, _) = join(
            self.connection.query(&newest_change),
            self.connection.query(&get),
        )
        .await;
        Some((newest_change.ok()?.unwrap_or_default(), links.ok()?))
    }
}
