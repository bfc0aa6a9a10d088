//! Reads from a replica, as far as its state is recent enough.
//!
//! A replica lags behind, and the contract leaves no room for that: a link is never served again after its deletion was
//! answered, and a link is found as soon as it was created. So:
//!
//! 1. A code that is unknown or inactive on the replica is looked up on the primary. No link is missed, and no unknown code
//!    is cached because of the replica.
//! 2. A link on the replica is used if the replica has replayed every change that was published in Redis before this
//!    look-up began. A change is committed, then published, then answered, and Redis gives each change a number that never
//!    comes twice. A reader that gets the number `n` from Redis, and *after that* the position of the primary, has a
//!    position that covers every change up to `n`. That pair is kept here. A later look-up that reads `n`, too, may use a
//!    replica that has replayed up to the position. A look-up that reads another number asks the primary, and gets the next
//!    pair by the same statement.
//! 3. Changes after the number was read are handled as after a look-up on the primary: a link is not cached if a change
//!    overtook it, and the redirect path resolves the code again.
//!
//! So the replica is not asked before there is a pair (after the start, after a change, after Redis lost its data), nor
//! while Redis is away. A pair is used for a few seconds and then renewed: for so long, a replica that lags may show a link
//! whose deletion could not be published in Redis.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cache::ChangeMark;
use crate::domain::{LinkTarget, Shard, ShortCode};
use crate::store::{PostgresReplica, StoreError, WalPosition};

/// How long a pair is used.
const PAIR_TTL: Duration = Duration::from_secs(10);

/// Look-ups on a replica, and on its primary if the replica may be too old.
pub struct ReplicaReads {
    /// The primary and the replica.
    database: Arc<PostgresReplica>,
    /// The newest pair of each shard.
    pairs: Mutex<HashMap<Shard, Pair>>,
}

/// A position of the primary that covers all changes up to a mark.
struct Pair {
    mark: ChangeMark,
    position: WalPosition,
    read_at: Instant,
}

impl Pair {
    fn is_for(&self, mark: &ChangeMark) -> bool {
        self.mark == *mark && self.read_at.elapsed() < PAIR_TTL
    }
}

impl ReplicaReads {
    /// Reads from this primary and this replica.
    #[must_use]
    pub fn new(database: Arc<PostgresReplica>) -> Self {
        Self {
            database,
            pairs: Mutex::default(),
        }
    }

    /// Whether the replica can be reached.
    pub(super) fn is_up(&self) -> bool {
        self.database.is_up()
    }

    /// A link on the replica, if its state is recent enough; `None` leaves the question to the primary.
    pub(super) async fn link(&self, code: &ShortCode, mark: &ChangeMark) -> Option<LinkTarget> {
        let position = {
            let pairs = self.pairs();
            let pair = pairs.get(&mark.shard).filter(|pair| pair.is_for(mark))?;
            pair.position
        };
        self.database.on_replica(code, position).await
    }

    /// The link on the primary; keeps a pair for later look-ups.
    pub(super) async fn link_on_primary(
        &self,
        code: &ShortCode,
        mark: ChangeMark,
    ) -> Result<Option<LinkTarget>, StoreError> {
        let read_at = Instant::now();
        let (link, position) = self.database.on_primary(code).await?;
        let mut pairs = self.pairs();
        // An older pair for the same number demands less of the replica and is as good.
        if !pairs
            .get(&mark.shard)
            .is_some_and(|pair| pair.is_for(&mark))
        {
            let shard = mark.shard;
            let pair = Pair {
                mark,
                position,
                read_at,
            };
            pairs.insert(shard, pair);
        }
        Ok(link)
    }

    fn pairs(&self) -> MutexGuard<'_, HashMap<Shard, Pair>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
