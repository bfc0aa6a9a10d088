//! Recovers a Redis before it is used: at the start, and after it was away (rule 7 in [`crate::clicks`]).
//!
//! A data set belongs to the database that used it first, since links have the same IDs in every database. Another one is
//! refused.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::domain::Shard;
use crate::shared_redis::keys::Keys;
use crate::shared_redis::{
    Call, Candidate, FindMasterError, RedisFailure, RedisShard, Term, scripts,
};
use crate::store::{DataSet, Raise, Store, StoreError};
use crate::telemetry::metrics::{REDIS_ROLLED_BACK, counter_of_shard};

/// How often recovery starts again because the data set or the ledger changed meanwhile.
const MAX_TRIES: usize = 10;

/// How long another instance has to note in Redis a term that it raised.
const NOTING_TIME: Duration = Duration::from_millis(100);

/// How long the database may take to read the ledger.
const LEDGER_TIMEOUT: Duration = Duration::from_millis(500);

/// Terms from here on are not believed: scripts could not tell them apart.
const TERM_LIMIT: i64 = 1 << 52;

/// What a data set notes about itself.
struct State {
    /// `None` in an empty Redis.
    epoch: Option<String>,
    /// `None` also where scripts found the data set to be rolled back.
    term: Option<i64>,
    /// The replication ID of the server that the term is for.
    replication_id: Option<String>,
}

/// Database, epoch, term and replication ID.
type StateFields = (Option<String>, Option<String>, Option<i64>, Option<String>);

/// What became of the attempt to note a new term.
enum NotedTerm {
    /// The data set is used in this term. Has the links whose pending clicks were dropped, if any had to be, and whether
    /// scripts had found the data set to be rolled back.
    Used { dropped: i64, found: bool },
    /// The ledger knows a later flush of this epoch than the data set does.
    Behind,
    /// The data set changed meanwhile.
    Moved,
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
    /// Another server keeps the data set now.
    #[error("another Redis has taken the place of this one")]
    Superseded,
    /// Other instances change the data set faster than it can be compared.
    #[error("Redis changes faster than it can be compared with the database")]
    Busy,
}

/// Whether the database could be asked about a data set that is taken into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ledger {
    /// It has the term in which the data set is used.
    Read,
    /// It is away: the data set is the one that was in use before, and so is its term or a later one.
    Away,
}

/// Finds the server of a data set, gives it a term unless it has the newest one, and uses it from then on.
///
/// # Errors
/// [`RecoveryError`]; the data set is not used then.
pub async fn recover(shard: &RedisShard, store: &Store) -> Result<Ledger, RecoveryError> {
    let keys = shard.keys();
    // Only an instance that starts takes a superseded server back into use: REDIS_URL may have been changed back.
    let is_starting = shard.term().is_err();
    let (mut superseded, mut has_waited) = (Vec::new(), false);
    let mut takes_superseded = false;
    for _ in 0..MAX_TRIES {
        let mut candidate = match shard.find_master(&superseded).await {
            Err(_) if !superseded.is_empty() && is_starting => {
                takes_superseded = true;
                superseded.clear();
                continue;
            }
            Err(_) if !superseded.is_empty() => {
                note_superseded(shard);
                return Err(RecoveryError::Superseded);
            }
            found => found?,
        };
        let state = read_state(&mut candidate, keys, store.installation()).await?;
        let server = candidate.replication_id().to_owned();
        let was_noted_here = state.replication_id.as_ref() == Some(&server);
        let in_use = match in_use(store, keys).await {
            Ok(in_use) => in_use,
            Err(error) => {
                // Without the database no instance can have raised the term since, unless it alone reaches it.
                let known = shard
                    .term()
                    .ok()
                    .filter(|_| was_noted_here && !shard.is_superseded());
                let (Some(known), Some(number), Some(epoch)) = (known, state.term, state.epoch)
                else {
                    return Err(error.into());
                };
                if number < known.number {
                    return Err(error.into());
                }
                let epoch = epoch.into();
                shard.use_master(candidate, Term { number, epoch })?;
                return Ok(Ledger::Away);
            }
        };
        if let Some(in_use) = &in_use {
            let is_for_this_server = in_use.replication_id == server;
            let is_noted = was_noted_here && state.term == Some(in_use.term);
            if is_noted && is_for_this_server && state.epoch.as_ref() == Some(&in_use.epoch) {
                shard.use_master(candidate, term_of(in_use))?;
                return Ok(Ledger::Read);
            }
            let is_older = state.term.is_some_and(|term| term < in_use.term);
            if is_older && was_noted_here && !is_for_this_server && !takes_superseded {
                superseded.push(server);
                continue;
            }
            // Another instance may be about to note this term.
            if is_for_this_server && !has_waited {
                has_waited = true;
                sleep(NOTING_TIME).await;
                continue;
            }
        }
        if let Some(term) = raise(shard, store, &mut candidate, &state, in_use).await? {
            shard.use_master(candidate, term)?;
            return Ok(Ledger::Read);
        }
    }
    Err(RecoveryError::Busy)
}

fn note_superseded(shard: &RedisShard) {
    if shard.note_superseded() {
        let data_set = shard.keys().tag();
        tracing::error!(
            data_set,
            "this Redis is not used any more: another server has taken its place. Clicks go to the database. Give every \
             instance the same REDIS_URL; an instance that starts with this one takes it back into use"
        );
    }
}

