//! Whether a link is followed, or why not: only this file decides it.

use super::{RemovalStatus, Timestamp};

/// All that decides whether a link is followed at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Whether its owner has it switched on.
    pub is_active: bool,
    /// Whether it is followed at this moment.
    pub time: LinkTime,
    /// Whether it has redirected as often as it may, as far as that is known.
    pub is_used_up: bool,
    /// Whether the service's administrators took it away, and why.
    pub removed: Option<RemovalStatus>,
}

/// Whether a moment is in the time of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTime {
    /// It has not come.
    Before,
    /// It has come, and is not over.
    Within,
    /// It is over.
    Over,
}

impl LinkTime {
    /// Of a link that is followed from its start, if it has one, until its end, if it has one.
    #[must_use]
    pub fn at(now: Timestamp, start: Option<Timestamp>, end: Option<Timestamp>) -> Self {
        if start.is_some_and(|start| now < start) {
            Self::Before
        } else if end.is_some_and(|end| end <= now) {
            Self::Over
        } else {
            Self::Within
        }
    }
}

/// Why a link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFollowed {
    /// The service's administrators took it away.
    Removed(RemovalStatus),
    /// Its owner switched it off.
    Inactive,
    /// Its time has not come.
    Scheduled,
    /// Its time is over.
    Expired,
    /// It has redirected as often as it may.
    UsedUp,
}

impl LinkState {
    /// Whether the link is followed.
    ///
    /// # Errors
    /// The first reason why it is not: a removal goes before all that its owner set.
    pub fn followable(self) -> Result<(), NotFollowed> {
        if let Some(status) = self.removed {
            Err(NotFollowed::Removed(status))
        } else if !self.is_active {
            Err(NotFollowed::Inactive)
        } else if self.time == LinkTime::Before {
            Err(NotFollowed::Scheduled)
        } else if self.time == LinkTime::Over {
            Err(NotFollowed::Expired)
        } else if self.is_used_up {
            Err(NotFollowed::UsedUp)
        } else {
            Ok(())
        }
    }
}

impl NotFollowed {
    /// Why visitors are sent to the link's fallback, if it has one; `None` if they are not.
    #[must_use]
    pub fn foreseen(self) -> Option<Foreseen> {
        match self {
            Self::Scheduled => Some(Foreseen::Scheduled),
            Self::Expired => Some(Foreseen::Expired),
            Self::UsedUp => Some(Foreseen::UsedUp),
            Self::Removed(_) | Self::Inactive => None,
        }
    }
}

/// Why a link is not followed, as its owner foresaw: then visitors are sent to its fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreseen {
    /// Its time has not come.
    Scheduled,
    /// Its time is over.
    Expired,
    /// It has redirected as often as it may.
    UsedUp,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn removed() -> impl Strategy<Value = Option<RemovalStatus>> {
        prop_oneof![
            Just(None),
            Just(Some(RemovalStatus::Gone)),
            Just(Some(RemovalStatus::LegalReasons)),
        ]
    }

    proptest! {
        #[test]
        fn a_link_is_followed_exactly_where_nothing_is_against_it(
            (is_active, is_used_up) in any::<(bool, bool)>(),
            time in prop_oneof![Just(LinkTime::Before), Just(LinkTime::Within), Just(LinkTime::Over)],
            removed in removed(),
        ) {
            let state = LinkState { is_active, time, is_used_up, removed };
            let is_in_time = time == LinkTime::Within;
            let nothing_against = is_active && is_in_time && !is_used_up && removed.is_none();
            prop_assert_eq!(state.followable().is_ok(), nothing_against);
            if let Some(status) = removed {
                prop_assert_eq!(state.followable(), Err(NotFollowed::Removed(status)));
            }
            let is_foreseen = state.followable().is_err_and(|why| why.foreseen().is_some());
            prop_assert_eq!(is_foreseen, is_active && removed.is_none() && !nothing_against);
        }
    }
}
