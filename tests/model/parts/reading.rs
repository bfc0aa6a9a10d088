//! Counts, series and sums by owner that are read.

use super::actions::Action;
use super::properties::Broken;
use super::state::{BATCHES, Database, INTERVALS, LINKS, Reading, Shown, State, Times, View, add};
use super::{Mutation, World};

pub(super) fn possible(state: &State, actions: &mut Vec<Action>) {
    let shown = state.reading.as_ref().map(|reading| &reading.shown);
    let next = shown.map_or(Some(0), |shown| shown.iter().position(Option::is_none));
    match next {
        None => actions.push(Action::ReadDatabase),
        Some(link) if link > 0 || state.left.reads > 0 => actions.push(Action::ReadRedis { link }),
        Some(_) => {}
    }
}

/// Begins with the first link, and goes on with the second.
pub(super) fn read_redis(world: &World, state: &mut State, link: usize) -> Option<()> {
    let newest = state.database.newest()?;
    let redis = &state.redis;
    let view = View {
        term: redis.term?,
        epoch: redis.epoch,
    };
    if state.reading.is_none() {
        if (newest.term, newest.epoch) != (view.term, view.epoch) {
            return None;
        }
        state.left.reads -= 1;
        let is_early = world.without(Mutation::DatabaseIsReadFirst);
        state.reading = Some(Reading {
            due: state.books.answered.without(state.books.admitted),
            view,
            shown: [None; LINKS],
            early: is_early.then(|| Box::new(state.database.clone())),
        });
    }
    let shown = Shown {
        newest: redis.flush,
        pending: redis.pending,
        flush: (redis.flushing)
            .filter(|flush| flush.forgotten <= link)
            .map(|flush| (flush.id.number, flush.clicks)),
    };
    if state.reading.as_ref()?.view != view {
        state.reading = None;
        return Some(());
    }
    state.reading.as_mut()?.shown[link] = Some(shown);
    Some(())
}

pub(super) fn read_database(world: &World, state: &mut State) -> Option<()> {
    let is_in_two =
        world.without(Mutation::RowsThenParts) || world.without(Mutation::PartsThenRows);
    let reading = state.reading.as_mut()?;
    if is_in_two && reading.early.is_none() {
        reading.early = Some(Box::new(state.database.clone()));
        return Some(());
    }
    let reading = state.reading.take()?;
    let (mut of_rows, mut of_parts) = (&state.database, &state.database);
    if let Some(early) = reading.early.as_deref() {
        if !world.without(Mutation::PartsThenRows) {
            of_rows = early;
        }
        if !world.without(Mutation::RowsThenParts) {
            of_parts = early;
        }
    }
    let newest = of_parts.newest()?;
    let is_overtaken = !world.without(Mutation::NewerFlushIsNotRead)
        && (reading.shown.iter().flatten()).any(|shown| newest.flush.number > shown.newest);
    if (newest.term, newest.epoch) != (reading.view.term, reading.view.epoch) || is_overtaken {
        return Some(());
    }
    let due = reading.due.without(state.books.admitted);
    let (mut broken, mut of_links) = (Vec::new(), [0; INTERVALS]);
    let mut of_owner = of_rows.owner.series;
    for (link, shown) in reading.shown.iter().enumerate() {
        let mut read = unmerged(world, of_parts, link);
        let is_there = !of_rows.is_deleted[link];
        if is_there || world.without(Mutation::OwnerIsTrusted) {
            sum_up(&mut of_owner, &read.series);
        }
        if !is_there {
            continue;
        }
        let in_redis = in_redis(world, of_parts, link, shown.as_ref()?);
        sum_up(&mut of_owner, &in_redis.series);
        let rows = &of_rows.links[link];
        for (series, times) in [
            (&in_redis.series, &in_redis.times),
            (&rows.sums.series, &rows.counted),
        ] {
            sum_up(&mut read.series, series);
            add(&mut read.times, times);
        }
        sum_up(&mut of_links, &read.series);
        let is_exact =
            |batch: usize| read.times[batch] <= 1 && (read.times[batch] == 1 || !due.has(batch));
        let count =
            rows.count - rows.sums.series.iter().sum::<u8>() + read.series.iter().sum::<u8>();
        if !(0..BATCHES).all(is_exact) || count != read.times.iter().sum::<u8>() {
            broken.push(Broken::CountIsWrong);
        }
        let mut of_intervals = [0; INTERVALS];
        for (batch, times) in state.batches.iter().zip(read.times) {
            of_intervals[usize::from(batch.interval)] += times;
        }
        if of_intervals != read.series {
            broken.push(Broken::SeriesIsWrong);
        }
    }
    if of_owner != of_links {
        broken.push(Broken::OwnerSumIsWrong);
    }
    let has_rows = of_rows.links.iter().any(|rows| rows.count > 0);
    state.books.has_read_both |= has_rows && !of_parts.parts.is_empty();
    for broken in broken {
        state.breaks(broken);
    }
    Some(())
}

/// Clicks of a link: by interval, and the books of them.
#[derive(Default)]
struct Read {
    series: [u8; INTERVALS],
    times: Times,
}

impl Read {
    fn add(&mut self, interval: usize, times: &Times) {
        self.series[interval] += times.iter().sum::<u8>();
        add(&mut self.times, times);
    }
}

fn sum_up(sums: &mut [u8; INTERVALS], more: &[u8; INTERVALS]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// The clicks of a link in parts.
fn unmerged(world: &World, database: &Database, link: usize) -> Read {
    let mut read = Read::default();
    for part in &database.parts {
        let is_cut = world.without(Mutation::MarkOfMergeIsNotRead);
        let is_whole = is_cut && matches!(part.key, super::state::Key::Journal(_));
        if is_whole || part.has(world, database, link) {
            read.add(usize::from(part.clicks.interval), &part.clicks.batches);
        }
    }
    read
}

/// The clicks of a link that Redis showed, and the ledger does not have.
fn in_redis(world: &World, database: &Database, link: usize, shown: &Shown) -> Read {
    let mut read = Read::default();
    for (interval, pending) in shown.pending.iter().enumerate() {
        read.add(interval, pending);
    }
    let row = database.newest();
    if let Some((number, clicks)) = shown.flush {
        let is_written = row.is_some_and(|row| (row.flush.number, row.up_to) > (number, link));
        if !is_written || world.without(Mutation::LedgerIsNotRead) {
            read.add(usize::from(clicks.interval), &clicks.batches);
        }
    }
    read
}
