//! The contract of searches in an owner's links.

use crate::domain::{Link, LinkFilter, LinkId, LinkOrder, SearchText, Timestamp};

/// Links that are looked at in one search: it takes no longer, however many links the owner has.
pub const MAX_SCANNED: u32 = 10_000;

/// A place in a sorted list of links: just after one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// What the list is sorted by: `created_at` in microseconds, or clicks.
    pub key: i64,
    /// The link's `id`.
    pub id: LinkId,
}

impl Position {
    /// Before every link, newest first: the last moment there is.
    pub(super) fn newest() -> Self {
        Self {
            key: Timestamp::MAX.micros(),
            id: LinkId::LAST,
        }
    }

    /// Just after a link in a list by moments.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        Self {
            key: link.created_at.micros(),
            id: link.id,
        }
    }
}

/// What is wanted of an owner's links.
#[derive(Clone, Copy, Debug)]
pub struct LinkSearch<'a> {
    /// Which links.
    pub filter: &'a LinkFilter,
    /// In which order.
    pub order: LinkOrder,
    /// From just after this position.
    pub after: Option<Position>,
    /// How many at most.
    pub limit: u32,
    /// The moment by which a link is expired or not.
    pub now: Timestamp,
}

/// A link and the clicks that are written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenClicks {
    /// Its position in a list by moments.
    pub made: Position,
    /// Its clicks.
    pub clicks: i64,
}

/// A part of a list, and where the next one begins.
#[derive(Clone, Debug, Default)]
pub struct FoundLinks {
    /// The links: fewer than asked for, even none, also where others come later.
    pub links: Vec<Link>,
    /// Where there may be others.
    pub next: Option<Position>,
}

/// How a text is looked for in any case, with the same result in both databases and in every locale. Databases agree on the case of
/// ASCII only, in the order of bytes (`lower` of SQLite, and of Postgres with `COLLATE "C"`); the cases of other letters are listed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// A text to be found in the one that `lower` makes.
    Folded(String),
    /// Letters beyond ASCII have two cases: a list of characters for each place in the text as it is.
    Classes(Vec<Vec<char>>),
}

impl Pattern {
    pub(super) fn of(text: &SearchText) -> Self {
        let text = text.as_str();
        let has_cases = |char: char| !char.is_ascii() && cases(char).len() > 1;
        if text.chars().any(has_cases) {
            return Self::Classes(text.chars().map(cases).collect());
        }
        Self::Folded(text.to_ascii_lowercase())
    }

    /// The two parameters of a statement that has both conditions, of which one is `NULL`.
    pub(super) fn parameters(
        text: Option<&SearchText>,
        expression: impl FnOnce(&[Vec<char>]) -> String,
    ) -> (Option<String>, Option<String>) {
        match text.map(Self::of) {
            None => (None, None),
            Some(Self::Folded(text)) => (Some(text), None),
            Some(Self::Classes(classes)) => (None, Some(expression(&classes))),
        }
    }
}

/// A character in each of its cases, without those that are several characters.
fn cases(char: char) -> Vec<char> {
    let mut cases = vec![char];
    let mut add = |case: &mut dyn ExactSizeIterator<Item = char>| {
        if let (1, Some(case)) = (case.len(), case.next())
            && !cases.contains(&case)
        {
            cases.push(case);
        }
    };
    add(&mut char.to_lowercase());
    add(&mut char.to_uppercase());
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::of(&SearchText::parse(text).unwrap().unwrap())
    }

    #[test]
    fn wildcards_in_a_text_are_themselves() {
        assert_eq!(pattern(r"50%_A\b"), Pattern::Folded(r"50%_a\b".into()));
        assert_eq!(pattern("日本"), Pattern::Folded("日本".into()));
    }

    #[test]
    fn letters_beyond_ascii_are_looked_for_in_both_cases() {
        let classes = Pattern::Classes(vec![vec!['Ä', 'ä'], vec!['x', 'X'], vec!['-']]);
        assert_eq!(pattern("Äx-"), classes);
    }
}
