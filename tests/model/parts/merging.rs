//! The journal's transaction, the merge's, and that of a deletion.

use super::flushing::insert;
use super::state::{
    Batch, Clicks, Database, INTERVALS, Key, LINKS, LinkRows, Merge, Part, Rest, State, Sums, add,
};
use super::{Mutation, World};

/// Appends a batch of the journal as a part, once.
pub(super) fn append(world: &World, state: &mut State, batch: usize) -> Option<()> {
    let key = Key::Journal(batch);
    let has_part = state.database.parts.iter().any(|part| part.key == key);
    let is_noted = state.database.appended.has(batch);
    if has_part || is_noted && !world.without(Mutation::NumberGoesWithItsPart) {
        return None;
    }
    state.commit();
    state.database.appended.insert(batch);
    state.books.answered.insert(batch);
    let mut clicks = Clicks {
        interval: state.batches[batch].interval,
        ..Clicks::default()
    };
    clicks.batches[batch] = 1;
    insert(world, state, key, 0..LINKS, clicks);
    Some(())
}

/// Reads the parts that have links before this one.
pub(super) fn read(world: &World, state: &mut State, merger: usize, up_to: usize) -> Option<()> {
    let database = &state.database;
    let row = database.newest()?;
    let is_whole = |part: &Part| match part.key {
        Key::Flush { epoch, number, .. } => {
            let end = LINKS;
            (epoch, number, end) <= (row.epoch, row.flush.number, row.up_to)
        }
        Key::Journal(_) => true,
    };
    let mut parts = database.parts.clone();
    parts.retain(|part| {
        part.mark < up_to && (is_whole(part) || !world.without(Mutation::WholeFlushesOnly))
    });
    // Up to where there is anything.
    let up_to = parts.iter().map(|part| part.end.min(up_to)).max()?;
    let reads_deletions = world.without(Mutation::DeletionIsReadBefore);
    state.mergers[merger] = Some(Merge {
        up_to,
        parts,
        is_deleted: reads_deletions.then_some(database.is_deleted),
        rest: None,
    });
    Some(())
}

/// Merges what was read, if it is still there as it was.
pub(super) fn write(world: &World, state: &mut State, merger: usize) -> Option<()> {
    let mut merge = state.mergers[merger].take()?;
    if merge.rest.is_none() {
        let is_there = |part: &Part| state.database.parts.contains(part);
        if !merge.parts.iter().all(is_there) && !world.without(Mutation::PartsAreNotTested) {
            return Some(());
        }
    }
    state.commit_later();
    let (now, rest) = match merge.rest {
        None if world.without(Mutation::PartsAreDeletedBefore) => {
            (vec![Rest::Parts, Rest::Classes], Some(Rest::Rows))
        }
        None if world.without(Mutation::PartsAreDeletedAfter) => {
            (vec![Rest::Rows, Rest::Classes], Some(Rest::Parts))
        }
        None if world.without(Mutation::ClassesInAnotherTransaction) => {
            (vec![Rest::Rows, Rest::Parts], Some(Rest::Classes))
        }
        None => (vec![Rest::Rows, Rest::Classes, Rest::Parts], None),
        Some(rest) => (vec![rest], None),
    };
    for what in now {
        match what {
            Rest::Parts => move_marks(world, &mut state.database, &merge),
            Rest::Rows | Rest::Classes => add_to_rows(world, state, &merge, what),
        }
    }
    if rest.is_some() {
        merge.rest = rest;
        state.mergers[merger] = Some(merge);
    }
    Some(())
}

/// Moves the marks of the parts, and deletes those that are merged whole.
fn move_marks(world: &World, database: &mut Database, merge: &Merge) {
    if world.without(Mutation::OneMarkForAllParts) {
        let whole = merge.up_to == LINKS;
        database.merged_up_to = if whole { 0 } else { merge.up_to };
    }
    for part in &mut database.parts {
        let is_taken = merge.parts.iter().any(|taken| taken.key == part.key);
        if is_taken && !world.without(Mutation::MarkOfMergeStays) {
            part.mark = part.mark.max(merge.up_to.min(part.end));
        } else if is_taken && part.end <= merge.up_to {
            part.mark = part.end;
        }
        if is_taken && world.without(Mutation::CutPartIsDeleted) {
            part.mark = part.end;
        }
    }
    database.parts.retain(|part| part.mark < part.end);
    database.parts.sort_unstable();
}

fn add_to_rows(world: &World, state: &mut State, merge: &Merge, what: Rest) {
    let is_deleted = merge.is_deleted.unwrap_or(state.database.is_deleted);
    for part in &merge.parts {
        let links = part.mark..part.end.min(merge.up_to);
        for (link, is_deleted) in is_deleted.iter().enumerate() {
            let is_taken = links.contains(&link);
            if !is_taken || *is_deleted && !world.without(Mutation::DeletedIsMerged) {
                continue;
            }
            let (rows, owner) = (&mut state.database.links[link], &mut state.database.owner);
            if what == Rest::Classes {
                rows.sums.classify(&state.batches, &part.clicks);
                owner.classify(&state.batches, &part.clicks);
                continue;
            }
            let clicks = part.clicks.batches.iter().sum::<u8>();
            let interval = usize::from(part.clicks.interval);
            add(&mut rows.counted, &part.clicks.batches);
            rows.count += clicks;
            rows.sums.series[interval] += clicks;
            owner.series[interval] += clicks;
        }
    }
}

/// Deletes a link, whose clicks leave the sums of its owner.
pub(super) fn delete(world: &World, state: &mut State, link: usize) -> Option<()> {
    if state.database.is_deleted[link] {
        return None;
    }
    state.left.deletes -= 1;
    state.commit();
    let mut gone = state.database.links[link].sums;
    if world.without(Mutation::DeletionTakesParts) {
        for part in state
            .database
            .parts
            .iter()
            .filter(|part| part.has(world, &state.database, link))
        {
            gone.series[usize::from(part.clicks.interval)] +=
                part.clicks.batches.iter().sum::<u8>();
            gone.classify(&state.batches, &part.clicks);
        }
    }
    let database = &mut state.database;
    for interval in 0..INTERVALS {
        let series = &mut database.owner.series[interval];
        *series = series.saturating_sub(gone.series[interval]);
        let classes = database.owner.classes[interval].iter_mut();
        for (sum, less) in classes.zip(gone.classes[interval]) {
            *sum = sum.saturating_sub(less);
        }
    }
    database.is_deleted[link] = true;
    database.links[link] = LinkRows::default();
    Some(())
}

impl Sums {
    fn classify(&mut self, batches: &[Batch], clicks: &Clicks) {
        for (batch, times) in batches.iter().zip(clicks.batches) {
            self.classes[usize::from(clicks.interval)][batch.class] += times;
        }
    }
}

impl Part {
    /// Whether it has clicks of a link that are not in rows.
    pub(super) fn has(&self, world: &World, database: &Database, link: usize) -> bool {
        let mut merged = self.mark;
        if world.without(Mutation::OneMarkForAllParts) {
            merged = merged.max(database.merged_up_to);
        }
        (merged..self.end).contains(&link)
    }
}
