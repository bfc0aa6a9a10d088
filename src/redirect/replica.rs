//! Which of a replica's answers may be believed.
//!
//! A replica lags behind, and the contract leaves no room for that: a link whose deletion was answered is
//! never served again, and a link that was made is found. So:
//!
//! 1. A code that the replica does not know, or whose link is inactive there, says nothing: the primary is
//!    asked. No link is missed, and no unknown code is remembered on a replica's word.
//! 2. A link that the replica knows is believed where the replica has replayed every change that Redis had
//!    been told of before this look-up began. A change is committed, then told, then answered; and Redis
//!    gives each a number that never comes twice. Whoever reads the number `n` from Redis, and *after that*
//!    the position of the primary, has a position that covers every change up to `n`. That pair is kept here.
//!    A look-up that reads `n`, too, may believe a replica that has replayed up to that position; one that
//!    reads another number asks the primary, and with the same statement makes the next pair.
//! 3. What happens after the number was read is for the rest of the road, as with a look-up on the primary:
//!    nothing is remembered that a change overtook, and the visitor looks again.
//!
//! So the replica is not asked before there is a pair (after the start, after a change, after Redis was
//! emptied), nor while Redis is away. A pair is used for a few seconds, then made anew: so long, and no
//! longer, a replica that lags may show a deletion as not made that nobody could tell Redis of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cache::ChangeMark;
use crate::domain::{LinkTarget, Shard, ShortCode};
use crate::store::{PostgresReplica, StoreError, WalPosition};

/// How long a pair is used.
const USED_FOR: Duration = Duration::from_secs(10);

/// Look-ups on a replica, and on its primary where the replica cannot be believed.
pub struct ReplicaReads {
    /// Both of them.
    database: Arc<PostgresReplica>,
    /// The newest pair of each shard.
    pairs: Mutex<HashMap<Shard, Pair>>,
}

/// A position that covers all changes up to a number.
struct Pair {
    told: ChangeMark,
    position: WalPosition,
    made_at: Instant,
}

impl Pair {
    fn is_for(&self, told: &ChangeMark) -> bool {
        self.told == *told && self.made_at.elapsed() < USED_FOR
    }
}

impl ReplicaReads {
    /// Of this primary and this replica.
    #[must_use]
    pub fn new(database: Arc<PostgresReplica>) -> Self {
        Self {
            database,
            pairs: Mutex::default(),
        }
    }

    /// Whether the replica is worth asking.
    pub(super) fn is_up(&self) -> bool {
        self.database.is_up()
    }

    /// A link that the replica knows for certain; `None` says nothing.
    pub(super) async fn link(&self, code: &ShortCode, told: &ChangeMark) -> Option<LinkTarget> {
        let position = {
            let pairs = self.pairs();
            let pair = pairs.get(&told.shard).filter(|pair| pair.is_for(told))?;
            pair.position
        };
        self.database.on_replica(code, position).await
    }

    /// What the primary knows, and a pair for those who come after.
    pub(super) async fn link_on_primary(
        &self,
        code: &ShortCode,
        told: ChangeMark,
    ) -> Result<Option<LinkTarget>, StoreError> {
        let made_at = Instant::now();
        let (link, position) = self.database.on_primary(code).await?;
        let mut pairs = self.pairs();
        // An older pair for the same number asks less of the replica and is as good.
        if !pairs
            .get(&told.shard)
            .is_some_and(|pair| pair.is_for(&told))
        {
            let shard = told.shard;
            let pair = Pair {
                told,
                position,
                made_at,
            };
            pairs.insert(shard, pair);
        }
        Ok(link)
    }

    fn pairs(&self) -> MutexGuard<'_, HashMap<Shard, Pair>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
