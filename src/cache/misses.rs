//! What a worker's table and the process do not hold is asked of Redis: while one question is on its way,
//! the next one gathers, as clicks do. One command and one round trip serve many visitors.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::CachedLink;
use super::remote::decode;
use crate::domain::ShortCode;
use crate::shared::{Call, Lane, SharedRedis};

/// Codes asked for with one command at most.
const AT_ONCE: usize = 256;

/// Visitors that may wait to be taken along; more wait to wait.
const QUEUE: usize = 1_024;

/// A code that is asked for, and where its answer goes.
struct Miss {
    code: ShortCode,
    answer: oneshot::Sender<Option<CachedLink>>,
}

/// Where codes are asked for; cheap to clone.
#[derive(Clone)]
pub(super) struct Misses(mpsc::Sender<Miss>);

/// Asks Redis for the codes of one worker's misses.
pub struct MissesAsked {
    redis: SharedRedis,
    lane: Arc<Lane>,
    misses: mpsc::Receiver<Miss>,
}

impl Misses {
    /// Both ends; without the second one every code is a miss in Redis, too.
    pub(super) fn new(redis: SharedRedis, lane: Arc<Lane>) -> (Self, MissesAsked) {
        let (sender, misses) = mpsc::channel(QUEUE);
        let asked = MissesAsked {
            redis,
            lane,
            misses,
        };
        (Self(sender), asked)
    }

    /// What Redis holds for the code. Waits for two deadlines of Redis at most: of the question that is on
    /// its way, and of its own.
    pub(super) async fn get(&self, code: &ShortCode) -> Option<CachedLink> {
        let (answer, answered) = oneshot::channel();
        let code = code.clone();
        self.0.send(Miss { code, answer }).await.ok()?;
        answered.await.ok()?
    }
}

impl MissesAsked {
    /// Asks question after question, until nobody is left who could ask.
    pub async fn run(mut self) {
        let mut misses = Vec::with_capacity(AT_ONCE);
        while self.misses.recv_many(&mut misses, AT_ONCE).await > 0 {
            let found = self.ask(&misses).await.unwrap_or_default();
            let found = found.into_iter().chain(std::iter::repeat(None));
            // After the answer: what an older life cached is not believed, should a new one have begun.
            let life = self.redis.life();
            for (miss, stored) in misses.drain(..).zip(found) {
                let link = stored.and_then(|stored| decode(&stored, &life, self.redis.shard()));
                // Whoever is gone does not want to know.
                let _ = miss.answer.send(link);
            }
        }
    }

    /// `None` where Redis fails: the database knows.
    async fn ask(&self, misses: &[Miss]) -> Option<Vec<Option<String>>> {
        let mut get = redis::cmd("MGET");
        for miss in misses {
            get.arg(self.redis.keys().link(&miss.code));
        }
        self.lane.query(&Call::plain(get)).await.ok()
    }
}
