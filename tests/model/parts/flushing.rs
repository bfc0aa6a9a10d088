//! How a flush is appended, piece by piece.

use super::actions::Action;
use super::properties::Broken;
use super::state::{
    BATCHES, Clicks, Flush, FlushId, INTERVALS, Key, LINKS, Part, Piece, State, Step, View,
};
use super::{Mutation, World};

/// What a flusher may do next.
pub(super) fn possible(world: &World, state: &State, number: usize, actions: &mut Vec<Action>) {
    let flusher = &state.flushers[number];
    match flusher.step {
        Step::ReadLedger if flusher.view.is_none() => actions.push(Action::TakeIntoUse(number)),
        Step::ReadLedger => actions.push(Action::ReadLedger(number)),
        Step::Begin(_) => actions.push(Action::BeginFlush(number)),
        Step::ReadPiece { .. } => actions.push(Action::ReadPiece(number)),
        Step::MoveMark(_) => actions.push(Action::MoveMark(number)),
        Step::WriteParts(piece) => {
            let is_whole = piece.mark >= world.end_of(piece.number);
            if !is_whole {
                actions.push(Action::WritePart(number));
            }
            if is_whole || world.without(Mutation::PieceIsForgottenEarly) {
                actions.push(Action::ForgetPiece(number));
            }
        }
    }
}

pub(super) fn step(world: &World, state: &mut State, action: Action) -> Option<()> {
    match action {
        Action::ReadLedger(number) => read_ledger(world, state, number),
        Action::BeginFlush(number) => begin(state, number),
        Action::ReadPiece(number) => read_piece(world, state, number),
        Action::WritePart(number) => {
            let Step::WriteParts(piece) = state.flushers[number].step else {
                return None;
            };
            state.flushers[number].step = write_part(world, state, piece)?;
            Some(())
        }
        Action::MoveMark(number) => {
            let Step::MoveMark(mut piece) = state.flushers[number].step else {
                return None;
            };
            let row = state.database.row_mut(piece.view.epoch)?;
            piece.mark += 1;
            (row.flush, row.up_to) = (piece.id, piece.mark);
            state.flushers[number].step = Step::WriteParts(piece);
            Some(())
        }
        Action::ForgetPiece(number) => {
            let Step::WriteParts(piece) = std::mem::take(&mut state.flushers[number].step) else {
                return None;
            };
            forget_piece(world, state, number, piece);
            Some(())
        }
        _ => None,
    }
}

fn read_ledger(world: &World, state: &mut State, number: usize) -> Option<()> {
    let view = state.flushers[number].view?;
    let row = state.database.row(view.epoch);
    let Some(row) = row.filter(|row| row.term == view.term) else {
        state.flushers[number].view = None;
        return Some(());
    };
    let is_full = state.database.unmerged(view.epoch) >= world.unmerged;
    let is_idle =
        state.redis.flushing.is_none() && state.redis.pending == [[0; BATCHES]; INTERVALS];
    if is_idle || is_full && world.without(Mutation::BoundIsTestedBefore) {
        return None;
    }
    state.flushers[number].step = Step::Begin(row.flush.number);
    Some(())
}

/// The flush under way, begun now unless there is one.
fn begin(state: &mut State, number: usize) -> Option<()> {
    let Step::Begin(in_ledger) = std::mem::take(&mut state.flushers[number].step) else {
        return None;
    };
    let Some(view) = state.flushers[number].view else {
        return Some(());
    };
    let redis = &mut state.redis;
    if redis.term == Some(view.term) && redis.flush < in_ledger {
        redis.term = None;
    }
    if redis.term != Some(view.term) {
        state.flushers[number].view = None;
        return Some(());
    }
    if redis.flushing.is_none() {
        let mut pending = (0..).zip(&mut redis.pending);
        let oldest = pending.find(|(_, batches)| **batches != [0; BATCHES]);
        let Some((interval, batches)) = oldest else {
            return Some(());
        };
        let batches = std::mem::take(batches);
        redis.flush += 1;
        redis.flushing = Some(Flush {
            id: FlushId {
                number: redis.flush,
                name: state.books.slips,
            },
            clicks: Clicks { interval, batches },
            piece: 0,
        });
    }
    let Flush { id, clicks, piece } = redis.flushing?;
    state.flushers[number].step = Step::ReadPiece {
        view,
        id,
        interval: clicks.interval,
        piece,
    };
    Some(())
}

