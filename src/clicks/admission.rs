//! Before a Redis is used, at start and whenever it was away: is it ours, and is it older than it was?
//!
//! Links have the same numbers in every database, so a data set belongs to the one that used it first.
//!
//! A snapshot after a power failure, or a replica that lagged and took over, brings back clicks that are
//! written back already. The ledger knows: then the data set begins a new epoch (rule 7 in
//! [`crate::clicks`]). Where it knows of none, what was on its way to it then is fenced off first: it would count
//! what is pending here as well, or pass for a flush of this life.

use std::sync::LazyLock;

use crate::domain::Timestamp;
use crate::shared::{Call, NotOpened, RedisFailure, Script, SharedRedis};
use crate::store::{Clicks, Fence, FlushId, StoreError};
use crate::telemetry::metrics::REDIS_STEPPED_BACK;

/// How often Redis is looked at again that moved on while the database was asked.
const TRIES: usize = 5;

static ADMIT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../state.lua"),
        include_str!("admit.lua")
    ))
});

/// Epoch, newest flush, life, whether the data set went on in another one, and whose it is.
type Looked = (
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<u8>,
    Option<String>,
);

/// Why a Redis is not used yet.
#[derive(Debug, thiserror::Error)]
pub enum NotAdmitted {
    /// There is none to be looked at.
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
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
/// [`NotAdmitted`]; it is not used then.
pub async fn admit(redis: &SharedRedis, clicks: &dyn Clicks) -> Result<(), NotAdmitted> {
    let mut door = redis.knock().await?;
    let keys = redis.keys();
    for _ in 0..TRIES {
        let mut look = redis::cmd("HMGET");
        look.arg(keys.state())
            .arg(&["epoch", "flush", "life", "elsewhere", "database"]);
        let (epoch, flush, life, elsewhere, database): Looked =
            door.query(&Call::plain(look)).await?;
        match database {
            Some(database) if database == clicks.installation() => {}
            Some(_) => return Err(NotAdmitted::Foreign(keys.tag().to_owned())),
            None => {
                // Whoever is first has it.
                let mut claim = redis::cmd("HSETNX");
                claim
                    .arg(keys.state())
                    .arg("database")
                    .arg(clicks.installation());
                door.query::<bool>(&Call::plain(claim)).await?;
                continue;
            }
        }
        let newest = FlushId {
            epoch: epoch.unwrap_or_default(),
            number: flush.unwrap_or_default(),
        };
        // The same life: nothing can have happened to it, whatever kept this instance from it. One without an
        // epoch is empty.
        let is_known = life.as_deref() == Some(door.life()) || newest.epoch.is_empty();
        let fence = match (is_known, elsewhere) {
            (true, _) => None,
            (false, Some(_)) => Some(Fence::Ahead),
            (false, None) => Some(clicks.fence(&newest, door.life()).await?),
        };
        let (below, newest_is_over) = match fence {
            Some(Fence::Below {
                number,
                newest_is_over,
            }) => (number, newest_is_over),
            _ => (newest.number, false),
        };
        let mut call = ADMIT.call(&[
            &keys.state(),
            &keys.pending(),
            &keys.flushing(),
            &keys.changes(),
        ]);
        call.arg(redis.process())
            .arg(Timestamp::now().0)
            .arg(door.life())
            .arg(&newest.epoch)
            .arg(newest.number)
            .arg(u8::from(fence == Some(Fence::Ahead)))
            .arg(keys.flush_prefix())
            .arg(below)
            .arg(u8::from(newest_is_over));
        let admitted: Option<(String, i64, bool)> = door.query(&call).await?;
        let is_mine = matches!(admitted, Some((.., true)));
        if let (Some(Fence::Below { number, .. }), false) = (fence, is_mine) {
            // Others were faster, and go by theirs.
            let number = FlushId { number, ..newest };
            clicks.lift_fence(&number).await?;
        }
        if let Some((epoch, dropped, _)) = admitted {
            if dropped >= 0 {
                metrics::counter!(REDIS_STEPPED_BACK).increment(1);
                tracing::error!(
                    links = dropped,
                    "Redis came back older than it was: clicks pending in it may be counted already and are dropped"
                );
            }
            return Ok(redis.admit(door, &epoch)?);
        }
    }
    Err(NotAdmitted::Busy)
}
