//! Terms: how a server is taken into use, and what happens to servers.

use super::actions::Data;
use super::state::{BATCHES, DataSet, LINKS, Recovery, Row, Set, State, View};
use super::{Mutation, World, database};

/// The last term: instances that raise terms in turns would go on for ever.
const LAST_TERM: u8 = 6;

/// Uses a server that has the newest term; otherwise has the ledger give it one.
pub(super) fn raise(state: &mut State, instance: usize, number: usize) -> Option<()> {
    let server = &state.servers[number];
    let newest = state.database.newest()?;
    if !server.is_there {
        return None;
    }
    let data = &server.data;
    let was_noted_here = data.epoch > 0 && data.noted_for == server.run;
    let is_for_this_server = newest.run == server.run;
    if was_noted_here
        && is_for_this_server
        && (data.term, data.epoch) == (Some(newest.term), newest.epoch)
    {
        state.instances[instance].view = Some(view(number, newest));
        return Some(());
    }
    let is_older = data.term.is_some_and(|term| term < newest.term);
    if is_older && was_noted_here && !is_for_this_server || newest.term == LAST_TERM {
        return None;
    }
    let (run, epoch_read, term) = (server.run, data.epoch, newest.term + 1);
    database::commit(state);
    let row = match state.database.row_mut(epoch_read) {
        Some(row) => {
            (row.term, row.run) = (term, run);
            *row
        }
        None => begin(state, term, run),
    };
    state.instances[instance].recovery = Some(Recovery {
        server: number,
        epoch_read,
        row,
    });
    Some(())
}

fn begin(state: &mut State, term: u8, run: u8) -> Row {
    let row = Row {
        epoch: term,
        term,
        run,
        flush: 0,
        flush_name: 0,
        up_to: 0,
    };
    database::commit(state);
    state.database.ledger.push(row);
    row
}

fn view(server: usize, row: Row) -> View {
    View {
        server,
        term: row.term,
        epoch: row.epoch,
        superseded: false,
    }
}

/// Has Redis note a term that the ledger gave.
pub(super) fn note(world: &World, state: &mut State, instance: usize) -> Option<()> {
    let recovery = state.instances[instance].recovery.take()?;
    let (number, row) = (recovery.server, recovery.row);
    let server = &mut state.servers[number];
    let data = &mut server.data;
    // Its connection broke, or the data set changed meanwhile.
    if server.run != row.run
        || data.epoch != recovery.epoch_read
        || data.term.unwrap_or(0) >= row.term
    {
        return Some(());
    }
    if row.epoch != recovery.epoch_read {
        let before = data.clone();
        if !world.without(Mutation::RolledBackIsKept) {
            data.pending = <_>::default();
            data.flushing = None;
        }
        (data.epoch, data.flush, data.is_doubted) = (row.epoch, 0, false);
        admit_missing(state, &before, number);
    } else if data.flush < row.flush || data.is_doubted {
        let is_newest = state.database.newest() == Some(row);
        if is_newest && row.term < LAST_TERM {
            let row = begin(state, row.term + 1, row.run);
            state.instances[instance].recovery = Some(Recovery { row, ..recovery });
        }
        return Some(());
    }
    let data = &mut state.servers[number].data;
    (data.term, data.noted_for) = (Some(row.term), row.run);
    state.instances[instance].view = Some(view(number, row));
    Some(())
}

/// Stops to use a server whose term is not the newest. Its own clicks may still be written back.
pub(super) fn read_terms(state: &mut State, instance: usize) -> Option<()> {
    let newest = state.database.newest()?;
    let view = state.instances[instance].view.as_mut()?;
    if view.superseded {
        state.instances[instance].view = None;
    } else if view.term != newest.term {
        view.superseded = true;
    }
    Some(())
}

/// Admits that clicks are missing which waited in a data set and do not any more, where Redis has lost data.
pub(super) fn admit_missing(state: &mut State, before: &DataSet, server: usize) {
    let (before, after) = (before.waiting(), state.servers[server].data.waiting());
    for batch in 0..BATCHES {
        let is_counted = (0..LINKS).all(|link| state.database.links[link].counted[batch] > 0);
        if before[batch] > after[batch] && !is_counted && state.books.has_redis_lost {
            state.books.admitted.insert(batch);
        }
    }
}

/// Admits that a batch which was in doubt is dropped, where Redis has lost data.
pub(super) fn admit_dropped(state: &mut State, batch: usize) {
    if state.books.has_redis_lost {
        state.books.admitted.insert(batch);
    }
}

fn older_or(state: &State, server: usize, with: Data) -> DataSet {
    let server = &state.servers[server];
    match with {
        Data::Kept => server.data.clone(),
        Data::Older => server.snapshot.as_deref().cloned().unwrap_or_default(),
        Data::None => DataSet::default(),
    }
}

pub(super) fn restart(state: &mut State, number: usize, with: Data) {
    let data = older_or(state, number, with);
    state.runs += 1;
    state.servers[number].run = state.runs;
    replace_data(state, number, data, with != Data::Kept);
    for instance in &mut state.instances {
        if instance.view.is_some_and(|view| view.server == number) {
            instance.view = None;
        }
    }
    // Connections break, and requests on them.
    state.network.retain(|message| !message.is_for(number));
}

pub(super) fn slip_back(state: &mut State, number: usize) {
    let data = older_or(state, number, Data::Older);
    state.books.slips += 1;
    replace_data(state, number, data, true);
}

pub(super) fn take_over(state: &mut State, with: Data) {
    let data = older_or(state, 0, with);
    state.runs += 1;
    state.left.redis_faults -= 1;
    state.books.has_redis_lost = true;
    state.servers[1].is_there = true;
    state.servers[1].run = state.runs;
    let before = state.servers[0].data.clone();
    state.servers[1].data = data;
    state.master = 1;
    admit_missing(state, &before, 1);
}

fn replace_data(state: &mut State, number: usize, data: DataSet, is_loss: bool) {
    state.left.redis_faults -= 1;
    state.books.has_redis_lost |= is_loss;
    let before = std::mem::replace(&mut state.servers[number].data, data);
    admit_missing(state, &before, number);
}

/// A process ends: what it alone has is missing.
pub(super) fn kill(state: &mut State, instance: usize) {
    state.left.kills -= 1;
    let killed = &mut state.instances[instance];
    let lost = killed.in_memory().and(state.books.answered);
    let starts = killed.starts + 1;
    *killed = super::state::Instance {
        starts,
        ..Default::default()
    };
    let mut rest = lost;
    while let Some(batch) = rest.first() {
        state.books.admitted.insert(batch);
        rest = rest.without(only(batch));
    }
}

fn only(batch: usize) -> Set {
    let mut set = Set::default();
    set.insert(batch);
    set
}
