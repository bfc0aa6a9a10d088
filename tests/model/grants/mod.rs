//! Rule 9: the database grants the clicks of a link with `max_clicks`.
//!
//! What is left out, or simpler than in the code:
//!
//! * One link. A limit that was set is not changed any more.
//! * A transaction is done at once whenever its message arrives: late, or never. Its answer arrives with it, later, or never.
//! * A click without a grant is counted exactly once as soon as it is recorded ([`crate::pipeline`] shows that it is); its
//!   acknowledgement names the change of the link, if that was announced before.

mod properties;
mod transitions;

use stateright::{Model, Property};

use crate::Checked;

/// What a world has, and what is switched off in it.
#[derive(Clone, Copy, Debug)]
pub struct World {
    pub max_clicks: u8,
    /// Whether the link is made without the limit.
    pub is_set_later: bool,
    pub visits: u8,
    /// How many visitors leave before they are answered.
    pub leaves: u8,
    /// How many instances are killed.
    pub kills: u8,
    pub mutation: Option<Mutation>,
}

/// A part of rule 9 that is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Clicks are granted by what was left when they were asked for: no lock puts grants in order.
    RowIsNotLocked,
    /// A batch that is asked for again is granted again.
    AnswerIsNotNoted,
    /// A batch whose answer was lost is asked for under a new number.
    RepetitionIsANewBatch,
    /// A grant whose visitor has left is for no other visitor.
    UnusedIsForgotten,
    /// A grant is not counted in the transaction.
    GrantIsNotCounted,
    /// A grant that is asked for again is counted in the interval of the repetition, too.
    RepetitionCountsInItsInterval,
    /// The clicks from before the limit are counted before the change is announced.
    CountedBeforeAnnounced,
    /// A click without a grant does not make a counting begin again that may miss it.
    CountingMissesClicks,
}

impl World {
    /// A link with a limit, followed on two instances.
    pub const LIMITED: Self = Self {
        max_clicks: 2,
        is_set_later: false,
        visits: 4,
        leaves: 1,
        kills: 1,
        mutation: None,
    };
    /// A link that gets its limit while it is followed.
    pub const SET_LATER: Self = Self {
        max_clicks: 2,
        is_set_later: true,
        visits: 4,
        leaves: 0,
        kills: 0,
        mutation: None,
    };

    /// Checks every state that `depth` steps reach: to the end, or until `until` (a property) is broken.
    #[must_use]
    pub fn check(self, depth: usize, until: Option<&'static str>) -> Checked {
        crate::check(self, depth, until)
    }
}

impl Mutation {
    pub const ALL: &[Self] = &[
        Self::RowIsNotLocked,
        Self::AnswerIsNotNoted,
        Self::RepetitionIsANewBatch,
        Self::UnusedIsForgotten,
        Self::GrantIsNotCounted,
        Self::RepetitionCountsInItsInterval,
        Self::CountedBeforeAnnounced,
        Self::CountingMissesClicks,
    ];

    /// The property that it breaks, and a world in which it does.
    #[must_use]
    pub fn breaks(self) -> (&'static str, World) {
        let (property, world) = match self {
            Self::RowIsNotLocked => (properties::NOT_TOO_MANY, World::LIMITED),
            Self::CountedBeforeAnnounced | Self::CountingMissesClicks => {
                (properties::NOT_TOO_MANY, World::SET_LATER)
            }
            Self::AnswerIsNotNoted => (properties::ONCE, World::LIMITED),
            Self::RepetitionIsANewBatch | Self::UnusedIsForgotten => (
                properties::NOT_TOO_FEW,
                World {
                    kills: 0,
                    ..World::LIMITED
                },
            ),
            Self::GrantIsNotCounted => (properties::COUNTED, World::LIMITED),
            Self::RepetitionCountsInItsInterval => (properties::SERIES, World::LIMITED),
        };
        (
            property,
            World {
                mutation: Some(self),
                ..world
            },
        )
    }
}

