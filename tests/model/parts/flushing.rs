//! How a flush is appended, piece by piece.

use std::cmp::Ordering;
use std::ops::Range;

use super::actions::Action;
use super::properties::Broken;
use super::state::{
    BATCHES, Clicks, Flush, FlushId, INTERVALS, Key, LINKS, OfFlush, Part, Piece, State, Step, View,
};
use super::{Mutation, World};

/// What a flusher may do next.
pub(super) fn possible(world: &World, state: &State, number: usize, actions: &mut Vec<Action>) {
    let flusher = &state.flushers[number];
    match flusher.step {
        Step::ReadLedger if flusher.view.is_none() => actions.push(Action::TakeIntoUse(number)),
        Step::ReadLedger => actions.push(Action::ReadLedger(number)),
        Step::Begin(_) => actions.push(Action::BeginFlush(number)),
        Step::ReadMark(_) => actions.push(Action::ReadMark(number)),
        Step::ReadPiece { mark, durable, .. } => {
            let is_cut = world.pieces > 1;
            let ends = mark + 1..LINKS;
            let ends = ends.filter(|_| is_cut).chain([LINKS]);
            actions.extend(ends.map(|end| Action::ReadPiece {
                flusher: number,
                end,
            }));
            if durable > 0 {
                actions.push(Action::ForgetLinks(number));
            }
        }
        Step::ReadRest(_) => actions.push(Action::ReadRest(number)),
        Step::MoveMark(_) => actions.push(Action::MoveMark(number)),
        Step::WriteParts(piece) if piece.mark < piece.end => {
            actions.push(Action::WritePart(number));
            if world.without(Mutation::PieceIsForgottenEarly) {
                actions.push(Action::EndPiece(number));
            }
        }
        Step::WriteParts(_) => actions.push(Action::EndPiece(number)),
        Step::FinishFlush(_) => actions.push(Action::FinishFlush(number)),
    }
}

pub(super) fn step(world: &World, state: &mut State, action: Action) -> Option<()> {
    let (Action::ReadLedger(number)
    | Action::BeginFlush(number)
    | Action::ReadMark(number)
    | Action::ReadPiece {
        flusher: number, ..
    }
    | Action::ReadRest(number)
    | Action::WritePart(number)
    | Action::MoveMark(number)
    | Action::EndPiece(number)
    | Action::ForgetLinks(number)
    | Action::FinishFlush(number)) = action
    else {
        return None;
    };
    let step = std::mem::take(&mut state.flushers[number].step);
    state.flushers[number].step = match (action, step) {
        (Action::ReadLedger(_), Step::ReadLedger) => read_ledger(world, state, number)?,
        (Action::BeginFlush(_), Step::Begin(in_ledger)) => begin(state, number, in_ledger),
        (Action::ReadMark(_), Step::ReadMark(of_flush)) => {
            read_mark(world, state, number, of_flush)
        }
        (
            Action::ReadPiece { end, .. },
            Step::ReadPiece {
                of_flush,
                mark,
                durable,
            },
        ) => {
            let mut piece = Piece {
                of_flush,
                begin: mark,
                end,
                mark,
                durable,
                clicks: [[0; BATCHES]; LINKS],
            };
            piece.read(state, mark..mark + 1);
            Step::ReadRest(piece)
        }
        (Action::ReadRest(_), Step::ReadRest(piece)) => read_rest(world, state, number, piece),
        (Action::WritePart(_), Step::WriteParts(piece)) => write_part(world, state, piece)?,
        (Action::MoveMark(_), Step::MoveMark(mut piece)) => {
            let row = state.database.row_mut(piece.of_flush.view.epoch)?;
            piece.mark += 1;
            (row.flush, row.up_to) = (piece.of_flush.id, piece.mark);
            Step::WriteParts(piece)
        }
        (Action::EndPiece(_), Step::WriteParts(piece)) => end_piece(world, state, piece),
        (
            Action::ForgetLinks(_),
            Step::ReadPiece {
                of_flush,
                mark,
                durable,
            },
        ) => {
            if forget(world, state, number, of_flush, durable) {
                Step::ReadPiece {
                    of_flush,
                    mark,
                    durable,
                }
            } else {
                Step::ReadLedger
            }
        }
        (Action::FinishFlush(_), Step::FinishFlush(of_flush)) => {
            forget(world, state, number, of_flush, LINKS);
            Step::ReadLedger
        }
        _ => return None,
    };
    Some(())
}

