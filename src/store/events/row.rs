//! Rows of a feed.

use std::collections::HashMap;
use std::sync::Arc;

use super::happened::{Event, Happened};
use crate::domain::{
    ClickClass, EventCursor, EventPlace, EventType, Interval, LinkId, ShortCode, Timestamp,
};
use crate::store::rows::link_id;
use crate::store::sql::Row;
use crate::store::{DetailedClicks, KnownClasses, StoreError};

/// Codes by link.
pub(super) type Codes = HashMap<LinkId, Code>;

/// What is known of a link with clicks.
pub(super) struct Code {
    pub(super) of_link: ShortCode,
    pub(super) tags: Vec<String>,
    /// The place at which the link was deleted, if it is gone.
    pub(super) until: Option<EventPlace>,
}

/// A row of a feed.
pub(super) struct FeedRow {
    step: i64,
    first: i64,
    history: String,
    at: Timestamp,
    interval: Interval,
    /// Of clicks, those of each link.
    pub(super) clicks: Vec<Vec<DetailedClicks>>,
    /// Of another event, the link then with its tags, and what happened.
    happened: Option<(Option<ShortCode>, Vec<String>, Happened)>,
}

impl FeedRow {
    pub(super) fn read(row: &Row, known: &mut KnownClasses) -> Result<Self, StoreError> {
        let word: String = row.get("type")?;
        let invalid = || StoreError::Unexpected("an event is invalid".into());
        let of = EventType::parse(&word).ok_or_else(invalid)?;
        let interval: Option<i64> = row.get("interval")?;
        let mut read = Self {
            step: row.get("step")?,
            first: row.get("first")?,
            history: row.get("history")?,
            at: row.get("at")?,
            interval: Interval::from_number(interval.unwrap_or_default()),
            clicks: Vec::new(),
            happened: None,
        };
        if of == EventType::Clicks {
            let packed: Vec<u8> = row.get("classes")?;
            let details = known.parse(&packed).ok_or_else(invalid)?;
            let of_links = details.of_links();
            let of_links = of_links.chunk_by(|one, next| one.link == next.link);
            read.clicks = of_links.map(<[_]>::to_vec).collect();
            return Ok(read);
        }
        if of == EventType::HookOff {
            let happened = Happened::HookOff {
                hook: row.get("clicks")?,
                host: row.get("target_url")?,
                reason: row.get("title")?,
            };
            read.happened = Some((None, Vec::new(), happened));
            return Ok(read);
        }
        let clicks: i64 = row.get("clicks")?;
        let happened = Happened::ToLink {
            of,
            target_url: row.get("target_url")?,
            title: row.get("title")?,
            clicks: clicks.unsigned_abs(),
        };
        read.happened = Some((Some(row.get("short_code")?), tags_of(row)?, happened));
        Ok(read)
    }

    /// Which of its events are after a place.
    pub(super) fn places(&self, after: EventPlace) -> std::ops::Range<usize> {
        let size = self.clicks.len().max(1);
        let seen = if self.step == after.step {
            after.index.saturating_sub(self.first).saturating_add(1)
        } else {
            0
        };
        usize::try_from(seen).unwrap_or_default().min(size)..size
    }

    pub(super) fn place(&self, of_row: usize) -> EventPlace {
        EventPlace {
            step: self.step,
            index: self.first.saturating_add_unsigned(of_row as u64),
        }
    }

    pub(super) fn event(&self, of_row: usize, codes: &Codes) -> Result<Option<Event>, StoreError> {
        let place = self.place(of_row);
        let (code, tags, happened) = match (&self.happened, self.clicks.get(of_row)) {
            (Some(happened), _) => happened.clone(),
            (None, Some(clicks)) => {
                let link = link_id(clicks[0].link.number())?;
                let Some(code) = codes.get(&link) else {
                    return Ok(None);
                };
                if code.until.is_some_and(|until| place > until) {
                    return Ok(None);
                }
                (
                    Some(code.of_link.clone()),
                    code.tags.clone(),
                    self.of_link(clicks),
                )
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(Event {
            cursor: EventCursor::new(&self.history, place),
            at: self.at,
            code,
            tags,
            happened,
        }))
    }

    fn of_link(&self, clicks: &[DetailedClicks]) -> Happened {
        let unknown = ClickClass::unknown();
        let known = clicks.iter().filter(|part| *part.class != unknown);
        Happened::Clicks {
            interval: self.interval,
            clicks: clicks
                .iter()
                .fold(0, |sum, part| part.clicks.saturating_add(sum)),
            classes: known
                .map(|part| (Arc::clone(&part.class), part.clicks))
                .collect(),
        }
    }
}

/// The tags of a row; a row may have been written by hand.
pub(super) fn tags_of(row: &Row) -> Result<Vec<String>, StoreError> {
    let tags: String = row.get("tags")?;
    Ok(serde_json::from_str(&tags).unwrap_or_default())
}
