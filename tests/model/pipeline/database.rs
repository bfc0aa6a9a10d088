//! The transactions of the database.

use super::properties::Broken;
use super::state::{
    BATCHES, Batch, CLASSES, Database, Entry, FlushId, LINKS, Link, Part, State, View,
};
use super::{Mutation, World};

/// A transaction that is durable when it ends, and with it all before.
pub(super) fn commit(state: &mut State) {
    state.durable = None;
}

/// Writes a batch to the journal, once.
pub(super) fn append(world: &World, state: &mut State, index: usize, parked: Option<u8>) {
    commit(state);
    let batch = state.batches[index];
    let mark = &mut state.database.marks[batch.recorder];
    if *mark >= batch.number && !world.without(Mutation::JournalTakesAnyNumber) {
        return;
    }
    *mark = batch.number.max(*mark);
    state.database.appended[index] += 1;
    if state.database.appended[index] > 1 {
        state.breaks(Broken::AppliedTwice);
    }
    state.database.journal[index] = Some(match parked {
        Some(epoch) => Entry::Parked { epoch },
        None => Entry::Free,
    });
    if parked.is_none() {
        state.books.journaled.insert(index);
        if state.books.epochs[index].is_some() {
            state.breaks(Broken::InBothSinks);
        }
    }
}

/// Removes a parked batch.
pub(super) fn release(state: &mut State, batch: usize) {
    if matches!(state.database.journal[batch], Some(Entry::Parked { .. })) {
        commit(state);
        state.database.journal[batch] = None;
    }
}

/// Counts a batch of the journal.
pub(super) fn compact(world: &World, state: &mut State, batch: usize) -> Option<()> {
    if state.database.journal[batch] != Some(Entry::Free) {
        return None;
    }
    commit(state);
    state.database.journal[batch] = None;
    let mut part = Part {
        interval: state.batches[batch].interval,
        ..Part::default()
    };
    part.clicks[batch] = 1;
    part.classed[batch] = 1;
    for link in 0..LINKS {
        count(world, state, link, &part);
    }
    Some(())
}

/// Adds clicks of one interval to a link; clicks of a deleted link are passed over.
fn count(world: &World, state: &mut State, link: usize, part: &Part) {
    for batch in 0..BATCHES {
        let clicks = part.clicks[batch];
        if clicks == 0 || !state.is_of(batch, link) && !world.without(Mutation::IdsAreReused) {
            continue;
        }
        let row = &mut state.database.links[link];
        row.counted[batch] += clicks;
        row.add(world, part.interval, clicks);
        if !world.without(Mutation::ClassesAreWrittenLater) {
            row.add_classes(state.batches[batch], clicks, part.classed[batch]);
        }
    }
}

impl Link {
    fn add(&mut self, world: &World, interval: u8, clicks: u8) {
        self.clicks += clicks;
        if interval == self.interval
            || interval < self.interval && world.without(Mutation::LateClicksAreOfNow)
        {
            self.in_interval += clicks;
        } else if interval < self.interval {
            self.series[usize::from(interval)] += clicks;
        } else {
            if !world.without(Mutation::EndedIntervalIsForgotten) {
                self.series[usize::from(self.interval)] += self.in_interval;
            }
            (self.interval, self.in_interval) = (interval, clicks);
        }
    }

    /// Of clicks without a class nothing is known; a class without a click is left out.
    pub(super) fn add_classes(&mut self, batch: Batch, clicks: u8, classed: u8) {
        let of_interval = &mut self.classes[usize::from(batch.interval)];
        of_interval[batch.class] += classed.min(clicks);
        of_interval[CLASSES] += clicks.saturating_sub(classed);
    }
}

/// How far a flush is in.
pub(super) enum Written {
    UpTo(u8),
    Superseded,
    /// The ledger has another one under its number.
    OfAnother,
}

/// Adds the next part of a flush, where the ledger stands at its beginning.
pub(super) fn write_part(
    world: &World,
    state: &mut State,
    view: View,
    id: FlushId,
    mark: u8,
    part: &Part,
) -> Written {
    let Some(row) = state.database.row(view.epoch) else {
        return Written::Superseded;
    };
    let number = id.number;
    if row.term != view.term && !world.without(Mutation::LedgerIgnoresTerms) {
        return Written::Superseded;
    }
    if row.flush == number
        && row.flush_name != id.name
        && !world.without(Mutation::FlushesHaveNoNames)
    {
        return Written::OfAnother;
    }
    let is_at_mark = row.flush == number
        && (row.up_to == mark || world.without(Mutation::MarkIsIgnored))
        || row.flush < number && mark == 0
        || row.flush > number && world.without(Mutation::LaterFlushIsIgnored);
    if !is_at_mark {
        return match number.cmp(&row.flush) {
            std::cmp::Ordering::Equal => Written::UpTo(row.up_to),
            std::cmp::Ordering::Greater => Written::UpTo(0),
            std::cmp::Ordering::Less => Written::Superseded,
        };
    }
    let is_last = usize::from(mark) + 1 == LINKS;
    if is_last && !world.without(Mutation::LastPartIsNotDurable) {
        commit(state);
    } else if state.durable.is_none() {
        state.durable = Some(Box::new(state.database.clone()));
    }
    if row.term != view.term {
        state.breaks(Broken::WrittenUnderFormerTerm);
    }
    let written = (view.epoch, number, mark);
    match state.database.parts.binary_search(&written) {
        Ok(_) => state.breaks(Broken::PartAddedTwice),
        Err(at) => state.database.parts.insert(at, written),
    }
    if let Some(row) = state.database.row_mut(view.epoch) {
        (row.flush, row.flush_name, row.up_to) = (number, id.name, mark + 1);
    }
    count(world, state, usize::from(mark), part);
    Written::UpTo(mark + 1)
}

/// What a mutated flusher writes after the counts.
pub(super) fn write_classes(state: &mut State, part: &Part) {
    for link in 0..LINKS {
        for batch in 0..BATCHES {
            let (clicks, classed) = (part.clicks[batch], part.classed[batch]);
            if clicks > 0 && state.is_of(batch, link) {
                let batch = state.batches[batch];
                state.database.links[link].add_classes(batch, clicks, classed);
            }
        }
    }
}

impl Database {
    pub(super) fn row_mut(&mut self, epoch: u8) -> Option<&mut super::state::Row> {
        self.ledger.iter_mut().find(|row| row.epoch == epoch)
    }
}