fn read_ledger(world: &World, state: &mut State, number: usize) -> Option<Step> {
    let view = state.flushers[number].view?;
    let row = state.database.row(view.epoch);
    let Some(row) = row.filter(|row| row.term == view.term) else {
        state.flushers[number].view = None;
        return Some(Step::ReadLedger);
    };
    let is_full = state.database.unmerged(view.epoch) >= world.unmerged;
    let is_idle =
        state.redis.flushing.is_none() && state.redis.pending == [[0; BATCHES]; INTERVALS];
    if is_idle || is_full && world.without(Mutation::BoundIsTestedBefore) {
        return None;
    }
    Some(Step::Begin(row.flush.number))
}

/// The flush under way, begun now unless there is one.
fn begin(state: &mut State, number: usize, in_ledger: u8) -> Step {
    let Some(view) = state.flushers[number].view else {
        return Step::ReadLedger;
    };
    let redis = &mut state.redis;
    if redis.term == Some(view.term) && redis.flush < in_ledger {
        redis.term = None;
    }
    if redis.term != Some(view.term) {
        state.flushers[number].view = None;
        return Step::ReadLedger;
    }
    if redis.flushing.is_none() {
        let mut pending = (0..).zip(&mut redis.pending);
        let oldest = pending.find(|(_, batches)| **batches != [0; BATCHES]);
        let Some((interval, batches)) = oldest else {
            return Step::ReadLedger;
        };
        let batches = std::mem::take(batches);
        redis.flush += 1;
        redis.flushing = Some(Flush {
            id: FlushId {
                number: redis.flush,
                name: state.books.slips,
            },
            clicks: Clicks { interval, batches },
            forgotten: 0,
        });
    }
    redis
        .flushing
        .map_or(Step::ReadLedger, |Flush { id, clicks, .. }| {
            let interval = clicks.interval;
            Step::ReadMark(OfFlush { view, id, interval })
        })
}

/// Reads how far a flush is written.
fn read_mark(world: &World, state: &mut State, number: usize, of_flush: OfFlush) -> Step {
    let Some(row) = state.database.row(of_flush.view.epoch) else {
        return Step::ReadLedger;
    };
    let is_same = row.flush == of_flush.id || world.without(Mutation::NameIsNotTested);
    let mark = match of_flush.id.number.cmp(&row.flush.number) {
        _ if row.term != of_flush.view.term => return Step::ReadLedger,
        Ordering::Less => return Step::ReadLedger,
        Ordering::Greater => 0,
        Ordering::Equal if is_same => row.up_to,
        Ordering::Equal => {
            doubt(state, number, of_flush.view);
            return Step::ReadLedger;
        }
    };
    if mark == LINKS {
        return Step::FinishFlush(of_flush);
    }
    Step::ReadPiece {
        of_flush,
        mark,
        durable: if world.without(Mutation::MarkIsTakenForDurable) {
            mark
        } else {
            0
        },
    }
}

/// Reads the rest of a piece, and asks last whether all was of that flush.
fn read_rest(world: &World, state: &mut State, number: usize, mut piece: Piece) -> Step {
    let OfFlush { view, id, .. } = piece.of_flush;
    if state.redis.term != Some(view.term) {
        state.flushers[number].view = None;
        return Step::ReadLedger;
    }
    piece.read(state, piece.begin + 1..piece.end);
    let is_there = state.redis.flushing.is_some_and(|flush| flush.id == id);
    if !is_there && !world.without(Mutation::PieceHasNoName) {
        // Another instance finished it, or Redis went back: the next flush finds out.
        return Step::ReadLedger;
    }
    Step::WriteParts(piece)
}

