//! The steps of a flush.

use super::actions::Action;
use super::database::Written;
use super::state::{BATCHES, Flush, LINKS, State};
use super::{Mutation, World, database, redis};

/// One step; `None` where there is none.
pub(super) fn step(world: &World, state: &mut State, action: &Action) -> Option<()> {
    match *action {
        Action::ReadLedger(number) => {
            let view = state.instances[number].view?;
            let data = &state.servers[view.server].data;
            let row = state
                .database
                .row(view.epoch)
                .filter(|row| row.term == view.term);
            state.instances[number].flush = match row {
                // Nothing to write back: no state of its own.
                Some(_) if data.waiting() == [0; BATCHES] => return None,
                Some(row) => Flush::Ledger(row.flush),
                None => {
                    state.instances[number].view = None;
                    Flush::Idle
                }
            };
        }
        Action::BeginFlush(number) => {
            let Flush::Ledger(in_ledger) = std::mem::take(&mut state.instances[number].flush)
            else {
                return None;
            };
            let view = state.instances[number].view?;
            match redis::begin_flush(world, state, view, in_ledger) {
                Some((id, part)) => {
                    let row = state.database.row(view.epoch)?;
                    let mark = match id.number.cmp(&row.flush) {
                        _ if row.term != view.term => return Some(()),
                        std::cmp::Ordering::Equal
                            if row.flush_name != id.name
                                && !world.without(Mutation::FlushesHaveNoNames) =>
                        {
                            redis::doubt_flush(state, view);
                            state.instances[number].view = None;
                            return Some(());
                        }
                        std::cmp::Ordering::Equal => row.up_to,
                        std::cmp::Ordering::Greater => 0,
                        std::cmp::Ordering::Less => return Some(()),
                    };
                    state.instances[number].flush = Flush::Writing {
                        view,
                        part,
                        id,
                        mark,
                    };
                }
                None if state.servers[view.server].data.term != Some(view.term) => {
                    state.instances[number].view = None;
                }
                None => {}
            }
        }
        Action::WritePart(number) => {
            let Flush::Writing {
                view,
                part,
                id,
                mark,
            } = state.instances[number].flush.clone()
            else {
                return None;
            };
            let written = database::write_part(world, state, view, id, mark, &part);
            state.instances[number].flush = match written {
                Written::UpTo(mark) => Flush::Writing {
                    view,
                    part,
                    id,
                    mark,
                },
                Written::Superseded => Flush::Idle,
                Written::OfAnother => {
                    redis::doubt_flush(state, view);
                    state.instances[number].view = None;
                    Flush::Idle
                }
            };
        }
        Action::FinishFlush(number) => {
            let Flush::Writing {
                view,
                part,
                id,
                mark,
            } = std::mem::take(&mut state.instances[number].flush)
            else {
                return None;
            };
            if world.without(Mutation::ClassesAreWrittenLater) && usize::from(mark) == LINKS {
                database::write_classes(state, &part);
            }
            redis::finish_flush(world, state, view, id);
        }
        _ => return None,
    }
    Some(())
}