/// Reads a piece, and how far it is written.
fn read_piece(world: &World, state: &mut State, number: usize) -> Option<()> {
    let step = std::mem::take(&mut state.flushers[number].step);
    let Step::ReadPiece {
        view,
        id,
        interval,
        piece,
    } = step
    else {
        return None;
    };
    if state.redis.term != Some(view.term) {
        state.flushers[number].view = None;
        return Some(());
    }
    let has_no_name = world.without(Mutation::PieceHasNoName);
    let is_same = |found: FlushId| found == id || found.number == id.number && has_no_name;
    let Some(flush) = state.redis.flushing.filter(|flush| is_same(flush.id)) else {
        // Another instance finished it, or Redis went back: the next flush finds out.
        return Some(());
    };
    if piece < flush.piece {
        return Some(());
    }
    let row = state.database.row(view.epoch)?;
    let mark = match id.number.cmp(&row.flush.number) {
        _ if row.term != view.term => return Some(()),
        std::cmp::Ordering::Less => return Some(()),
        std::cmp::Ordering::Greater => 0,
        std::cmp::Ordering::Equal
            if row.flush == id || world.without(Mutation::NameIsNotTested) =>
        {
            row.up_to
        }
        std::cmp::Ordering::Equal => {
            doubt(state, number, view);
            return Some(());
        }
    };
    state.flushers[number].step = Step::WriteParts(Piece {
        view,
        id,
        number: piece,
        clicks: Clicks {
            interval,
            ..flush.clicks
        },
        mark,
    });
    Some(())
}

/// Inserts the part of the next link, and moves the ledger's mark. `None` while it has to wait for a merge.
fn write_part(world: &World, state: &mut State, mut piece: Piece) -> Option<Step> {
    let row = state.database.row(piece.view.epoch)?;
    let (number, mark) = (piece.id.number, piece.mark);
    if row.term != piece.view.term {
        if !world.without(Mutation::TermIsNotTested) {
            return Some(Step::ReadLedger);
        }
        state.breaks(Broken::WrittenUnderFormerTerm);
    }
    let is_same = row.flush == piece.id
        || row.flush.number == number && world.without(Mutation::NameIsNotTested);
    let is_at_mark = is_same && (row.up_to == mark || world.without(Mutation::MarkIsNotTested))
        || row.flush.number < number && mark == 0;
    if !is_at_mark {
        piece.mark = if is_same { row.up_to } else { 0 };
        // Without the name, the next look at the ledger finds out.
        return Some(if is_same {
            Step::WriteParts(piece)
        } else {
            Step::ReadLedger
        });
    }
    let is_first = row.flush.number < number;
    let is_full = state.database.unmerged(piece.view.epoch) >= world.unmerged;
    if is_first && is_full && !world.without(Mutation::BoundIsTestedBefore) {
        return None;
    }
    let is_last = mark + 1 == world.end_of(piece.number);
    if is_last && !world.without(Mutation::PieceIsNotDurable) {
        state.commit();
    } else {
        state.commit_later();
    }
    let added = (piece.view.epoch, number, mark);
    match state.database.added.binary_search(&added) {
        Ok(_) => state.breaks(Broken::AppendedTwice),
        Err(at) => state.database.added.insert(at, added),
    }
    let key = Key::Flush {
        epoch: piece.view.epoch,
        number,
        name: piece.id.name,
        link: mark,
    };
    insert(world, state, key, mark..mark + 1, piece.clicks);
    if world.without(Mutation::MarkInAnotherTransaction) {
        return Some(Step::MoveMark(piece));
    }
    let row = state.database.row_mut(piece.view.epoch)?;
    piece.mark += 1;
    (row.flush, row.up_to) = (piece.id, piece.mark);
    Some(Step::WriteParts(piece))
}

pub(super) fn insert(
    world: &World,
    state: &mut State,
    key: Key,
    links: std::ops::Range<usize>,
    mut clicks: Clicks,
) {
    if world.without(Mutation::IntervalIsOfNow) {
        clicks.interval = state.interval;
    }
    let part = Part {
        key,
        mark: links.start,
        end: links.end,
        clicks,
    };
    let parts = &mut state.database.parts;
    parts.push(part);
    parts.sort_unstable();
}

/// Has Redis forget a piece, which has to be in the database for good.
fn forget_piece(world: &World, state: &mut State, number: usize, piece: Piece) {
    let redis = &mut state.redis;
    if redis.term != Some(piece.view.term) {
        state.flushers[number].view = None;
        return;
    }
    let has_no_name = world.without(Mutation::ForgettingHasNoName);
    let is_same =
        |found: FlushId| found == piece.id || found.number == piece.id.number && has_no_name;
    let Some(flush) = redis.flushing.filter(|flush| is_same(flush.id)) else {
        return;
    };
    let next = piece.number + 1;
    let is_last = world.end_of(piece.number) == LINKS;
    if flush.piece == piece.number {
        redis.flushing = (!is_last).then_some(Flush {
            piece: next,
            ..flush
        });
        let durable = state.durable.as_deref().unwrap_or(&state.database);
        let is_durable = durable.row(piece.view.epoch).is_some_and(|row| {
            (row.flush.number, row.up_to) >= (piece.id.number, world.end_of(piece.number))
        });
        if !is_durable {
            state.breaks(Broken::ForgottenEarly);
        }
    }
    if !is_last {
        state.flushers[number].step = Step::ReadPiece {
            view: piece.view,
            id: piece.id,
            interval: piece.clicks.interval,
            piece: next,
        };
    }
}

/// Has the data set recovered: the ledger has another flush under the number of this one.
fn doubt(state: &mut State, number: usize, view: View) {
    if state.redis.term == Some(view.term) {
        (state.redis.term, state.redis.is_doubted) = (None, true);
    }
    state.flushers[number].view = None;
}