/// Inserts the part of the next link, and moves the ledger's mark. `None` while it has to wait for a merge.
fn write_part(world: &World, state: &mut State, mut piece: Piece) -> Option<Step> {
    let OfFlush { view, id, interval } = piece.of_flush;
    let row = state.database.row(view.epoch)?;
    let (number, mark) = (id.number, piece.mark);
    if row.term != view.term {
        if !world.without(Mutation::TermIsNotTested) {
            return Some(Step::ReadLedger);
        }
        state.breaks(Broken::WrittenUnderFormerTerm);
    }
    let is_same =
        row.flush == id || row.flush.number == number && world.without(Mutation::NameIsNotTested);
    let is_at_mark = is_same && (row.up_to == mark || world.without(Mutation::MarkIsNotTested))
        || row.flush.number < number && mark == 0;
    if !is_at_mark {
        // Without the name, the next look at the ledger finds out.
        if !is_same && row.flush.number >= number {
            return Some(Step::ReadLedger);
        }
        piece.mark = if is_same { row.up_to } else { 0 };
        if piece.mark < piece.begin && !world.without(Mutation::PieceIsNotReadAgain) {
            return Some(piece.next());
        }
        return Some(Step::WriteParts(piece));
    }
    let is_first = row.flush.number < number;
    let is_full = state.database.unmerged(view.epoch) >= world.unmerged;
    if is_first && is_full && !world.without(Mutation::BoundIsTestedBefore) {
        return None;
    }
    let link = mark.max(piece.begin);
    if link + 1 == LINKS {
        state.commit();
    } else {
        state.commit_later();
    }
    let added = (view.epoch, number, link);
    match state.database.added.binary_search(&added) {
        Ok(_) => state.breaks(Broken::AppendedTwice),
        Err(at) => state.database.added.insert(at, added),
    }
    let key = Key::Flush {
        epoch: view.epoch,
        number,
        name: id.name,
        link,
    };
    let clicks = Clicks {
        interval,
        batches: piece.clicks[link],
    };
    insert(world, state, key, link..link + 1, clicks);
    if world.without(Mutation::MarkInAnotherTransaction) {
        return Some(Step::MoveMark(piece));
    }
    piece.mark = link + 1;
    if piece.mark == piece.end && world.without(Mutation::CutPieceEndsFlush) {
        (piece.mark, piece.end) = (LINKS, LINKS);
    }
    let row = state.database.row_mut(view.epoch)?;
    (row.flush, row.up_to) = (id, piece.mark);
    Some(Step::WriteParts(piece))
}

/// Makes a piece durable before Redis may forget it, by a transaction that finds the mark where it was left. The last part of a
/// flush was durable by itself.
fn end_piece(world: &World, state: &mut State, mut piece: Piece) -> Step {
    if piece.mark == LINKS {
        return Step::FinishFlush(piece.of_flush);
    }
    if piece.mark < piece.end {
        // A mutated flusher.
        piece.durable = piece.end;
        return piece.next();
    }
    let OfFlush { view, id, .. } = piece.of_flush;
    let row = state.database.row(view.epoch);
    if row.is_none_or(|row| (row.term, row.flush, row.up_to) != (view.term, id, piece.mark)) {
        return Step::ReadMark(piece.of_flush);
    }
    if !world.without(Mutation::PieceIsNotDurable) {
        state.commit();
    }
    piece.durable = piece.mark;
    piece.next()
}

impl Piece {
    /// Reads links of whatever flush has this number.
    fn read(&mut self, state: &State, links: Range<usize>) {
        let OfFlush { view, id, .. } = self.of_flush;
        let flushing = state.redis.flushing;
        let flushing = flushing
            .filter(|flush| (state.redis.epoch, flush.id.number) == (view.epoch, id.number));
        for link in links {
            let found = flushing.filter(|flush| flush.forgotten <= link);
            self.clicks[link] = found.map_or([0; BATCHES], |flush| flush.clicks.batches);
        }
    }

    /// The one from its mark on.
    fn next(self) -> Step {
        Step::ReadPiece {
            of_flush: self.of_flush,
            mark: self.mark,
            durable: self.durable,
        }
    }
}

pub(super) fn insert(
    world: &World,
    state: &mut State,
    key: Key,
    links: Range<usize>,
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

/// Has Redis forget the links before this one, which have to be in the database for good; with the last of them it forgets the
/// flush. Returns whether the flush was there.
fn forget(
    world: &World,
    state: &mut State,
    number: usize,
    of_flush: OfFlush,
    up_to: usize,
) -> bool {
    let OfFlush { view, id, .. } = of_flush;
    let redis = &mut state.redis;
    if redis.term != Some(view.term) {
        state.flushers[number].view = None;
        return false;
    }
    let has_no_name = world.without(Mutation::ForgettingHasNoName);
    let is_same = |found: FlushId| found == id || found.number == id.number && has_no_name;
    let Some(flush) = redis.flushing.filter(|flush| is_same(flush.id)) else {
        return false;
    };
    if flush.forgotten < up_to {
        redis.flushing = (up_to < LINKS).then_some(Flush {
            forgotten: up_to,
            ..flush
        });
        let durable = state.durable.as_deref().unwrap_or(&state.database);
        let is_durable = durable
            .row(view.epoch)
            .is_some_and(|row| (row.flush.number, row.up_to) >= (id.number, up_to));
        if !is_durable {
            state.breaks(Broken::ForgottenEarly);
        }
    }
    true
}

/// Has the data set recovered: the ledger has another flush under the number of this one.
fn doubt(state: &mut State, number: usize, view: View) {
    if state.redis.term == Some(view.term) {
        (state.redis.term, state.redis.is_doubted) = (None, true);
    }
    state.flushers[number].view = None;
}
