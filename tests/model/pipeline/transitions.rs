//! What each action does.

use super::actions::Action;
use super::redis::Record;
use super::state::{Awaited, Batch, CLASSES, Entry, InDoubt, Message, State};
use super::{Mutation, World, database, flushing, reading, recovery, redis};

/// `None` where the action can do nothing.
pub(super) fn apply(world: &World, state: &mut State, action: Action) -> Option<()> {
    match action {
        Action::Visit(instance) => visit(world, state, instance),
        Action::NotSent(instance) => not_sent(state, instance)?,
        Action::Late(instance) => late(world, state, instance)?,
        Action::Arrive(message) => arrive(world, state, message, false),
        Action::ArriveWithReply(message) => arrive(world, state, message, true),
        Action::Redeliver(instance) => redeliver(world, state, instance)?,
        Action::Settle { instance, batch } => settle(world, state, instance, batch)?,
        Action::Compact { batch } => database::compact(world, state, batch)?,
        Action::ReadLedger(_)
        | Action::BeginFlush(_)
        | Action::WritePart(_)
        | Action::FinishFlush(_) => {
            flushing::step(world, state, &action)?;
        }
        Action::BeginCount(instance) => reading::begin(world, state, instance)?,
        Action::ReadRedis(instance) => reading::read_redis(world, state, instance)?,
        Action::ReadDatabase(instance) => reading::read_database(world, state, instance)?,
        Action::ReadTerms(instance) => recovery::read_terms(state, instance)?,
        Action::Raise { instance, server } => recovery::raise(state, instance, server)?,
        Action::Note(instance) => recovery::note(world, state, instance)?,
        Action::Kill(instance) => recovery::kill(state, instance),
        Action::CrashDatabase => {
            state.left.crashes -= 1;
            state.database = *state.durable.take()?;
        }
        Action::Snapshot { server } => {
            state.left.snapshots -= 1;
            let server = &mut state.servers[server];
            server.snapshot = Some(Box::new(server.data.clone()));
        }
        Action::Restart { server, with } => recovery::restart(state, server, with),
        Action::SlipBack { server } => recovery::slip_back(state, server),
        Action::TakeOver { with } => recovery::take_over(state, with),
        Action::EndInterval => state.interval += 1,
        Action::ReplaceLink => {
            database::commit(state);
            state.database.is_replaced = true;
            if !world.without(Mutation::IdsAreReused) {
                state.database.links[0] = <_>::default();
            }
        }
    }
    Some(())
}

fn visit(world: &World, state: &mut State, number: usize) {
    let instance = &mut state.instances[number];
    instance.number += 1;
    let index = state.batches.len();
    state.batches.push(Batch {
        instance: number,
        recorder: 2 * number + usize::from(instance.starts),
        number: instance.number,
        interval: state.interval,
        class: index % CLASSES,
        successor: state.database.is_replaced,
    });
    if world.without(Mutation::AnswerBeforeAcknowledgement) {
        state.books.answered.insert(index);
    }
    let may_send = instance.in_doubt.is_none() && instance.buffered == <_>::default()
        || world.without(Mutation::NewerWhileInDoubt);
    if may_send && instance.in_use().is_some() {
        send_to_redis(state, number, index);
    } else {
        without_redis(state, number, index);
    }
}

fn send_to_redis(state: &mut State, number: usize, batch: usize) {
    let instance = &mut state.instances[number];
    let Some(view) = instance.in_use() else {
        return;
    };
    let (term, acknowledged) = instance.acknowledged;
    let acknowledged = if term == view.term { acknowledged } else { 0 };
    instance.awaited = Some((batch, Awaited::Redis { epoch: view.epoch }));
    let (server, term) = (view.server, view.term);
    state.send(Message::Record {
        server,
        term,
        acknowledged,
        batch,
        again: false,
    });
}

/// A batch that Redis was not sent, or refused.
fn without_redis(state: &mut State, number: usize, batch: usize) {
    let instance = &mut state.instances[number];
    if instance.buffered.has(batch) {
        // It was in memory before, and stays there.
        instance.awaited = None;
    } else if instance.can_use_journal() {
        instance.awaited = Some((batch, Awaited::Journal));
        state.send(Message::Append {
            batch,
            parked: None,
        });
    } else {
        keep_in_memory(state, number, batch);
    }
}

