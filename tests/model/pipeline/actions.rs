//! What may happen next.

use super::state::{BATCHES, Flush, LINKS, Message, Set, State};
use super::{Mutation, World};

/// What happens. `usize` names an instance unless its name says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Visitors follow both links, and their batch is sent.
    Visit(usize),
    /// The batch could not be sent, for want of a connection.
    NotSent(usize),
    /// The deadline of the batch ends.
    Late(usize),
    /// A message arrives, and its reply with it, later, or never.
    Arrive(Message),
    ArriveWithReply(Message),
    /// What is in doubt or in memory is sent again.
    Redeliver(usize),
    /// A parked batch is settled.
    Settle {
        instance: usize,
        batch: usize,
    },
    /// A batch of the journal is counted.
    Compact {
        batch: usize,
    },
    /// A flush: the ledger is read, a flush begun, a part written, the flush finished.
    ReadLedger(usize),
    BeginFlush(usize),
    WritePart(usize),
    FinishFlush(usize),
    /// A count: it begins, reads Redis, reads the database.
    BeginCount(usize),
    ReadRedis(usize),
    ReadDatabase(usize),
    /// The terms are read.
    ReadTerms(usize),
    /// A server is to be used: the ledger gives a term, Redis notes it.
    Raise {
        instance: usize,
        server: usize,
    },
    Note(usize),
    Kill(usize),
    CrashDatabase,
    Snapshot {
        server: usize,
    },
    /// Redis starts again with its data, with older data, or with none.
    Restart {
        server: usize,
        with: Data,
    },
    /// Redis has older data beneath living connections.
    SlipBack {
        server: usize,
    },
    TakeOver {
        with: Data,
    },
    /// An interval ends.
    EndInterval,
    /// The first link is deleted, and another one made.
    ReplaceLink,
}

/// With which data a server starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    Kept,
    Older,
    None,
}

pub(super) fn possible(world: &World, state: &State, actions: &mut Vec<Action>) {
    for message in &state.network {
        actions.push(Action::ArriveWithReply(*message));
        if world.outages && matches!(message, Message::Record { .. } | Message::Append { .. }) {
            actions.push(Action::Arrive(*message));
        }
    }
    for instance in 0..usize::from(world.instances) {
        of_instance(world, state, instance, actions);
    }
    for batch in 0..BATCHES {
        if state.database.journal[batch].is_some() {
            actions.push(Action::Compact { batch });
        }
    }
    if state.left.crashes > 0 && state.durable.is_some() {
        actions.push(Action::CrashDatabase);
    }
    of_servers(state, actions);
    if world.intervals && state.interval == 0 {
        actions.push(Action::EndInterval);
    }
    if world.deletes && !state.database.is_replaced {
        actions.push(Action::ReplaceLink);
    }
}

fn of_instance(world: &World, state: &State, number: usize, actions: &mut Vec<Action>) {
    let instance = &state.instances[number];
    if instance.awaited.is_none() && state.batches.len() < usize::from(world.batches) {
        actions.push(Action::Visit(number));
    }
    if instance.awaited.is_some() && world.outages {
        actions.extend([Action::NotSent(number), Action::Late(number)]);
    }
    let is_waiting = instance.in_memory() != Set::default() || instance.in_doubt.is_some();
    if is_waiting {
        actions.push(Action::Redeliver(number));
    }
    for batch in 0..BATCHES {
        if state.database.journal[batch].is_some() {
            actions.push(Action::Settle {
                instance: number,
                batch,
            });
        }
    }
    if world.flushes {
        match &instance.flush {
            Flush::Idle => actions.push(Action::ReadLedger(number)),
            Flush::Ledger(_) => actions.push(Action::BeginFlush(number)),
            Flush::Writing { mark, .. } if usize::from(*mark) < LINKS => {
                actions.push(Action::WritePart(number));
            }
            Flush::Writing { .. } => {}
        }
        if let Flush::Writing { mark, .. } = instance.flush {
            let finished_at = if world.without(Mutation::FlushIsFinishedEarly) {
                1
            } else {
                LINKS
            };
            if usize::from(mark) >= finished_at {
                actions.push(Action::FinishFlush(number));
            }
        }
    }
    match &instance.reading {
        None if state.left.reads > 0 => actions.push(Action::BeginCount(number)),
        None => {}
        Some(reading) if reading.redis.is_none() => actions.push(Action::ReadRedis(number)),
        Some(_) => actions.push(Action::ReadDatabase(number)),
    }
    match (instance.view, &instance.recovery) {
        (Some(_), _) => actions.push(Action::ReadTerms(number)),
        (None, Some(_)) => actions.push(Action::Note(number)),
        (None, None) => {
            actions.extend((0..2).map(|server| Action::Raise {
                instance: number,
                server,
            }));
        }
    }
    if state.left.kills > 0 && instance.starts == 0 {
        actions.push(Action::Kill(number));
    }
}

fn of_servers(state: &State, actions: &mut Vec<Action>) {
    for (number, server) in state
        .servers
        .iter()
        .enumerate()
        .filter(|(_, server)| server.is_there)
    {
        if state.left.snapshots > 0 && server.snapshot.is_none() {
            actions.push(Action::Snapshot { server: number });
        }
        if state.left.redis_faults == 0 {
            continue;
        }
        let has_older = server.snapshot.is_some();
        let older = has_older.then_some(Data::Older);
        for with in [Data::Kept, Data::None].into_iter().chain(older) {
            actions.push(Action::Restart {
                server: number,
                with,
            });
            if number == 0 && state.master == 0 {
                actions.push(Action::TakeOver { with });
            }
        }
        if has_older {
            actions.push(Action::SlipBack { server: number });
        }
    }
}
