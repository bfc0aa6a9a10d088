//! Counts that are read.

use super::properties::Broken;
use super::state::{BATCHES, Database, Entry, LINKS, Reading, Shown, State, Times};
use super::{Mutation, World};

/// Begins a count, where nothing is in memory alone and nothing parked.
pub(super) fn begin(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &state.instances[number];
    let is_in_memory = instance.in_memory() != <_>::default();
    if is_in_memory && !world.without(Mutation::ReaderIgnoresMemory) {
        return None;
    }
    if has_parked(&state.database) && !world.without(Mutation::ReaderIgnoresParked) {
        return None;
    }
    let mut due = state.books.answered.without(state.books.admitted);
    for (other, instance) in state.instances.iter().enumerate() {
        if other != number {
            due = due.without(instance.in_memory());
        }
    }
    let is_early = world.without(Mutation::DatabaseIsReadFirst);
    let early = is_early.then(|| Box::new(state.database.clone()));
    state.instances[number].reading = Some(Reading {
        due,
        redis: None,
        early,
    });
    state.left.reads -= 1;
    Some(())
}

fn has_parked(database: &Database) -> bool {
    database
        .journal
        .iter()
        .flatten()
        .any(|entry| matches!(entry, Entry::Parked { .. }))
}

pub(super) fn read_redis(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &mut state.instances[number];
    let view = instance.in_use()?;
    let data = &state.servers[view.server].data;
    if data.term != Some(view.term) && !world.without(Mutation::ScriptsIgnoreTerms) {
        (instance.view, instance.reading) = (None, None);
        return Some(());
    }
    let mut pending = [0; BATCHES];
    for part in &data.pending {
        for (sum, clicks) in pending.iter_mut().zip(part.clicks) {
            *sum += clicks;
        }
    }
    let flush = data
        .flushing
        .map(|(flush, part)| (flush.number, part.clicks));
    instance.reading.as_mut()?.redis = Some(Shown {
        view,
        newest: data.flush,
        pending,
        flush,
    });
    Some(())
}

pub(super) fn read_database(world: &World, state: &mut State, number: usize) -> Option<()> {
    let reading = state.instances[number].reading.take()?;
    let redis = reading.redis?;
    let database = reading.early.as_deref().unwrap_or(&state.database);
    let newest = database.newest()?;
    if (newest.term, newest.epoch) != (redis.view.term, redis.view.epoch) {
        state.instances[number].view = None;
        return Some(());
    }
    let is_overtaken =
        newest.flush > redis.newest && !world.without(Mutation::ReaderIgnoresNewerFlushes);
    if is_overtaken || has_parked(database) && !world.without(Mutation::ReaderIgnoresParked) {
        return Some(());
    }
    let mut is_exact = true;
    for link in 0..LINKS {
        let counts = sum(world, database, &redis, link);
        for batch in (0..state.batches.len()).filter(|batch| state.is_of(*batch, link)) {
            let is_due = reading.due.without(state.books.admitted).has(batch);
            is_exact &= counts[batch] <= 1 && (counts[batch] == 1 || !is_due);
        }
    }
    if !is_exact {
        state.breaks(Broken::CountIsWrong);
    }
    Some(())
}

/// How often a count has each batch.
fn sum(world: &World, database: &Database, redis: &Shown, link: usize) -> Times {
    let mut counts = database.links[link].counted;
    let row = database.row(redis.view.epoch);
    for batch in 0..BATCHES {
        counts[batch] +=
            redis.pending[batch] + u8::from(database.journal[batch] == Some(Entry::Free));
        if let Some((flush, clicks)) = redis.flush {
            let is_included =
                row.is_some_and(|row| row.flush == flush && usize::from(row.up_to) > link);
            if !is_included || world.without(Mutation::ReaderIgnoresMarks) {
                counts[batch] += clicks[batch];
            }
        }
    }
    counts
}