fn keep_in_memory(state: &mut State, number: usize, batch: usize) {
    let instance = &mut state.instances[number];
    instance.awaited = None;
    instance.buffered.insert(batch);
    state.books.answered.insert(batch);
}

/// The request of the awaited batch is taken back: it was not sent.
fn not_sent(state: &mut State, number: usize) -> Option<()> {
    let (awaited, to) = state.instances[number].awaited?;
    let is_its_own = |message: &Message| match (message, to) {
        (
            Message::Record {
                batch,
                again: false,
                ..
            },
            Awaited::Redis { .. },
        )
        | (
            Message::Append {
                batch,
                parked: None,
            },
            Awaited::Journal,
        ) => *batch == awaited,
        _ => false,
    };
    let at = state.network.iter().position(is_its_own)?;
    state.network.remove(at);
    match to {
        Awaited::Redis { .. } => without_redis(state, number, awaited),
        _ => keep_in_memory(state, number, awaited),
    }
    Some(())
}

fn late(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &mut state.instances[number];
    let (batch, to) = instance.awaited.take()?;
    match to {
        Awaited::Redis { .. } if world.without(Mutation::DoubtChangesSinks) => {
            without_redis(state, number, batch);
            return Some(());
        }
        Awaited::Redis { epoch } => {
            let was_answered = instance.buffered.has(batch);
            instance.buffered.remove(batch);
            let may_park = instance.can_use_journal() && !was_answered;
            instance.in_doubt = Some(InDoubt {
                batch,
                epoch,
                parked: false,
            });
            if may_park {
                instance.awaited = Some((batch, Awaited::Park));
                state.send(Message::Append {
                    batch,
                    parked: Some(epoch),
                });
                return Some(());
            }
        }
        Awaited::Journal => instance.unacknowledged = Some(batch),
        Awaited::Park => {}
    }
    state.books.answered.insert(batch);
    Some(())
}

fn arrive(world: &World, state: &mut State, message: Message, replies: bool) {
    state.network.retain(|other| *other != message);
    match message {
        Message::Record {
            server,
            term,
            acknowledged,
            batch,
            again,
        } => {
            let call = Record {
                server,
                term,
                acknowledged,
                batch,
            };
            if !redis::record(world, state, &call) {
                refused(state, batch, again);
            } else if replies {
                recorded(state, batch, again);
            } else {
                state.send(Message::Recorded { batch, again });
            }
        }
        Message::Append { batch, parked } => {
            database::append(world, state, batch, parked);
            if replies {
                appended(state, batch, parked.is_some());
            } else {
                state.send(Message::Appended {
                    batch,
                    parked: parked.is_some(),
                });
            }
        }
        Message::Recorded { batch, again } => recorded(state, batch, again),
        Message::Appended { batch, parked } => appended(state, batch, parked),
        Message::Release { batch } => database::release(state, batch),
    }
}

/// The instance that sent a batch, unless it was killed since.
fn sender(state: &State, batch: usize) -> Option<usize> {
    let batch = state.batches[batch];
    let starts = usize::from(state.instances[batch.instance].starts);
    (batch.recorder == 2 * batch.instance + starts).then_some(batch.instance)
}

fn refused(state: &mut State, batch: usize, again: bool) {
    let Some(number) = sender(state, batch) else {
        return;
    };
    let instance = &mut state.instances[number];
    let is_awaited =
        matches!(instance.awaited, Some((awaited, Awaited::Redis { .. })) if awaited == batch);
    if again || is_awaited {
        instance.view = None;
    }
    if is_awaited && !again {
        without_redis(state, number, batch);
    }
}

fn recorded(state: &mut State, batch: usize, again: bool) {
    let Some(number) = sender(state, batch) else {
        return;
    };
    let instance = &mut state.instances[number];
    match instance.awaited {
        Some((awaited, Awaited::Redis { .. })) if awaited == batch && !again => {
            instance.awaited = None;
            instance.buffered.remove(batch);
            if let Some(view) = instance.view {
                instance.acknowledged = (view.term, state.batches[batch].number);
            }
            state.books.answered.insert(batch);
        }
        _ => {}
    }
    if again
        && instance
            .in_doubt
            .is_some_and(|in_doubt| in_doubt.batch == batch)
        && instance.awaited.is_none_or(|(awaited, _)| awaited != batch)
    {
        instance.in_doubt = None;
        state.send(Message::Release { batch });
    }
}

