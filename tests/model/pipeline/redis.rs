//! The scripts of Redis.

use super::properties::Broken;
use super::state::{BATCHES, DataSet, FlushId, INTERVALS, Part, State, View};
use super::{Mutation, World};

/// Of how many batches of an interval the classes have room.
const ROOM: u8 = 1;

/// A call of `record_clicks`.
pub(super) struct Record {
    pub server: usize,
    pub term: u8,
    /// What was acknowledged in this term; 0 if nothing was.
    pub acknowledged: u8,
    pub batch: usize,
}

/// Applies a batch once; `false` where it is refused.
pub(super) fn record(world: &World, state: &mut State, call: &Record) -> bool {
    let (index, batch) = (call.batch, state.batches[call.batch]);
    let data = &mut state.servers[call.server].data;
    let mut broken = Vec::new();
    if data.term != Some(call.term) {
        if !world.without(Mutation::ScriptsIgnoreTerms) {
            return false;
        }
        broken.push(Broken::UsedInAnotherTerm);
    }
    let last = data.recorders[batch.recorder];
    if last < call.acknowledged {
        if !world.without(Mutation::AcknowledgedIsNotNamed) {
            data.term = None;
            return false;
        }
        broken.push(Broken::WentBackUnnoticed);
    }
    if last < batch.number || world.without(Mutation::RedisTakesAnyNumber) {
        data.recorders[batch.recorder] = last.max(batch.number);
        let waited = data.waiting()[index];
        if !apply(world, data, index, batch.interval) {
            state.books.unclassed.insert(index);
        }
        if data.waiting()[index] != waited + 1 {
            broken.push(Broken::NoRoomNoClick);
        }
        data.applied[index] += 1;
        if data.applied[index] > 1 {
            broken.push(Broken::AppliedTwice);
        }
        let epoch = state.books.epochs[index].get_or_insert(data.epoch);
        if *epoch != data.epoch {
            broken.push(Broken::AppliedInTwoEpochs);
        }
        if state.books.journaled.has(index) {
            broken.push(Broken::InBothSinks);
        }
        if call.server != state.master {
            state.books.admitted.insert(index);
        }
    } else if data.applied[index] == 0 && !state.books.has_redis_lost {
        broken.push(Broken::PassedForApplied);
    }
    for broken in broken {
        state.breaks(broken);
    }
    true
}

/// Adds a batch to what is pending. Returns whether its class had room.
fn apply(world: &World, data: &mut DataSet, batch: usize, interval: u8) -> bool {
    let part = &mut data.pending[usize::from(interval)];
    part.interval = interval;
    let has_room = part.classed.iter().sum::<u8>() < ROOM;
    if has_room {
        part.classed[batch] += 1;
    } else if world.without(Mutation::NoRoomNoClick) {
        return false;
    }
    part.clicks[batch] += 1;
    has_room
}

/// The flush under way, begun now unless there is one. `None` where the call is refused, or nothing waits.
pub(super) fn begin_flush(
    world: &World,
    state: &mut State,
    view: View,
    in_ledger: u8,
) -> Option<(FlushId, Part)> {
    let name = state.books.slips;
    let data = &mut state.servers[view.server].data;
    let mut broken = None;
    if data.term != Some(view.term) {
        if !world.without(Mutation::ScriptsIgnoreTerms) {
            return None;
        }
        broken = Some(Broken::UsedInAnotherTerm);
    } else if data.flush < in_ledger {
        if !world.without(Mutation::LedgerIsNotNamed) {
            data.term = None;
            return None;
        }
        broken = Some(Broken::WentBackUnnoticed);
    }
    if data.flushing.is_none() {
        let part = oldest(world, data);
        if part.clicks != [0; BATCHES] {
            data.flush += 1;
            let number = data.flush;
            data.flushing = Some((FlushId { number, name }, part));
        }
    }
    let flushing = data.flushing;
    if let Some(broken) = broken {
        state.breaks(broken);
    }
    flushing
}

/// Takes the pending clicks of the oldest interval.
fn oldest(world: &World, data: &mut DataSet) -> Part {
    let has_clicks = |part: &Part| part.clicks != [0; BATCHES];
    if world.without(Mutation::FlushMixesIntervals) {
        let [older, mut newer] = std::mem::take(&mut data.pending);
        for batch in 0..BATCHES {
            newer.clicks[batch] += older.clicks[batch];
            newer.classed[batch] += older.classed[batch];
        }
        return newer;
    }
    let at = data
        .pending
        .iter()
        .position(has_clicks)
        .unwrap_or(INTERVALS - 1);
    let mut part = std::mem::take(&mut data.pending[at]);
    if world.without(Mutation::ClassesOfNewestClicks) {
        part.classed = data.pending[INTERVALS - 1].classed;
    }
    part
}

/// Forgets a flush. It has to be in the database for good.
pub(super) fn finish_flush(world: &World, state: &mut State, view: View, id: FlushId) {
    let durable = state.durable.as_deref().unwrap_or(&state.database);
    let is_whole = durable
        .row(view.epoch)
        .is_some_and(|row| (row.flush, row.up_to) >= (id.number, 2));
    let data = &mut state.servers[view.server].data;
    let flushing = data.flushing.map(|(flush, _)| flush);
    if data.term != Some(view.term) || flushing.is_none_or(|flush| flush.number != id.number) {
        return;
    }
    if flushing != Some(id) && !world.without(Mutation::FlushesHaveNoNames) {
        (data.term, data.is_doubted) = (None, true);
        return;
    }
    data.flushing = None;
    if !is_whole {
        state.breaks(Broken::ForgottenEarly);
    }
}

/// Has a data set recovered whose flush is not the one of the ledger.
pub(super) fn doubt_flush(state: &mut State, view: View) {
    let data = &mut state.servers[view.server].data;
    if data.term == Some(view.term) {
        (data.term, data.is_doubted) = (None, true);
    }
}
