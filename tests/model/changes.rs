//! How a deletion is felt: its author, another instance that has the link in memory, Redis and the database.
//!
//! What is left out, or simpler than in the code:
//!
//! * One link, which is deleted once. An edit is felt in the same way.
//! * A message arrives at once or not at all. A Redis that answers a redirect late is one that does not answer it.
//! * How long a link is followed that nobody confirms: here for as long as neither Redis nor the database answers.
//! * The author is not started again; a change that only it knew stays in the outbox.

use stateright::{Model, Property};

use crate::Checked;

/// What a world has, and what is switched off in it.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How often a line to Redis is cut, the database goes away, or the author is killed.
    pub faults: u8,
    pub mutation: Option<Mutation>,
}

/// A part of the rule that is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A deletion is answered before Redis has it, though its author reaches Redis.
    AnsweredBeforeAnnounced,
    /// An instance does not keep what it could not announce, and relies on the outbox.
    AuthorForgets,
    /// A change whose announcement Redis was too late to take is not announced again while Redis is taken for up.
    GivenUpForGood,
    /// A redirect that Redis does not acknowledge is sent without asking the database what changed.
    DatabaseIsNotAsked,
    /// An instance looks a link up in Redis although it knows of a change that Redis may not have.
    RedisIsTrusted,
}

impl Mutation {
    pub const ALL: &[Self] = &[
        Self::AnsweredBeforeAnnounced,
        Self::AuthorForgets,
        Self::GivenUpForGood,
        Self::DatabaseIsNotAsked,
        Self::RedisIsTrusted,
    ];

    /// The property that it breaks, and a world in which it does.
    #[must_use]
    pub fn breaks(self) -> (&'static str, World) {
        let property = match self {
            Self::AnsweredBeforeAnnounced | Self::AuthorForgets | Self::GivenUpForGood => {
                GONE_AT_ONCE
            }
            Self::DatabaseIsNotAsked => BY_MEMORY,
            Self::RedisIsTrusted => GONE_ONCE_KNOWN,
        };
        let mutation = Some(self);
        (
            property,
            World {
                mutation,
                ..World::HARMED
            },
        )
    }
}

const GONE_AT_ONCE: &str =
    "rule 1: a deleted link is not followed once its author and the follower reach Redis";
const BY_MEMORY: &str = "rule 1: a deleted link is followed by what is in memory only if neither Redis nor the database answers";
const GONE_ONCE_KNOWN: &str = "rule 1: an instance that knows of a deletion does not undo it";

const AUTHOR: usize = 0;
const FOLLOWER: usize = 1;
const PAIR: [usize; 2] = [AUTHOR, FOLLOWER];

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    faults: u8,
    database: bool,
    /// Whether the database has no link any more, and whether its outbox says that this is announced.
    is_deleted: bool,
    is_published: bool,
    /// Redis has the change, and no copy of the link.
    is_announced: bool,
    is_answered: bool,
    /// The announcement took too long, and is made after the answer.
    is_given_up: bool,
    is_author_alive: bool,
    instances: [Instance; 2],
    books: Books,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Instance {
    /// Whether its line to Redis is cut.
    is_cut: bool,
    /// Whether it takes Redis for away.
    is_away: bool,
    /// Whether it dropped the link from memory, as it is deleted.
    knows: bool,
    /// Whether it keeps the change, to announce it.
    has_noted: bool,
    /// A visit under way, and whether it began after the deletion was answered.
    visit: Option<bool>,
}

/// What went wrong.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Books {
    followed_late: bool,
    followed_unasked: bool,
    undone: bool,
    followed_without_both: bool,
}

/// What happens. `usize` names an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Delete,
    Announce,
    Answer,
    /// Redis is too late for an announcement, though not for redirects.
    GiveUp,
    PublishOutbox(usize),
    Visit(usize),
    Follow(usize),
    /// The link left memory, and is looked up anew.
    LookUp(usize),
    Recover(usize),
    Cut(usize),
    Mend(usize),
    DatabaseAway,
    DatabaseBack,
    KillAuthor,
}

impl World {
    /// Lines, the database and the author fail.
    pub const HARMED: Self = Self {
        faults: 3,
        mutation: None,
    };

    /// Checks every state that `depth` steps reach: to the end, or until `until` (a property) is broken.
    #[must_use]
    pub fn check(self, depth: usize, until: Option<&'static str>) -> Checked {
        crate::check(self, depth, until)
    }

