//! The rules as properties. Each name begins with the rule.

use stateright::Property;

use super::state::{BATCHES, CLASSES, Flush, INTERVALS, LINKS, State};
use super::{Mutation, World};

/// What must never happen, and is seen only when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Broken {
    AppliedTwice,
    InBothSinks,
    PassedForApplied,
    PartAddedTwice,
    ForgottenEarly,
    CountIsWrong,
    UsedInAnotherTerm,
    WrittenUnderFormerTerm,
    WentBackUnnoticed,
    AppliedInTwoEpochs,
    NoRoomNoClick,
}

pub(super) const KEPT: &str = "rule 1: an answered click is in a sink, or in memory";
pub(super) const REPORTED: &str = "rule 1: what is in memory alone is reported";
pub(super) const ONCE: &str = "rule 2: a sink applies a batch once";
pub(super) const ONE_SINK: &str = "rule 3: a batch in doubt never changes sinks";
pub(super) const NOTHING_NEWER: &str = "rule 3: no batch passes for applied because a newer one is";
pub(super) const PARTS: &str = "rule 4: a part of a flush is added once";
pub(super) const DURABLE: &str = "rule 4: Redis keeps a flush until its last part is durable";
pub(super) const EXACT: &str = "rule 5: a count has every answered click, and none twice";
pub(super) const IDS: &str = "rule 6: clicks of a deleted link land on no other";
pub(super) const ONE_TERM: &str = "rule 7: a data set is used in its term alone";
pub(super) const FENCED: &str = "rule 7: nothing is written back under a former term";
pub(super) const ROLLED_BACK: &str =
    "rule 7: no click of a data set that was rolled back is counted twice";
pub(super) const NOTICED: &str = "rule 7: a data set that went back is found";
pub(super) const ONE_EPOCH: &str = "rule 8: a batch in doubt belongs to one epoch";
pub(super) const SERIES: &str = "intervals: the sum of the series is the count";
pub(super) const INTERVAL: &str = "intervals: a click is in the interval in which it was recorded";
pub(super) const ALL_CLASSES: &str = "classes: their sum is the count";
pub(super) const OWN_CLASS: &str =
    "classes: a click that had room for its class has it, in its interval";
pub(super) const ROOM: &str = "classes: a batch without room for its class is counted all the same";
pub(super) const QUIET: &str = "all rules: when all is quiet, every click is counted exactly once";

fn is_free(state: &State, broken: Broken) -> bool {
    state.books.broken.binary_search(&broken).is_err()
}

macro_rules! free_of {
    ($name:expr, $broken:ident) => {
        Property::always($name, |_, state: &State| is_free(state, Broken::$broken))
    };
}

pub(super) fn all() -> Vec<Property<World>> {
    vec![
        Property::always(KEPT, |_, state: &State| is_kept(state)),
        Property::always(REPORTED, is_reported),
        free_of!(ONCE, AppliedTwice),
        free_of!(ONE_SINK, InBothSinks),
        free_of!(NOTHING_NEWER, PassedForApplied),
        free_of!(PARTS, PartAddedTwice),
        free_of!(DURABLE, ForgottenEarly),
        free_of!(EXACT, CountIsWrong),
        Property::always(IDS, |_, state: &State| {
            (0..state.batches.len())
                .all(|batch| state.database.links[0].counted[batch] == 0 || state.is_of(batch, 0))
        }),
        free_of!(ONE_TERM, UsedInAnotherTerm),
        free_of!(FENCED, WrittenUnderFormerTerm),
        Property::always(ROLLED_BACK, |_, state: &State| {
            state
                .database
                .links
                .iter()
                .all(|link| link.counted.iter().all(|times| *times <= 1))
        }),
        free_of!(NOTICED, WentBackUnnoticed),
        free_of!(ONE_EPOCH, AppliedInTwoEpochs),
        Property::always(SERIES, |_, state: &State| {
            let sum = |link: &super::state::Link| link.in_interval + link.series.iter().sum::<u8>();
            state
                .database
                .links
                .iter()
                .all(|link| sum(link) == link.clicks)
        }),
        Property::always(INTERVAL, |_, state: &State| is_in_its_interval(state)),
        Property::always(ALL_CLASSES, |_, state: &State| {
            state
                .database
                .links
                .iter()
                .all(|link| link.classes.iter().flatten().sum::<u8>() == link.clicks)
        }),
        Property::always(OWN_CLASS, |_, state: &State| is_in_its_class(state)),
        free_of!(ROOM, NoRoomNoClick),
        Property::always(QUIET, |world, state| {
            !is_quiet(world, state) || is_counted(state)
        }),
        Property::sometimes("all is quiet, and every click counted", is_quiet),
    ]
}

