//! Before a Redis is used, at start and whenever it was away: is it ours, and is it older than it was?
//!
//! Links have the same numbers in every database, so a data set belongs to the one that used it first.
//!
//! A snapshot after a power failure, or a replica that lagged and took over, brings back clicks that are
//! written back already. The ledger knows: then the data set begins a new epoch (rule 7 in
//! [`crate::clicks`]). Where it knows of none, what was on its way to it then is fenced off first: it would count
//! what is pending here as well, or pass for a flush of this life.

use crate::redis::keys::Keys;
use crate::redis::{Call, Candidate, FindMasterError, RedisFailure, RedisShard, scripts};
use crate::store::{Clicks, Fence, FlushId, StoreError};
use crate::telemetry::metrics::REDIS_STEPPED_BACK;

/// How often Redis is looked at again that moved on while the database was asked.
const TRIES: usize = 5;

/// What a data set says of itself.
struct DataSet {
    /// The newest flush that it began; the epoch is empty where there is none yet.
    newest: FlushId,
    /// The life of the server that it was last used in.
    life: Option<String>,
    /// Whether a flush of it was refused because it went on in another one (see `abandon_flush.lua`).
    went_on_elsewhere: bool,
    /// The database whose clicks it gathers, see [`Database::installation`](crate::store::Database::installation).
    owner: Option<String>,
}

/// Epoch, newest flush, life, whether the data set went on in another one, and whose it is.
type Looked = (
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<u8>,
    Option<String>,
);

/// A data set that is let in.
struct Admitted {
    /// From now on.
    epoch: String,
    /// Links whose pending clicks were dropped, where the data set was older than it had been.
    dropped: Option<u64>,
    /// Whether it was let in here, with the fence that was given, and not by another instance.
    is_mine: bool,
}

/// Why a Redis is not used yet.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// There is none to be looked at.
    #[error(transparent)]
    FindMasterError(#[from] FindMasterError),
    /// It is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// It was started again, and the database cannot be asked what is written back.
    #[error("it cannot be told whether Redis is older than it was: {0}")]
    Store(#[from] StoreError),
    /// Its links have the same numbers as ours, and its clicks would be taken for theirs.
    #[error(
        "the data set {0} belongs to another database; give another REDIS_PREFIX, or remove it if that database is gone"
    )]
    Foreign(String),
    /// Others use it already and faster than it can be looked at.
    #[error("Redis changes faster than it can be looked at")]
    Busy,
}

/// Looks for the Redis and lets it in; what may be counted already is dropped from it, once for all
/// instances.
///
/// # Errors
/// [`RecoveryError`]; it is not used then.
pub async fn recover(
    redis: &RedisShard,
    clicks: &dyn Clicks,
    installation: &str,
) -> Result<(), RecoveryError> {
    let mut candidate = redis.find_master().await?;
    for _ in 0..TRIES {
        let data_set = look(&mut candidate, redis.keys()).await?;
        match &data_set.owner {
            Some(owner) if owner == installation => {}
            Some(_) => return Err(RecoveryError::Foreign(redis.keys().tag().to_owned())),
            None => {
                claim(&mut candidate, redis.keys(), installation).await?;
                continue;
            }
        }
        let fence = fence(&data_set, candidate.replication_id(), clicks).await?;
        let admitted = let_in(&mut candidate, redis, &data_set, fence).await;
        let may_be_mine = matches!(
            admitted,
            Ok(Some(Admitted { is_mine: true, .. })) | Err(RedisFailure::NoAnswer(_))
        );
        if let (Some(Fence::Below { number, .. }), false) = (fence, may_be_mine) {
            // Others were faster and go by theirs, or it is none to be let in: left behind, the fence would tell the
            // next life that the data set went on in this one.
            let number = FlushId {
                number,
                ..data_set.newest
            };
            clicks.lift_fence(&number).await?;
        }
        if let Some(admitted) = admitted? {
            if let Some(links) = admitted.dropped {
                metrics::counter!(REDIS_STEPPED_BACK).increment(1);
                tracing::error!(
                    links,
                    "Redis came back older than it was: clicks pending in it may be counted already and are dropped"
                );
            }
            return Ok(redis.use_master(candidate, &admitted.epoch)?);
        }
    }
    Err(RecoveryError::Busy)
}

/// Whoever is first has it.
async fn claim(
    candidate: &mut Candidate,
    keys: &Keys,
    installation: &str,
) -> Result<(), RedisFailure> {
    let mut claim = redis::cmd("HSETNX");
    claim.arg(keys.state()).arg("database").arg(installation);
    candidate.query(&Call::plain(claim)).await
}

async fn look(candidate: &mut Candidate, keys: &Keys) -> Result<DataSet, RedisFailure> {
    let mut look = redis::cmd("HMGET");
    look.arg(keys.state())
        .arg(&["epoch", "flush", "life", "elsewhere", "database"]);
    let (epoch, number, life, elsewhere, owner): Looked =
        candidate.query(&Call::plain(look)).await?;
    Ok(DataSet {
        newest: FlushId {
            epoch: epoch.unwrap_or_default(),
            number: number.unwrap_or_default(),
        },
        life,
        went_on_elsewhere: elsewhere.is_some(),
        owner,
    })
}

/// What keeps flushes of other lives out; nothing where there can be none.
async fn fence(
    data_set: &DataSet,
    life: &str,
    clicks: &dyn Clicks,
) -> Result<Option<Fence>, StoreError> {
    // The same life: nothing can have happened to it, whatever kept this instance from it. One without an
    // epoch is empty.
    if data_set.life.as_deref() == Some(life) || data_set.newest.epoch.is_empty() {
        return Ok(None);
    }
    if data_set.went_on_elsewhere {
        return Ok(Some(Fence::Ahead));
    }
    clicks.fence(&data_set.newest, life).await.map(Some)
}

/// Nothing where the data set is no longer what it was when it was looked at.
async fn let_in(
    candidate: &mut Candidate,
    redis: &RedisShard,
    data_set: &DataSet,
    fence: Option<Fence>,
) -> Result<Option<Admitted>, RedisFailure> {
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
    let admitted: Option<(String, i64, bool)> = candidate.query(&call).await?;
    Ok(admitted.map(|(epoch, dropped, is_mine)| Admitted {
        epoch,
        dropped: u64::try_from(dropped).ok(),
        is_mine,
    }))
}
