//! What may happen next, and what comes of it.

use super::state::{Batch, CLASSES, LINKS, State, Step};
use super::{World, flushing, merging, reading, recovery};

/// What happens. `usize` names an instance unless its name says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Visitors follow both links, and Redis counts the batch.
    Visit,
    /// The batch is sent to the journal.
    VisitWithoutRedis,
    /// A batch arrives at the journal, once or again.
    Append {
        batch: usize,
    },
    /// A flush: the ledger is read, a flush begun, its mark read. A piece, up to any link, is read in two steps; a part is
    /// written; the piece is made durable. Links of former pieces are forgotten, and in the end the flush.
    ReadLedger(usize),
    BeginFlush(usize),
    ReadMark(usize),
    ReadPiece {
        flusher: usize,
        end: usize,
    },
    ReadRest(usize),
    WritePart(usize),
    MoveMark(usize),
    EndPiece(usize),
    ForgetLinks(usize),
    FinishFlush(usize),
    /// A merge: parts are read up to a link, and merged.
    ReadParts {
        merger: usize,
        up_to: usize,
    },
    Merge(usize),
    /// Counts: they are read of Redis, link by link, and of the database.
    ReadRedis {
        link: usize,
    },
    ReadDatabase,
    TakeIntoUse(usize),
    Kill(usize),
    CrashDatabase,
    /// A replica or a snapshot gets Redis's data.
    Snapshot,
    /// Redis starts again with its data.
    Restart,
    /// Redis has the data of the snapshot: it starts again, or beneath living connections.
    GoBack {
        is_noticed: bool,
    },
    EndInterval,
    DeleteLink {
        link: usize,
    },
}

pub(super) fn possible(world: &World, state: &State, actions: &mut Vec<Action>) {
    if state.batches.len() < usize::from(world.batches) {
        actions.push(Action::Visit);
        if world.journal {
            actions.push(Action::VisitWithoutRedis);
        }
    }
    for (batch, sent) in state.batches.iter().enumerate() {
        if sent.is_of_journal {
            actions.push(Action::Append { batch });
        }
    }
    for flusher in 0..usize::from(world.flushers) {
        flushing::possible(world, state, flusher, actions);
        if state.left.kills > 0 && state.flushers[flusher].step != Step::ReadLedger {
            actions.push(Action::Kill(flusher));
        }
    }
    for merger in 0..usize::from(world.mergers) {
        match &state.mergers[merger] {
            Some(_) => actions.push(Action::Merge(merger)),
            None => actions.extend((1..=LINKS).map(|up_to| Action::ReadParts { merger, up_to })),
        }
        if state.left.kills > 0 && state.mergers[merger].is_some() {
            actions.push(Action::Kill(merger));
        }
    }
    reading::possible(state, actions);
    if state.left.crashes > 0 && state.durable.is_some() {
        actions.push(Action::CrashDatabase);
    }
    if state.left.redis_faults > 0 {
        actions.push(Action::Restart);
        match state.snapshot {
            Some(_) => {
                actions.extend([true, false].map(|is_noticed| Action::GoBack { is_noticed }));
            }
            None => actions.push(Action::Snapshot),
        }
    }
    if world.intervals && state.interval == 0 {
        actions.push(Action::EndInterval);
    }
    if state.left.deletes > 0 {
        actions.extend((0..LINKS).map(|link| Action::DeleteLink { link }));
    }
}

/// `None` where the action can do nothing.
pub(super) fn apply(world: &World, state: &mut State, action: Action) -> Option<()> {
    match action {
        Action::Visit => visit(state)?,
        Action::VisitWithoutRedis => {
            send(state, true);
        }
        Action::Append { batch } => merging::append(world, state, batch)?,
        Action::ReadLedger(_)
        | Action::BeginFlush(_)
        | Action::ReadMark(_)
        | Action::ReadPiece { .. }
        | Action::ReadRest(_)
        | Action::WritePart(_)
        | Action::MoveMark(_)
        | Action::EndPiece(_)
        | Action::ForgetLinks(_)
        | Action::FinishFlush(_) => flushing::step(world, state, action)?,
        Action::ReadParts { merger, up_to } => merging::read(world, state, merger, up_to)?,
        Action::Merge(merger) => merging::write(world, state, merger)?,
        Action::ReadRedis { link } => reading::read_redis(world, state, link)?,
        Action::ReadDatabase => reading::read_database(world, state)?,
        Action::TakeIntoUse(instance) => recovery::take_into_use(world, state, instance)?,
        Action::Kill(instance) => {
            state.left.kills -= 1;
            state.flushers[instance].step = Step::ReadLedger;
            state.mergers[instance] = None;
        }
        Action::CrashDatabase => {
            state.left.crashes -= 1;
            state.database = *state.durable.take()?;
        }
        Action::Snapshot => state.snapshot = Some(Box::new(state.redis.clone())),
        Action::Restart => recovery::restart(state),
        Action::GoBack { is_noticed } => recovery::go_back(world, state, is_noticed)?,
        Action::EndInterval => state.interval += 1,
        Action::DeleteLink { link } => merging::delete(world, state, link)?,
    }
    Some(())
}

fn visit(state: &mut State) -> Option<()> {
    state.redis.term?;
    let batch = send(state, false);
    state.redis.pending[usize::from(state.interval)][batch] += 1;
    state.books.answered.insert(batch);
    Some(())
}

fn send(state: &mut State, is_of_journal: bool) -> usize {
    let batch = state.batches.len();
    state.batches.push(Batch {
        interval: state.interval,
        class: batch % CLASSES,
        is_of_journal,
    });
    batch
}