/// Instances.
const PAIR: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) interval: u8,
    pub(crate) visits: u8,
    pub(crate) leaves: u8,
    pub(crate) kills: u8,
    pub(crate) instances: [Instance; PAIR],
    pub(crate) link: Link,
    /// What was granted to each batch, by recorder and number.
    pub(crate) answers: Vec<((usize, u8), Answer)>,
    pub(crate) network: Vec<Message>,
    pub(crate) counting: Counting,
    pub(crate) books: Books,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Instance {
    starts: u8,
    number: u8,
    /// Whether it has learned of the limit.
    knows: bool,
    /// Visitors that wait to be asked for.
    gathered: u8,
    asked: Option<Asked>,
    /// Granted clicks whose visitors had left.
    unused: u8,
    /// Clicks that were recorded without a grant, after the change was announced.
    to_admit: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    number: u8,
    wanted: u8,
    /// Visitors that still wait.
    visitors: u8,
}

/// The link in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    is_limited: bool,
    /// Whether `link_limits` has its row.
    has_row: bool,
    before: Option<u8>,
    /// The counting that was begun last.
    counting: Option<u8>,
    granted: u8,
    /// Granted clicks in the count.
    counted: u8,
    /// The same by interval.
    series: [u8; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Answer {
    Granted(u8),
    Uncounted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Ask {
        recorder: usize,
        number: u8,
        wanted: u8,
        interval: u8,
        left: Option<u8>,
    },
    Answered {
        recorder: usize,
        number: u8,
        answer: Answer,
    },
}

/// The counting of the clicks from before the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Counting {
    #[default]
    Idle,
    Announced,
    Begun(u8),
    Counted(u8, u8),
}

/// What is true.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Books {
    /// Whether the change of the link was announced.
    announced: bool,
    countings: u8,
    /// Clicks that were recorded without a grant.
    recorded: u8,
    redirects: u8,
    /// Clicks that were granted to processes which ended, and recorded ones that were refused.
    lost: u8,
    refused: bool,
    granted_twice: bool,
    is_one_too_many: bool,
    too_few: bool,
    /// Granted clicks, by the interval in which their batch was asked for first.
    intervals: [u8; 2],
}

/// What happens. `usize` names an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Visit(usize),
    /// A visitor leaves.
    Leave(usize),
    Ask(usize),
    AskAgain(usize),
    Arrive(usize),
    ArriveWithAnswer(usize),
    /// A click without a grant is admitted, or refused.
    Admit(usize),
    Learn(usize),
    Kill(usize),
    SetLimit,
    /// The clicks from before the limit are counted: step by step.
    Announce,
    BeginCounting,
    Count,
    EndCounting,
    EndInterval,
}

impl World {
    fn without(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut state = State {
            visits: self.visits,
            leaves: self.leaves,
            kills: self.kills,
            ..State::default()
        };
        if !self.is_set_later {
            state.link = Link {
                is_limited: true,
                has_row: true,
                before: Some(0),
                ..Link::default()
            };
            state.books.announced = true;
            for instance in &mut state.instances {
                instance.knows = true;
            }
        }
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for message in 0..state.network.len() {
            actions.extend([Action::Arrive(message), Action::ArriveWithAnswer(message)]);
        }
        for instance in 0..PAIR {
            actions.extend([
                Action::Visit(instance),
                Action::Leave(instance),
                Action::Ask(instance),
                Action::AskAgain(instance),
                Action::Admit(instance),
                Action::Learn(instance),
                Action::Kill(instance),
            ]);
        }
        if self.is_set_later {
            let counting = [
                Action::SetLimit,
                Action::Announce,
                Action::BeginCounting,
                Action::Count,
                Action::EndCounting,
            ];
            actions.extend(counting);
        }
        actions.push(Action::EndInterval);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        transitions::apply(self, &mut next, &action)?;
        next.network.sort_unstable();
        next.network.dedup();
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
