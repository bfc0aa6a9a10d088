//! The rules as properties.

use stateright::Property;

use super::actions::{self, Action};
use super::state::{BATCHES, INTERVALS, LINKS, Row, State, Step, Sums};
use super::{World, flushing};

/// What must never happen, and is seen only when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Broken {
    AppendedTwice,
    ForgottenEarly,
    WrittenUnderFormerTerm,
    CountIsWrong,
    SeriesIsWrong,
    OwnerSumIsWrong,
}

pub(super) const APPENDED: &str = "parts: each is appended once";
pub(super) const FENCED: &str = "parts: none is appended under a former term";
pub(super) const DURABLE: &str = "parts: Redis keeps a piece until its last part is durable";
pub(super) const KEPT: &str = "parts: an answered click is in Redis, in a part or in rows";
pub(super) const ONCE: &str = "parts: a click is in one part or in rows, once";
pub(super) const INTERVAL: &str = "parts: a click is in the interval in which it was recorded";
pub(super) const BOUNDED: &str = "parts: no more flushes are unmerged than may be";
pub(super) const COUNT: &str = "reading: a count has every answered click, and none twice";
pub(super) const SERIES: &str =
    "reading: a series adds up to the count, and has each click in its interval";
pub(super) const OWNER: &str = "reading: the sum of an owner is that of the owner's links";
pub(super) const SUMS: &str =
    "merge: the sums by owner are those of the rows of links that are there";
pub(super) const CLASSES: &str = "merge: a breakdown has each merged click, once, by its class";
pub(super) const GETS_ON: &str =
    "merge: once nothing fails any more, every answered click gets into rows";

/// Steps within which nothing is left to do once nothing fails.
const ENOUGH: usize = 40;

macro_rules! free_of {
    ($name:expr, $broken:ident) => {
        Property::always($name, |_, state: &State| {
            !state.books.broken.contains(&Broken::$broken)
        })
    };
}

pub(super) fn all() -> Vec<Property<World>> {
    vec![
        free_of!(APPENDED, AppendedTwice),
        free_of!(FENCED, WrittenUnderFormerTerm),
        free_of!(DURABLE, ForgottenEarly),
        Property::always(KEPT, is_kept),
        Property::always(ONCE, |world, state: &State| {
            of_each(state).all(|(batch, link)| state.database.times(world, batch, link) <= 1)
        }),
        Property::always(INTERVAL, |_, state: &State| {
            state.database.parts.iter().all(|part| {
                (state.batches.iter().zip(part.clicks.batches))
                    .all(|(batch, times)| times == 0 || batch.interval == part.clicks.interval)
            })
        }),
        Property::always(BOUNDED, |world: &World, state: &State| {
            let unmerged = |row: &Row| state.database.unmerged(row.epoch);
            state
                .database
                .ledger
                .iter()
                .all(|row| unmerged(row) <= world.unmerged)
        }),
        free_of!(COUNT, CountIsWrong),
        free_of!(SERIES, SeriesIsWrong),
        free_of!(OWNER, OwnerSumIsWrong),
        Property::always(SUMS, |_, state: &State| are_sums(state)),
        Property::always(CLASSES, |_, state: &State| are_classified(state)),
        Property::always(GETS_ON, gets_on),
        Property::sometimes(
            "a flush waits for a merge",
            |world: &World, state: &State| {
                world.unmerged > 1
                    || state.flushers.iter().any(|flusher| {
                        matches!(flusher.step, Step::WriteParts(piece) if piece.mark == 0
                    && state.database.unmerged(piece.of_flush.view.epoch) == world.unmerged)
                    })
            },
        ),
        Property::sometimes(
            "a count is read of rows and parts",
            |world: &World, state: &State| world.reads == 0 || state.books.has_read_both,
        ),
        Property::sometimes("every click is in rows", |world: &World, state: &State| {
            state.batches.len() == usize::from(world.batches) && is_merged(state)
        }),
    ]
}

fn of_each(state: &State) -> impl Iterator<Item = (usize, usize)> {
    (0..state.batches.len()).flat_map(|batch| (0..LINKS).map(move |link| (batch, link)))
}

/// The answered clicks of links that are there and that need not be missing.
fn due(state: &State) -> impl Iterator<Item = (usize, usize)> {
    let due = state.books.answered.without(state.books.admitted);
    of_each(state).filter(move |(batch, link)| due.has(*batch) && !state.database.is_deleted[*link])
}

fn is_kept(world: &World, state: &State) -> bool {
    due(state).all(|(batch, link)| {
        state.database.times(world, batch, link) > 0 || state.redis.waiting(link)[batch] > 0
    })
}

fn is_merged(state: &State) -> bool {
    state.database.parts.is_empty()
        && due(state).all(|(batch, link)| state.database.links[link].counted[batch] == 1)
}

fn are_sums(state: &State) -> bool {
    let mut sums = Sums::default();
    for rows in &state.database.links {
        for interval in 0..INTERVALS {
            sums.series[interval] += rows.sums.series[interval];
        }
    }
    let is_gone = |link: usize| state.database.links[link].counted == [0; BATCHES];
    sums.series == state.database.owner.series
        && (0..LINKS).all(|link| !state.database.is_deleted[link] || is_gone(link))
}

fn are_classified(state: &State) -> bool {
    let mut of_owner = Sums::default().classes;
    for rows in &state.database.links {
        let mut classes = Sums::default().classes;
        for (batch, times) in state.batches.iter().zip(rows.counted) {
            classes[usize::from(batch.interval)][batch.class] += times;
            of_owner[usize::from(batch.interval)][batch.class] += times;
        }
        if classes != rows.sums.classes {
            return false;
        }
    }
    of_owner == state.database.owner.classes
}

/// Whether instances that go on without a fault, each with what it has to do next, get every click into rows.
fn gets_on(world: &World, state: &State) -> bool {
    let mut state = state.clone();
    for _ in 0..ENOUGH {
        if state.redis.waiting(LINKS - 1) == [0; BATCHES]
            && state.redis.flushing.is_none()
            && is_merged(&state)
        {
            return true;
        }
        let mut next = Vec::new();
        for flusher in 0..usize::from(world.flushers) {
            flushing::possible(world, &state, flusher, &mut next);
        }
        for merger in 0..usize::from(world.mergers) {
            next.push(match state.mergers[merger] {
                Some(_) => Action::Merge(merger),
                None => Action::ReadParts {
                    merger,
                    up_to: LINKS,
                },
            });
        }
        for action in next {
            // One that can do nothing changes nothing.
            let mut changed = state.clone();
            if actions::apply(world, &mut changed, action).is_some() {
                state = changed;
            }
        }
    }
    false
}