fn appended(state: &mut State, batch: usize, parked: bool) {
    let Some(number) = sender(state, batch) else {
        return;
    };
    let instance = &mut state.instances[number];
    if let Some(in_doubt) = instance
        .in_doubt
        .as_mut()
        .filter(|in_doubt| parked && in_doubt.batch == batch)
    {
        in_doubt.parked = true;
    }
    if !parked && instance.unacknowledged == Some(batch) {
        instance.unacknowledged = None;
    }
    let is_awaited = matches!(
        (instance.awaited, parked),
        (Some((awaited, Awaited::Journal)), false) | (Some((awaited, Awaited::Park)), true) if awaited == batch
    );
    if is_awaited {
        instance.awaited = None;
        state.books.answered.insert(batch);
    }
}

/// One attempt with the batch that has to go first.
fn redeliver(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &state.instances[number];
    let is_awaited = |batch| {
        instance
            .awaited
            .is_some_and(|(awaited, _)| awaited == batch)
    };
    if let (Some(in_doubt), Some(view)) = (instance.in_doubt, instance.in_use()) {
        let batch = in_doubt.batch;
        if is_awaited(batch) {
            return None;
        }
        if view.epoch == in_doubt.epoch || world.without(Mutation::DoubtOutlivesItsEpoch) {
            let (server, term) = (view.server, view.term);
            state.send(Message::Record {
                server,
                term,
                acknowledged: 0,
                batch,
                again: true,
            });
        } else if state.database.newest()?.term == view.term {
            recovery::admit_dropped(state, batch);
            state.instances[number].in_doubt = None;
            state.send(Message::Release { batch });
        } else {
            return None;
        }
        return Some(());
    }
    if let Some(batch) = instance.unacknowledged {
        state.send(Message::Append {
            batch,
            parked: None,
        });
        return Some(());
    }
    if let Some(in_doubt) = instance
        .in_doubt
        .filter(|in_doubt| !in_doubt.parked && !is_awaited(in_doubt.batch))
    {
        let (batch, parked) = (in_doubt.batch, Some(in_doubt.epoch));
        state.send(Message::Append { batch, parked });
        return Some(());
    }
    let batch = instance
        .buffered
        .first()
        .filter(|_| instance.awaited.is_none())?;
    if instance.in_doubt.is_some_and(|in_doubt| !in_doubt.parked) {
        return None;
    }
    let instance = &mut state.instances[number];
    // Batches after it may have been sent meanwhile.
    if state.batches[batch].number < instance.number {
        instance.number += 1;
        state.batches[batch].number = instance.number;
    }
    if instance.in_doubt.is_none() && instance.in_use().is_some() {
        send_to_redis(state, number, batch);
    } else {
        instance.buffered.remove(batch);
        instance.unacknowledged = Some(batch);
        state.send(Message::Append {
            batch,
            parked: None,
        });
    }
    Some(())
}

/// Any instance sends a parked batch to Redis, and then has the database release it.
fn settle(world: &World, state: &mut State, number: usize, batch: usize) -> Option<()> {
    let Some(Entry::Parked { epoch }) = state.database.journal[batch] else {
        return None;
    };
    let view = state.instances[number].in_use()?;
    if view.epoch == epoch || world.without(Mutation::DoubtOutlivesItsEpoch) {
        let (server, term) = (view.server, view.term);
        let call = Record {
            server,
            term,
            acknowledged: 0,
            batch,
        };
        if !redis::record(world, state, &call) {
            state.instances[number].view = None;
            return Some(());
        }
    } else if state.database.newest()?.term == view.term {
        recovery::admit_dropped(state, batch);
    } else {
        return None;
    }
    state.send(Message::Release { batch });
    Some(())
}

impl Message {
    /// Whether it is a request to this server.
    pub(super) fn is_for(&self, number: usize) -> bool {
        matches!(self, Self::Record { server, .. } if *server == number)
    }
}
