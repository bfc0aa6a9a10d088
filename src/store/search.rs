//! The parts that all searches share: positions, steps, and the texts that are matched. A database reads what a search looks
//! at, in steps of so many rows; texts are found here, in a time that grows only with what was read: no database promises
//! that of its own.

use crate::domain::{Link, LinkFilter, LinkId, LinkOrder, Timestamp};

/// Rows that are looked at for one page, and bytes that are read of them: a search costs no more than some plain pages, whatever
/// the text and the links. Further ones come with the next page.
const MAX_SCANNED: u32 = 10_000;
const MAX_READ: usize = 2 << 20;

/// Rows that are looked at in one step: at first few, as most may match, and one more than wanted at least.
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
        Self::at(link.created_at, link.id)
    }

    /// Just after the link of this moment in a list by moments.
    #[must_use]
    pub fn at(moment: Timestamp, id: LinkId) -> Self {
        Self {
            key: moment.micros(),
            id,
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
    /// The first and the last.
    pub ends: Option<(Position, Position)>,
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
    scanned: u32,
    max_scanned: u32,
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
            size: Some(FIRST_STEP.max(limit.saturating_add(1))),
            scanned: 0,
            max_scanned: MAX_SCANNED,
            read: 0,
        }
    }

    /// The same, with another number of rows that are looked at.
    #[must_use]
    pub fn at_most(self, max_scanned: u32) -> Self {
        Self {
            max_scanned,
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
        self.scanned += self.size.unwrap_or_default();
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
            || self.scanned >= self.max_scanned
            || self.read >= MAX_READ;
        self.size = (!is_last).then_some(STEP);
    }

    /// What was found, and where the next page begins.
    #[must_use]
    pub fn found(self) -> (Vec<Position>, Option<Position>) {
        (self.matches, self.after)
    }
}
