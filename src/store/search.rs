//! The contract of searches. A database reads what a search looks at, in steps of so many rows; texts are found here, in a time
//! that grows only with what was read: no database promises that of its own.

use super::{StoreError, ToCount, rows};
use crate::domain::{Link, LinkFilter, LinkId, LinkOrder, SearchText, Timestamp, Title};

/// Between the fields of a row that was looked at, and between such rows. No link has such a character in it.
const FIELD: char = '\u{1f}';
const ROW: char = '\u{1e}';

/// Rows that are looked at for one page, and bytes that are read of them: a search costs no more than some plain pages, whatever
/// the text and the links. Further ones come with the next page.
const MAX_SCANNED: u32 = 10_000;
const MAX_READ: usize = 2 << 20;

/// Rows that are looked at in one step: at first few, as most may match.
const FIRST_STEP: u32 = 250;
const STEP: u32 = 1_000;

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

/// Links that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScannedLinks {
    /// Those that match, in their order.
    pub matches: Vec<Position>,
    /// The last of all, unless they were the last of the list.
    pub next: Option<Position>,
    /// What was read of them, in bytes.
    pub bytes: usize,
}

/// A search for one page, by steps: each looks at a number of rows after a position.
#[derive(Debug)]
pub struct Steps {
    limit: usize,
    matches: Vec<Position>,
    after: Option<Position>,
    /// How many rows the next step looks at; `None` after the last step.
    size: Option<u32>,
    looked_at: u32,
    max_looked_at: u32,
    read: usize,
}

impl Steps {
    /// To find up to `limit` rows from just after `after`.
    #[must_use]
    pub fn new(limit: u32, after: Option<Position>) -> Self {
        Self {
            limit: limit as usize,
            matches: Vec::new(),
            after,
            size: Some(FIRST_STEP),
            looked_at: 0,
            max_looked_at: MAX_SCANNED,
            read: 0,
        }
    }

    /// The same, with another number of rows that are looked at.
    #[must_use]
    pub fn at_most(self, max_looked_at: u32) -> Self {
        Self {
            max_looked_at,
            ..self
        }
    }

    /// Where the next step begins, and how many rows it looks at; `None` where the page is full, or has cost enough.
    #[must_use]
    pub fn next_step(&self) -> Option<(Option<Position>, u32)> {
        Some((self.after, self.size?))
    }

    /// Takes what a step found.
    pub fn add(&mut self, found: ScannedLinks) {
        self.looked_at += self.size.unwrap_or_default();
        self.read += found.bytes;
        self.matches.extend(found.matches);
        self.after = found.next;
        let is_full = self.matches.len() > self.limit;
        if is_full {
            self.matches.truncate(self.limit);
            self.after = self.matches.last().copied();
        }
        let is_last = is_full
            || self.after.is_none()
            || self.looked_at >= self.max_looked_at
            || self.read >= MAX_READ;
        self.size = (!is_last).then_some(STEP);
    }

    /// What was found, and where the next page begins.
    #[must_use]
    pub fn found(self) -> (Vec<Position>, Option<Position>) {
        (self.matches, self.after)
    }
}

/// The rows that a database looked at: of each its key, its number and, if it has all that the database looks for, its text.
/// `limit` is how many rows were asked for.
pub(super) fn scanned(
    rows: Option<&str>,
    text: Option<&SearchText>,
    limit: u32,
) -> Result<ScannedLinks, StoreError> {
    let rows = rows.unwrap_or_default();
    let mut finder = text.map(SearchText::finder);
    let mut scanned = ScannedLinks {
        bytes: rows.len(),
        ..ScannedLinks::default()
    };
    let (mut last, mut count) = (None, 0);
    for row in rows.split_terminator(ROW) {
        let (position, text) = scanned_row(row)?;
        (last, count) = (Some(position), count + 1);
        let mut is_match = || finder.as_mut().is_none_or(|finder| finder.is_in(text));
        if !text.is_empty() && is_match() {
            scanned.matches.push(position);
        }
    }
    scanned.next = last.filter(|_| count >= limit);
    Ok(scanned)
}

fn scanned_row(row: &str) -> Result<(Position, &str), StoreError> {
    let fields = || {
        let (key, rest) = row.split_once(FIELD)?;
        let (id, text) = rest.split_once(FIELD)?;
        Some((key.parse().ok()?, id.parse().ok()?, text))
    };
    let (key, id, text) = fields().ok_or_else(|| {
        StoreError::Unexpected("a row that was looked at has other fields".into())
    })?;
    let id = rows::link_id(id)?;
    Ok((Position { key, id }, text))
}

/// Those links that have the text of a filter in code, target or title.
pub(super) fn with_text(mut read: ToCount<Vec<Link>>, filter: &LinkFilter) -> ToCount<Vec<Link>> {
    let Some(text) = &filter.text else {
        return read;
    };
    let mut finder = text.finder();
    read.value.retain(|link| {
        let (target, title) = (&link.properties.target, &link.properties.title);
        let title = title.as_ref().map_or("", Title::as_str);
        let fields = [link.code.as_str(), target.as_str(), title];
        finder.is_in(&fields.join("\u{1f}"))
    });
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(key: i64, id: i64) -> Position {
        let id = LinkId::parse(id).unwrap();
        Position { key, id }
    }

    #[test]
    fn rows_are_matched_and_the_last_one_says_where_to_go_on() {
        let text = SearchText::parse("org spring").unwrap();
        let rows = "9\u{1f}1\u{1f}code\u{1f}https://example.org/\u{1f}Spring\u{1e}8\u{1f}2\u{1f}\u{1e}7\u{1f}3\u{1f}spring\u{1f}https://example.com/\u{1f}";
        let found = scanned(Some(rows), text.as_ref(), 3).unwrap();
        assert_eq!(
            (found.matches, found.next, found.bytes),
            (vec![position(9, 1)], Some(position(7, 3)), rows.len())
        );
        let found = scanned(Some(rows), None, 4).unwrap();
        assert_eq!(
            (found.matches, found.next),
            (vec![position(9, 1), position(7, 3)], None)
        );
        assert_eq!(
            scanned(None, text.as_ref(), 3).unwrap(),
            ScannedLinks::default()
        );
        assert!(scanned(Some("nonsense"), None, 3).is_err());
    }
}
