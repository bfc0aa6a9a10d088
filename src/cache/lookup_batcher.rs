//! Look-ups in Redis, gathered into batches: while one round trip is under way, the codes of the next one gather. So one
//! round trip serves many requests.

use std::sync::Arc;

use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};

use super::link::CachedLink;
use super::stored_link::decode;
use crate::domain::ShortCode;
use crate::shared_redis::{Call, DedicatedConnection, RedisShard};

/// Max codes in one command.
const MAX_BATCH: usize = 256;

/// Look-ups that may be queued; more requests wait for room in the queue.
const QUEUE: usize = 1_024;

/// The result of a look-up in Redis.
#[derive(Default)]
pub(super) struct RedisLookup {
    pub(super) link: Option<CachedLink>,
    /// `None` if Redis fails.
    pub(super) state: Option<Arc<TierState>>,
}

/// What was read just before the links.
pub(super) struct TierState {
    /// Number of the newest change.
    pub(super) change: String,
    /// The first word of valid links. It is never used twice, even if Redis is rolled back.
    pub(super) generation: String,
}

/// A code to look up, and the receiver of its result.
struct QueuedLookup {
    code: ShortCode,
    result: oneshot::Sender<RedisLookup>,
}

/// The sending end of the queue of look-ups; cheap to clone.
#[derive(Clone)]
pub(super) struct LookupQueue(mpsc::Sender<QueuedLookup>);

/// Looks up in Redis the codes that one worker and the process do not have.
pub struct LookupBatcher {
    shard: RedisShard,
    connection: Arc<DedicatedConnection>,
    queue: mpsc::Receiver<QueuedLookup>,
}

impl LookupQueue {
    /// Both ends of the queue. Without the batcher every look-up is a miss.
    pub(super) fn new(
        shard: RedisShard,
        connection: Arc<DedicatedConnection>,
    ) -> (Self, LookupBatcher) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let batcher = LookupBatcher {
            shard,
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
            let (state, found) = self.look_up(&lookups).await.unzip();
            let state = state.map(Arc::new);
            let found = found.unwrap_or_default().into_iter();
            for (lookup, stored) in lookups.drain(..).zip(found.chain(std::iter::repeat(None))) {
                let shard = self.shard.shard();
                let link = stored
                    .zip(state.as_ref())
                    .and_then(|(stored, state)| decode(&stored, &state.generation, shard));
                // The request may be gone.
                let _ = lookup.result.send(RedisLookup {
                    link,
                    state: state.clone(),
                });
            }
        }
    }

    /// The state and the stored link of each code; `None` if Redis fails.
    async fn look_up(&self, lookups: &[QueuedLookup]) -> Option<(TierState, Vec<Option<String>>)> {
        let keys = self.shard.keys();
        let mut state = redis::cmd("HMGET");
        state.arg(keys.state()).arg(&["change", "generation"]);
        let mut get = redis::cmd("MGET");
        for lookup in lookups {
            get.arg(keys.link(&lookup.code));
        }
        // Two commands in one round trip cost Redis less than a script.
        let (state, get) = (Call::plain(state), Call::plain(get));
        let (state, links): (Result<(Option<String>, Option<String>), _>, _) =
            join(self.connection.query(&state), self.connection.query(&get)).await;
        let (change, generation) = state.ok()?;
        let state = TierState {
            change: change?,
            generation: generation?,
        };
        Some((state, links.ok()?))
    }
}