    fn without(self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// `None` if it cannot happen.
    fn apply(self, state: &mut State, action: &Action) -> Option<()> {
        let is_alive = |state: &State, of: usize| of == FOLLOWER || state.is_author_alive;
        match *action {
            Action::Delete => {
                (state.database && state.is_author_alive && !state.is_deleted).then_some(())?;
                state.is_deleted = true;
                let author = &mut state.instances[AUTHOR];
                (author.knows, author.has_noted) = (true, true);
            }
            Action::Announce => {
                let author = &mut state.instances[AUTHOR];
                (author.has_noted && !author.is_cut && state.is_author_alive).then_some(())?;
                author.has_noted = false;
                state.is_announced = true;
            }
            Action::Answer => {
                let waits = !state.instances[AUTHOR].is_cut
                    && !self.without(Mutation::AnsweredBeforeAnnounced);
                (state.is_deleted && state.is_author_alive && (state.is_announced || !waits))
                    .then_some(())?;
                state.is_answered = true;
            }
            Action::GiveUp => {
                (state.is_deleted && state.is_author_alive && !state.is_answered).then_some(())?;
                state.fail()?;
                (state.is_answered, state.is_given_up) = (true, true);
                let author = &mut state.instances[AUTHOR];
                author.has_noted &= author.is_cut || !self.without(Mutation::GivenUpForGood);
            }
            Action::PublishOutbox(by) => {
                let instance = &state.instances[by];
                (is_alive(state, by) && !instance.is_away && !instance.is_cut).then_some(())?;
                state.publish_outbox()?;
            }
            Action::Visit(at) => {
                let is_late = state.is_answered;
                let visit = &mut state.instances[at].visit;
                visit.is_none().then_some(())?;
                *visit = Some(is_late);
            }
            Action::Follow(at) => {
                is_alive(state, at).then_some(())?;
                let is_late = state.instances[at].visit.take()?;
                self.follow(state, at, is_late);
            }
            Action::LookUp(at) => {
                let instance = &state.instances[at];
                let trusts = !instance.has_noted || self.without(Mutation::RedisIsTrusted);
                let reads_redis = !instance.is_away && !instance.is_cut && trusts;
                // Redis has the link as it was; whoever has no copy in memory or Redis reads the database.
                (is_alive(state, at) && instance.knows && reads_redis && !state.is_announced)
                    .then_some(())?;
                state.instances[at].knows = false;
                state.books.undone = true;
            }
            Action::Recover(at) => {
                let instance = &state.instances[at];
                (is_alive(state, at) && instance.is_away && !instance.is_cut).then_some(())?;
                if state.database {
                    let _ = state.publish_outbox();
                } else if state.instances[at].has_noted && !self.without(Mutation::AuthorForgets) {
                    state.is_announced = true;
                }
                let instance = &mut state.instances[at];
                (instance.is_away, instance.has_noted) = (false, false);
            }
            Action::Cut(at) => {
                (!state.instances[at].is_cut).then_some(())?;
                state.fail()?;
                let instance = &mut state.instances[at];
                (instance.is_cut, instance.is_away) = (true, true);
            }
            Action::Mend(at) => state.instances[at].is_cut = false,
            Action::DatabaseAway => {
                state.database.then_some(())?;
                state.fail()?;
                state.database = false;
            }
            Action::DatabaseBack => state.database = true,
            Action::KillAuthor => {
                state.is_author_alive.then_some(())?;
                state.fail()?;
                state.is_author_alive = false;
                state.instances[AUTHOR] = Instance::default();
            }
        }
        Some(())
    }

    /// A visit is answered: acknowledged by Redis, or else after the database was asked, or else by memory.
    fn follow(self, state: &mut State, at: usize, is_late: bool) {
        let author = &state.instances[AUTHOR];
        // What is noted is announced within a quarter of a second.
        let is_late = is_late && !(state.is_given_up && author.has_noted);
        let is_excused = !state.is_author_alive || author.is_away;
        let instance = &mut state.instances[at];
        if !instance.is_away {
            instance.knows |= state.is_announced;
            state.books.followed_late |= is_late && !instance.knows && !is_excused;
        } else if state.database && !self.without(Mutation::DatabaseIsNotAsked) {
            if state.is_deleted && !instance.knows {
                (instance.knows, instance.has_noted) = (true, true);
            }
        } else {
            let is_followed = is_late && !instance.knows;
            state.books.followed_unasked |= is_followed && state.database;
            state.books.followed_without_both |= is_followed;
        }
    }
}

impl State {
    /// An instance that reaches both publishes the change.
    fn publish_outbox(&mut self) -> Option<()> {
        (self.database && self.is_deleted && !self.is_published).then_some(())?;
        (self.is_announced, self.is_published) = (true, true);
        Some(())
    }

    fn fail(&mut self) -> Option<()> {
        self.faults = self.faults.checked_sub(1)?;
        Some(())
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            faults: self.faults,
            database: true,
            is_deleted: false,
            is_published: false,
            is_announced: false,
            is_answered: false,
            is_given_up: false,
            is_author_alive: true,
            instances: [Instance::default(), Instance::default()],
            books: Books::default(),
        }]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        actions.extend([
            Action::Delete,
            Action::Announce,
            Action::Answer,
            Action::GiveUp,
            Action::DatabaseAway,
            Action::DatabaseBack,
            Action::KillAuthor,
        ]);
        for instance in PAIR {
            actions.extend([
                Action::PublishOutbox(instance),
                Action::Visit(instance),
                Action::Follow(instance),
                Action::LookUp(instance),
                Action::Recover(instance),
                Action::Cut(instance),
                Action::Mend(instance),
            ]);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        self.apply(&mut next, &action)?;
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(GONE_AT_ONCE, |_, state: &State| !state.books.followed_late),
            Property::always(BY_MEMORY, |_, state: &State| !state.books.followed_unasked),
            Property::always(GONE_ONCE_KNOWN, |_, state: &State| !state.books.undone),
            Property::sometimes(
                "a deleted link is followed as neither answers",
                |_, state: &State| state.books.followed_without_both,
            ),
        ]
    }
}
