//! How Redis goes back, and is taken into use.

use super::World;
use super::state::{BATCHES, DataSet, FlushId, LINKS, Row, State, View};

/// Uses the data set under the term that it has, or else under a new one.
pub(super) fn take_into_use(world: &World, state: &mut State, instance: usize) -> Option<()> {
    let newest = state.database.newest()?;
    let redis = &state.redis;
    let (mut term, mut epoch) = (newest.term, newest.epoch);
    if (redis.term, redis.epoch) != (Some(term), epoch) {
        state.commit();
        term += 1;
        let redis = &state.redis;
        let row = state.database.row_mut(redis.epoch);
        if let Some(row) = row.filter(|row| row.flush.number <= redis.flush && !redis.is_doubted) {
            row.term = term;
            epoch = row.epoch;
            state.redis.term = Some(term);
        } else {
            epoch = term;
            state.database.ledger.push(Row {
                epoch,
                term,
                flush: FlushId::default(),
                up_to: 0,
            });
            let data = DataSet {
                epoch,
                term: Some(term),
                ..DataSet::default()
            };
            replace(world, state, data);
        }
    }
    state.flushers[instance].view = Some(View { term, epoch });
    Some(())
}

pub(super) fn restart(state: &mut State) {
    state.left.redis_faults -= 1;
    break_connections(state);
}

pub(super) fn go_back(world: &World, state: &mut State, is_noticed: bool) -> Option<()> {
    let data = *state.snapshot.clone()?;
    state.left.redis_faults -= 1;
    state.books.slips += 1;
    state.books.has_redis_lost = true;
    replace(world, state, data);
    if is_noticed {
        break_connections(state);
    }
    Some(())
}

/// A server that was started again needs a new term.
fn break_connections(state: &mut State) {
    state.redis.term = None;
    for flusher in &mut state.flushers {
        flusher.view = None;
    }
}

/// What only the former data had may be missing, if Redis ever lost data.
fn replace(world: &World, state: &mut State, data: DataSet) {
    let before = std::mem::replace(&mut state.redis, data);
    for (batch, link) in (0..BATCHES).flat_map(|batch| (0..LINKS).map(move |link| (batch, link))) {
        let is_gone = before.waiting(link)[batch] > state.redis.waiting(link)[batch];
        let is_missing = is_gone && state.database.times(world, batch, link) == 0;
        if is_missing && state.books.has_redis_lost {
            state.books.admitted.insert(batch);
        }
    }
}