/// The data set in use, within a deadline.
async fn in_use(store: &Store, keys: &Keys) -> Result<Option<DataSet>, StoreError> {
    let late = |_| StoreError::Unavailable("the ledger could not be read in time".into());
    let reading = timeout(LEDGER_TIMEOUT, store.data_sets_in_use());
    let all = reading.await.map_err(late)??;
    Ok(all.into_iter().find(|data_set| data_set.tag == keys.tag()))
}

fn term_of(data_set: &DataSet) -> Term {
    Term {
        number: data_set.term,
        epoch: data_set.epoch.as_str().into(),
    }
}

/// Reads the state of a data set, which belongs to this database from now on unless it belongs to another one.
async fn read_state(
    candidate: &mut Candidate,
    keys: &Keys,
    installation: &str,
) -> Result<State, RecoveryError> {
    let mut claim = redis::cmd("HSETNX");
    claim.arg(keys.state()).arg("database").arg(installation);
    candidate.query::<()>(&Call::plain(claim)).await?;
    let mut read = redis::cmd("HMGET");
    read.arg(keys.state())
        .arg(&["database", "epoch", "term", "replication_id"]);
    let (owner, epoch, term, replication_id): StateFields =
        candidate.query(&Call::plain(read)).await?;
    if owner.as_deref() != Some(installation) {
        return Err(RecoveryError::Foreign(keys.tag().to_owned()));
    }
    Ok(State {
        epoch,
        term: term.filter(|term| *term < TERM_LIMIT),
        replication_id,
    })
}

/// Raises the term in the ledger, then notes it in Redis. `None` if another instance did so meanwhile.
async fn raise(
    shard: &RedisShard,
    store: &Store,
    candidate: &mut Candidate,
    state: &State,
    in_use: Option<DataSet>,
) -> Result<Option<Term>, RecoveryError> {
    let (keys, server) = (shard.keys(), candidate.replication_id().to_owned());
    let epoch_prefix = keys.shard().map_or_else(String::new, Shard::epoch_prefix);
    let raise = |from| Raise {
        tag: keys.tag(),
        from,
        above: state.term.unwrap_or_default(),
        replication_id: &server,
    };
    let newest = in_use.as_ref().map_or(0, |in_use| in_use.term);
    let known = match &state.epoch {
        Some(epoch) if is_known(epoch, state, in_use.as_ref(), store).await? => Some(epoch),
        _ => None,
    };
    let raised = match known {
        Some(epoch) => store.raise_term(raise(newest), epoch).await?,
        None => store.begin_data_set(raise(newest), &epoch_prefix).await?,
    };
    let Some(mut data_set) = raised else {
        return Ok(None);
    };
    // From here on no flush of this epoch is written under a former term: the comparison stays true.
    let mut noted = note(shard, candidate, state, &data_set).await?;
    if matches!(noted, NotedTerm::Behind) {
        let Some(began) = store
            .begin_data_set(raise(data_set.term), &epoch_prefix)
            .await?
        else {
            return Ok(None);
        };
        data_set = began;
        noted = note(shard, candidate, state, &data_set).await?;
    }
    let NotedTerm::Used { dropped, found } = noted else {
        return Ok(None);
    };
    if state.epoch.is_some() && dropped >= 0 {
        counter_of_shard(REDIS_ROLLED_BACK, shard.shard()).increment(1);
        tracing::error!(
            links = dropped,
            "Redis was rolled back: clicks pending in it may be counted already and are dropped"
        );
    } else if found {
        counter_of_shard(REDIS_ROLLED_BACK, shard.shard()).increment(1);
        tracing::error!(
            "Redis was rolled back while it was in use: clicks that it had acknowledged are lost"
        );
    }
    Ok(Some(term_of(&data_set)))
}

/// Whether the ledger can tell how far the clicks of this epoch are written back. Where it is behind Redis, because the
/// database was restored from a backup, none are.
async fn is_known(
    epoch: &str,
    state: &State,
    in_use: Option<&DataSet>,
    store: &Store,
) -> Result<bool, StoreError> {
    let newest = in_use.map_or(0, |in_use| in_use.term);
    Ok(in_use.is_some_and(|in_use| in_use.epoch == epoch)
        || state.term.is_some_and(|term| term > newest)
        || store.data_set(epoch).await?.is_some())
}

async fn note(
    shard: &RedisShard,
    candidate: &mut Candidate,
    state: &State,
    data_set: &DataSet,
) -> Result<NotedTerm, RedisFailure> {
    let keys = shard.keys();
    let mut call = scripts::BEGIN_TERM.call(&[
        &keys.state(),
        &keys.pending(),
        &keys.flushing(),
        &keys.changes(),
        &keys.intervals(),
        &keys.details(),
    ]);
    call.arg(data_set.term)
        .arg(&data_set.replication_id)
        .arg(shard.now().micros())
        .arg(state.epoch.as_deref().unwrap_or_default())
        .arg(&data_set.epoch)
        .arg(data_set.flush)
        .arg(keys.flush_prefix())
        .arg(keys.details_prefix());
    let reply: redis::Value = candidate.query(&call).await?;
    if let Ok((dropped, found)) = redis::from_redis_value_ref::<(i64, bool)>(&reply) {
        return Ok(NotedTerm::Used { dropped, found });
    }
    match redis::from_redis_value_ref::<String>(&reply).as_deref() {
        Ok("behind") => Ok(NotedTerm::Behind),
        Ok("moved") => Ok(NotedTerm::Moved),
        _ => Err(RedisFailure::NoAnswer("no reply of the script".into())),
    }
}
