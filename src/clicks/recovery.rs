//! Recovers a Redis before it is used: at the start, and after it was away.
//!
//! Recovery answers two questions (rule 7 in [`crate::clicks`]):
//!
//! * *Does the data set belong to this database?* Links have the same IDs in every database, so a data set belongs to the
//!   database that used it first. Another one is refused.
//! * *Was the data set rolled back?* A snapshot after a power failure, or a replica that lagged and took over, brings back
//!   clicks that are counted already. The ledger in the database shows that: it has flushes that the data set does not know.
//!   Then the pending clicks are dropped, and a new epoch begins. Otherwise a fence in the ledger refuses the flushes that
//!   were started before; they would count pending clicks twice, or be taken for new flushes.

use crate::redis::keys::Keys;
use crate::redis::{Call, Candidate, FindMasterError, RedisFailure, RedisShard, scripts};
use crate::store::{Clicks, Fence, FlushId, StoreError};
use crate::telemetry::metrics::{REDIS_ROLLED_BACK, counter_of_shard};

/// How often recovery starts again because the data set changed meanwhile.
const MAX_TRIES: usize = 5;

/// What a data set records about itself.
struct DataSet {
    /// Its newest flush; the epoch is empty if it has none yet.
    newest: FlushId,
    /// The replication ID of the server at the last recovery.
    replication_id: Option<String>,
    /// Whether the ledger refused a flush of it because the data set was continued on another server (see
    /// `abandon_flush.lua`).
    was_continued_elsewhere: bool,
    /// The database that it belongs to, see [`Database::installation`](crate::store::Database::installation).
    owner: Option<String>,
}

/// Epoch, newest flush, replication ID, whether the data set was continued elsewhere, and its database.
type StateFields = (
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<u8>,
    Option<String>,
);

/// A data set that may be used.
struct Recovered {
    /// Its epoch from now on.
    epoch: String,
    /// Links whose pending clicks were dropped, if the data set was rolled back.
    dropped: Option<u64>,
    /// Whether this instance recovered it, with its fence, and not another one.
    by_this_instance: bool,
}

/// Why a Redis cannot be used yet.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// No server was found.
    #[error(transparent)]
    FindMasterError(#[from] FindMasterError),
    /// It is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// The database with the ledger is away.
    #[error("the database cannot say whether Redis was rolled back: {0}")]
    Store(#[from] StoreError),
    /// The data set belongs to another database, whose links have the same IDs.
    #[error(
        "the data set {0} belongs to another database; give another REDIS_PREFIX, or remove it if that database is gone"
    )]
    Foreign(String),
    /// Other instances change the data set faster than it can be compared.
    #[error("Redis changes faster than it can be compared with the database")]
    Busy,
}

/// Finds the server of a data set, recovers the data set once for all instances, and uses it from then on.
///
/// # Errors
/// [`RecoveryError`]; the data set is not used then.
pub async fn recover(
    redis: &RedisShard,
    clicks: &dyn Clicks,
    installation: &str,
) -> Result<(), RecoveryError> {
    let mut candidate = redis.find_master().await?;
    for _ in 0..MAX_TRIES {
        let data_set = read_state(&mut candidate, redis.keys()).await?;
        match &data_set.owner {
            Some(owner) if owner == installation => {}
            Some(_) => return Err(RecoveryError::Foreign(redis.keys().tag().to_owned())),
            None => {
                claim(&mut candidate, redis.keys(), installation).await?;
                continue;
            }
        }
        let fence = fence(&data_set, candidate.replication_id(), clicks).await?;
        let recovered = recover_data_set(&mut candidate, redis, &data_set, fence).await;
        let may_use_fence = matches!(
            recovered,
            Ok(Some(Recovered {
                by_this_instance: true,
                ..
            })) | Err(RedisFailure::NoAnswer(_))
        );
        if let (Some(Fence::Below { number, .. }), false) = (fence, may_use_fence) {
            // Another instance recovered it with its own fence, or it cannot be recovered now. This fence would make the
            // next recovery believe that the data set was continued here.
            let number = FlushId {
                number,
                ..data_set.newest
            };
            clicks.lift_fence(&number).await?;
        }
        if let Some(recovered) = recovered? {
            if let Some(links) = recovered.dropped {
                counter_of_shard(REDIS_ROLLED_BACK, redis.shard()).increment(1);
                tracing::error!(
                    links,
                    "Redis was rolled back: clicks pending in it may be counted already and are dropped"
                );
            }
            return Ok(redis.use_master(candidate, &recovered.epoch)?);
        }
    }
    Err(RecoveryError::Busy)
}

/// Makes the data set belong to this database, unless it has one.
async fn claim(
    candidate: &mut Candidate,
    keys: &Keys,
    installation: &str,
) -> Result<(), RedisFailure> {
    let mut claim = redis::cmd("HSETNX");
    claim.arg(keys.state()).arg("database").arg(installation);
    candidate.query(&Call::plain(claim)).await
}

async fn read_state(candidate: &mut Candidate, keys: &Keys) -> Result<DataSet, RedisFailure> {
    let mut read = redis::cmd("HMGET");
    read.arg(keys.state())
        .arg(&["epoch", "flush", "life", "elsewhere", "database"]);
    let (epoch, number, replication_id, elsewhere, owner): StateFields =
        candidate.query(&Call::plain(read)).await?;
    Ok(DataSet {
        newest: FlushId {
            epoch: epoch.unwrap_or_default(),
            number: number.unwrap_or_default(),
        },
        replication_id,
        was_continued_elsewhere: elsewhere.is_some(),
        owner,
    })
}

/// Compares the data set with the ledger, and fences off the flushes that were started before. `None` if the server is still
/// the one that was recovered, or the data set is empty.
async fn fence(
    data_set: &DataSet,
    replication_id: &str,
    clicks: &dyn Clicks,
) -> Result<Option<Fence>, StoreError> {
    if data_set.replication_id.as_deref() == Some(replication_id)
        || data_set.newest.epoch.is_empty()
    {
        return Ok(None);
    }
    if data_set.was_continued_elsewhere {
        return Ok(Some(Fence::Ahead));
    }
    let fence = clicks.fence(&data_set.newest, replication_id).await?;
    Ok(Some(fence))
}

/// Recovers the data set in one script call. `None` if it changed since it was compared.
async fn recover_data_set(
    candidate: &mut Candidate,
    redis: &RedisShard,
    data_set: &DataSet,
    fence: Option<Fence>,
) -> Result<Option<Recovered>, RedisFailure> {
    let newest = &data_set.newest;
    let (below, newest_is_over) = match fence {
        Some(Fence::Below {
            number,
            newest_is_over,
        }) => (number, newest_is_over),
        Some(Fence::Ahead) | None => (newest.number, false),
    };
    let keys = redis.keys();
    let mut call = scripts::RECOVER_DATA_SET.call(&[
        &keys.state(),
        &keys.pending(),
        &keys.flushing(),
        &keys.changes(),
    ]);
    call.arg(redis.process())
        .arg(redis.now().micros())
        .arg(candidate.replication_id())
        .arg(&newest.epoch)
        .arg(newest.number)
        .arg(u8::from(fence == Some(Fence::Ahead)))
        .arg(keys.flush_prefix())
        .arg(below)
        .arg(u8::from(newest_is_over));
    let recovered: Option<(String, i64, bool)> = candidate.query(&call).await?;
    Ok(
        recovered.map(|(epoch, dropped, by_this_instance)| Recovered {
            epoch,
            dropped: u64::try_from(dropped).ok(),
            by_this_instance,
        }),
    )
}
