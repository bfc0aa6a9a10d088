//! Rules 1 to 8, intervals of an hour and classes.
//!
//! What is left out, or simpler than in the code:
//!
//! * A batch has one click of each of two links, of one interval and class. Several batches that wait in memory are not merged into one.
//! * Both databases do each script and each transaction at once, in any order, whenever its message arrives: late, or never.
//!   A reply arrives with it, late, or never. A repetition is sent again by its sender.
//! * Time is no part of it: each deadline may pass at any moment, and the lease on flushing does not exist.
//! * One shard. Redis takes over once at most. An instance that starts never takes a superseded server back into use.
//! * The journal's sums of several batches, pruning, and readers that try again are left out.

mod actions;
mod database;
mod flushing;
mod mutations;
mod properties;
mod reading;
mod recovery;
mod redis;
mod state;
mod transitions;
mod worlds;

pub use actions::Action;
pub use mutations::Mutation;
pub use properties::Broken;
pub(crate) use state::Set;
pub use state::State;

use stateright::{Model, Property};

use crate::Checked;

/// What a world has, and which part of which rule is switched off in it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a kind of trouble of its own"
)]
#[derive(Clone, Copy, Debug, Default)]
pub struct World {
    /// Batches that visitors send.
    pub batches: u8,
    /// Instances; 2 at most.
    pub instances: u8,
    /// Whether instances write back.
    pub flushes: bool,
    /// How many counts are read.
    pub reads: u8,
    /// How many instances are killed.
    pub kills: u8,
    /// How often the database crashes.
    pub crashes: u8,
    /// How often a replica or a snapshot gets Redis's data.
    pub snapshots: u8,
    /// How often Redis starts again, goes back, or is superseded.
    pub redis_faults: u8,
    /// Whether connections may be missing, and messages late.
    pub outages: bool,
    /// Whether an interval of an hour ends.
    pub intervals: bool,
    /// Whether the first link is deleted and another one made.
    pub deletes: bool,
    /// What is switched off.
    pub mutation: Option<Mutation>,
}

impl World {
    /// Checks every state that `depth` steps reach: to the end, or until `until` (a property) is broken.
    #[must_use]
    pub fn check(self, depth: usize, until: Option<&'static str>) -> Checked {
        crate::check(self, depth, until)
    }

    pub(crate) fn without(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions::possible(self, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        transitions::apply(self, &mut next, action)?;
        next.network.sort_unstable();
        next.network.dedup();
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
