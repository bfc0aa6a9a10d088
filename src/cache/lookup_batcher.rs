//! Look-ups in Redis, gathered into batches: while one round trip is under way, the codes of the next one gather. So one
//! round trip serves many requests.

use std::sync::Arc;

use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};

use super::link::CachedLink;
use super::stored_link::decode;
use crate::domain::ShortCode;
use crate::redis::{Call, DedicatedConnection, RedisShard};

/// Max codes in one command.
const MAX_BATCH: usize = 256;

/// Look-ups that may be queued; further requests wait for room in the queue.
const QUEUE: usize = 1_024;

/// The result of a look-up in Redis.
#[derive(Default)]
pub(super) struct RedisLookup {
    pub(super) link: Option<CachedLink>,
    /// Number of the newest change, empty where there was none yet; `None` where Redis fails.
    pub(super) newest_change: Option<Arc<str>>,
}

/// A code to look up, and where its result goes.
struct QueuedLookup {
    code: ShortCode,
    result: oneshot::Sender<RedisLookup>,
}

/// The sending end of the queue of look-ups; cheap to clone.
#[derive(Clone)]
pub(super) struct LookupQueue(mpsc::Sender<QueuedLookup>);

/// Looks up in Redis the codes that one worker and the process do not have.
pub struct LookupBatcher {
    redis: RedisShard,
    connection: Arc<DedicatedConnection>,
    queue: mpsc::Receiver<QueuedLookup>,
}

impl LookupQueue {
    /// Both ends of the queue. Without the batcher every look-up is a miss.
    pub(super) fn new(
        redis: RedisShard,
        connection: Arc<DedicatedConnection>,
    ) -> (Self, LookupBatcher) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let batcher = LookupBatcher {
            redis,
            connection,
            queue,
        };
        (Self(sender), batcher)
    }

    /// Looks a code up. Waits for the round trip under way, for those of the look-ups queued before ([`MAX_BATCH`] codes
    /// each) and for its own; each takes the deadline of Redis at most.
    pub(super) async fn get(&self, code: &ShortCode) -> RedisLookup {
        let (result, receiver) = oneshot::channel();
        let code = code.clone();
        // Without a batcher it is a miss, and the database is read.
        let _ = self.0.send(QueuedLookup { code, result }).await;
        receiver.await.unwrap_or_default()
    }
}

impl LookupBatcher {
    /// Sends batch after batch, until all senders are dropped.
    pub async fn run(mut self) {
        let mut lookups = Vec::with_capacity(MAX_BATCH);
        while self.queue.recv_many(&mut lookups, MAX_BATCH).await > 0 {
            let (newest_change, found) = self.look_up(&lookups).await.unzip();
            let newest_change: Option<Arc<str>> = newest_change.map(String::into);
            let found = found.unwrap_or_default().into_iter();
            // Read after the reply: links cached before a restart or take-over meanwhile do not count.
            let replication_id = self.redis.replication_id();
            for (lookup, stored) in lookups.drain(..).zip(found.chain(std::iter::repeat(None))) {
                let link =
                    stored.and_then(|stored| decode(&stored, &replication_id, self.redis.shard()));
                // The request may be gone.
                let _ = lookup.result.send(RedisLookup {
                    link,
                    newest_change: newest_change.clone(),
                });
            }
        }
    }

    /// Number of the newest change, and the stored link of each code; `None` where Redis fails.
    async fn look_up(&self, lookups: &[QueuedLookup]) -> Option<(String, Vec<Option<String>>)> {
        let keys = self.redis.keys();
        let mut newest_change = redis::cmd("HGET");
        newest_change.arg(keys.state()).arg("change");
        let mut get = redis::cmd("MGET");
        for lookup in lookups {
            get.arg(keys.link(&lookup.code));
        }
        // Two commands in one round trip cost Redis less than a script.
        let (newest_change, get) = (Call::plain(newest_change), Call::plain(get));
        let (newest_change, links): (Result<Option<String>, _>, _) = join(
            self.connection.query(&newest_change),
            self.connection.query(&get),
        )
        .await;
        Some((newest_change.ok()?.unwrap_or_default(), links.ok()?))
    }
}