/// Every answered click that need not be missing is somewhere.
fn is_kept(state: &State) -> bool {
    let due = state.books.answered.without(state.books.admitted);
    (0..state.batches.len())
        .filter(|batch| due.has(*batch))
        .all(|batch| {
            is_in_sink(state, batch)
                || state
                    .instances
                    .iter()
                    .any(|instance| instance.in_memory().has(batch))
        })
}

fn is_in_sink(state: &State, batch: usize) -> bool {
    let is_in_redis = state
        .servers
        .iter()
        .any(|server| server.data.waiting()[batch] > 0);
    let is_counted =
        |link: usize| !state.is_of(batch, link) || state.database.links[link].counted[batch] > 0;
    is_in_redis || state.database.journal[batch].is_some() || (0..LINKS).all(is_counted)
}

/// Every answered click that no sink has is in the metric of an instance.
fn is_reported(world: &World, state: &State) -> bool {
    let due = state.books.answered.without(state.books.admitted);
    let is_silent = world.without(Mutation::MemoryIsNotReported);
    (0..state.batches.len())
        .filter(|batch| due.has(*batch) && !is_in_sink(state, *batch))
        .all(|batch| {
            !is_silent
                && state
                    .instances
                    .iter()
                    .any(|instance| instance.in_memory().has(batch))
        })
}

fn is_in_its_interval(state: &State) -> bool {
    state.database.links.iter().all(|link| {
        (0..INTERVALS).all(|interval| {
            let current = if usize::from(link.interval) == interval {
                link.in_interval
            } else {
                0
            };
            let of_interval = (0..state.batches.len())
                .filter(|batch| usize::from(state.batches[*batch].interval) == interval)
                .map(|batch| link.counted[batch]);
            link.series[interval] + current == of_interval.sum::<u8>()
        })
    })
}

/// A class may be missing only where there was no room for it; then nothing is known of the click.
fn is_in_its_class(state: &State) -> bool {
    state.database.links.iter().all(|link| {
        (0..INTERVALS * CLASSES).all(|number| {
            let (interval, class) = (number / CLASSES, number % CLASSES);
            let (mut least, mut most) = (0, 0);
            for (index, batch) in state.batches.iter().enumerate() {
                if (usize::from(batch.interval), batch.class) == (interval, class) {
                    most += link.counted[index];
                    if !state.books.unclassed.has(index) {
                        least += link.counted[index];
                    }
                }
            }
            (least..=most).contains(&link.classes[interval][class])
        })
    })
}

/// Whether every visit was made and nothing is under way any more.
fn is_quiet(world: &World, state: &State) -> bool {
    let is_idle = |instance: &super::state::Instance| {
        instance.awaited.is_none()
            && instance.in_doubt.is_none()
            && instance.in_memory() == <_>::default()
            && instance.flush == Flush::Idle
    };
    state.batches.len() == usize::from(world.batches)
        && state.network.is_empty()
        && state.instances.iter().all(is_idle)
        && state.database.journal.iter().all(Option::is_none)
        && state
            .servers
            .iter()
            .all(|server| server.data.waiting() == [0; BATCHES])
}

fn is_counted(state: &State) -> bool {
    let due = state.books.answered.without(state.books.admitted);
    (0..LINKS).all(|link| {
        let counted = &state.database.links[link].counted;
        (0..state.batches.len()).all(|batch| {
            counted[batch] <= 1
                && (counted[batch] == 1 || !due.has(batch) || !state.is_of(batch, link))
        })
    })
}
