//! Events: what happened to links, in the order of the feed of their account.

use std::fmt;
use std::str::FromStr;

/// Digits of a history in a cursor.
const HISTORY: usize = 8;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// A link was made, or came from another account.
    Created,
    /// Fields of a link were changed.
    Changed,
    /// A link was deleted, or put into the bin.
    Deleted,
    /// An administrator removed a link.
    Removed,
    /// A link came back: from the bin, or after a removal.
    Restored,
    /// A link expired, or its clicks are used up.
    Ended,
    /// A link went to another account.
    Moved,
    /// Clicks were counted.
    Clicks,
    /// A hook was switched off, as its receiver takes no events.
    HookOff,
}

impl EventType {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Created,
        Self::Changed,
        Self::Deleted,
        Self::Removed,
        Self::Restored,
        Self::Ended,
        Self::Moved,
        Self::Clicks,
        Self::HookOff,
    ];

    /// Its word in the API, and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "link.created",
            Self::Changed => "link.changed",
            Self::Deleted => "link.deleted",
            Self::Removed => "link.removed",
            Self::Restored => "link.restored",
            Self::Ended => "link.ended",
            Self::Moved => "link.moved",
            Self::Clicks => "clicks",
            Self::HookOff => "hook.off",
        }
    }

    /// The type with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.as_str() == word)
    }
}

/// A place in the feed of an account: that of an event, which is the cursor after it.
///
/// A place is valid in the history of the database that gave it: where the database went back, other events come at the same places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPlace {
    /// The step that gave the event its place, from 1.
    pub step: i64,
    /// How many events of the account the step had before.
    pub index: i64,
}

impl EventPlace {
    /// Before all events.
    pub const BEGIN: Self = Self { step: 0, index: 0 };
}

/// A place with the beginning of the name of its history: what clients know as `id` and `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCursor {
    /// Hexadecimal digits.
    history: String,
    /// The place.
    pub place: EventPlace,
}

impl EventCursor {
    /// The cursor of a place in a history.
    #[must_use]
    pub fn new(history: &str, place: EventPlace) -> Self {
        Self {
            history: history.chars().take(HISTORY).collect(),
            place,
        }
    }

    /// The cursor before all events: no history has it.
    #[must_use]
    pub fn of_begin() -> Self {
        Self::new("00000000", EventPlace::BEGIN)
    }

    /// The beginning of the name of its history.
    #[must_use]
    pub fn history(&self) -> &str {
        &self.history
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventPlace { step, index } = self.place;
        write!(formatter, "{}{step:x}.{index:x}", self.history)
    }
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be the id of an event, as it was given")]
pub struct InvalidCursor;

impl FromStr for EventCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (history, place) = text.split_at_checked(HISTORY).ok_or(InvalidCursor)?;
        let (step, index) = place.split_once('.').ok_or(InvalidCursor)?;
        let number = |digits: &str| {
            let number = i64::from_str_radix(digits, 16).ok();
            number.filter(|number| *number >= 0)
        };
        let cursor = Self {
            history: history.to_owned(),
            place: EventPlace {
                step: number(step).ok_or(InvalidCursor)?,
                index: number(index).ok_or(InvalidCursor)?,
            },
        };
        // There is one text for each cursor.
        let is_canonical = history
            .chars()
            .all(|digit| digit.is_ascii_digit() || ('a'..='f').contains(&digit))
            && cursor.to_string() == text;
        is_canonical.then_some(cursor).ok_or(InvalidCursor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(history in "[0-9a-f]{32}", step in 0..=i64::MAX, index in 0..=i64::MAX) {
            let cursor = EventCursor::new(&history, EventPlace { step, index });
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String, digits in "[0-9a-fA-F+.-]{0,30}") {
            for text in [text, digits] {
                if let Ok(cursor) = text.parse::<EventCursor>() {
                    prop_assert_eq!(cursor.to_string(), text);
                }
            }
        }
    }
}
