//! Reads the feed of an account.

use super::happened::Event;
use super::row::{Code, Codes, FeedRow, tags_of};
use crate::domain::{EventCursor, EventPlace, EventType, LinkId, Principal, UserId};
use crate::store::sql::query;
use crate::store::{KnownClasses, Store, StoreError};

/// Rows of one reading at most: each may have the clicks of many links.
const MAX_ROWS: u32 = 200;

/// Bytes of the classes of one reading, unless its first row has more: as events they take some forty times as much.
const MAX_BYTES: u32 = 128 << 10;

/// Steps whose accounts are told apart: nobody looked for longer.
const MAX_STEPS: i64 = 300;

/// Accounts with news that are told apart.
const MAX_OWNERS: u32 = 10_000;

/// Some events of a feed, in their order.
#[derive(Clone, Debug)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Where the next reading goes on: also what has no event any more is behind it.
    pub next: EventPlace,
}

/// Why a feed cannot be read from a cursor on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedEnd {
    /// The database went back to a state before the cursor.
    WentBack,
    /// Events after the cursor are not kept any more.
    Pruned,
}

/// Which accounts have news since a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNews {
    /// The newest step.
    pub step: i64,
    /// The accounts; `None` if there are too many to be told apart.
    pub owners: Option<Vec<i64>>,
}

impl Store {
    /// The newest place of all feeds: all that happens from now on is after it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn newest_event(&self) -> Result<EventPlace, StoreError> {
        Ok(EventPlace {
            step: self.newest_step().await?,
            index: i64::MAX,
        })
    }

    async fn newest_step(&self) -> Result<i64, StoreError> {
        let find = query("SELECT step FROM event_steps");
        let found = self.engine.read_one(find).await?;
        found.map_or(Ok(0), |row| row.get("step"))
    }

    /// Which accounts have events of steps after this one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn event_news(&self, since: i64) -> Result<EventNews, StoreError> {
        let step = self.newest_step().await?;
        if step <= since {
            let owners = Some(Vec::new());
            return Ok(EventNews { step, owners });
        }
        if since == 0 || step - since > MAX_STEPS {
            return Ok(EventNews { step, owners: None });
        }
        let find =
            query("SELECT DISTINCT owner_id FROM events WHERE step > $1 AND step <= $2 LIMIT $3");
        let find = find.bind(since).bind(step).bind(MAX_OWNERS);
        let found = self.engine.read(find).await?;
        let owners = found.iter().map(|row| row.get("owner_id"));
        let owners = owners.collect::<Result<Vec<i64>, StoreError>>()?;
        Ok(EventNews {
            step,
            owners: (owners.len() < MAX_OWNERS as usize).then_some(owners),
        })
    }

    /// Whether a feed can be read from a cursor on: its place, or why it cannot be.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn event_place(
        &self,
        owner: Principal,
        cursor: &EventCursor,
    ) -> Result<Result<EventPlace, FeedEnd>, StoreError> {
        let place = cursor.place;
        if *cursor == EventCursor::of_begin() {
            return Ok(Ok(place));
        }
        // The history that gave the cursor, and whether another one began at a step that the cursor has passed.
        let find = query(
            "SELECT (SELECT step FROM event_steps) AS newest,
                 (SELECT min(began) FROM event_histories WHERE substr(id, 1, 8) = $1) AS began,
                 (SELECT min(began) FROM event_histories
                  WHERE began > (SELECT min(began) FROM event_histories WHERE substr(id, 1, 8) = $1)) AS ended",
        );
        let find = find.bind(cursor.history());
        let found = self.engine.read_one(find).await?;
        let row = found.ok_or_else(|| StoreError::Unexpected("there is no feed".into()))?;
        let (newest, began): (i64, Option<i64>) = (row.get("newest")?, row.get("began")?);
        let ended: Option<i64> = row.get("ended")?;
        let is_known = began.is_some_and(|began| began <= place.step)
            && ended.is_none_or(|ended| place.step < ended)
            && place.step <= newest;
        if !is_known {
            return Ok(Err(FeedEnd::WentBack));
        }
        if self.is_pruned_after(owner, place).await? {
            return Ok(Err(FeedEnd::Pruned));
        }
        Ok(Ok(place))
    }

    /// Whether events of an account after a place are not kept any more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_pruned_after(
        &self,
        owner: Principal,
        place: EventPlace,
    ) -> Result<bool, StoreError> {
        let find = query(
            "SELECT 1 AS one FROM events_pruned WHERE owner_id = $1 AND (step, last_index) > ($2, $3)",
        );
        let find = find.bind(owner.user).bind(place.step).bind(place.index);
        Ok(self.engine.read_one(find).await?.is_some())
    }

    /// The cursor of a place, in the history that it belongs to.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn event_cursor(&self, place: EventPlace) -> Result<EventCursor, StoreError> {
        let find =
            query("SELECT id FROM event_histories WHERE began <= $1 ORDER BY began DESC LIMIT 1");
        let found = self.engine.read_one(find.bind(place.step)).await?;
        let history: Option<String> = found.map(|row| row.get("id")).transpose()?;
        Ok(history.map_or_else(EventCursor::of_begin, |history| {
            EventCursor::new(&history, place)
        }))
    }

    /// Events of an account after a place, up to `limit` of them; none if the account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn events_after(
        &self,
        owner: Principal,
        after: EventPlace,
        limit: usize,
    ) -> Result<EventPage, StoreError> {
        let find = query(
            "SELECT *, (SELECT id FROM event_histories WHERE began <= found.step ORDER BY began DESC LIMIT 1) AS history
             FROM (
                 SELECT *, sum(coalesce(length(classes), 0)) OVER (ORDER BY step, first) - coalesce(length(classes), 0) AS bytes_before
                 FROM (
                     SELECT * FROM events
                     WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)
                         AND step >= $3 AND (step > $3 OR first + size - 1 > $4)
                     ORDER BY step, first LIMIT $5) AS next) AS found
             WHERE bytes_before <= $6 ORDER BY step, first",
        );
        let find = find.bind(owner.user).bind(&owner.key);
        let find = find.bind(after.step).bind(after.index);
        let find = find.bind(MAX_ROWS).bind(MAX_BYTES);
        let rows = self.engine.read(find).await?;
        let mut known = KnownClasses::default();
        let mut read = Vec::new();
        let mut next = after;
        let mut found = 0;
        for row in &rows {
            let row = FeedRow::read(row, &mut known)?;
            let events = row.places(after);
            let room = limit.saturating_sub(found).min(events.count());
            if room == 0 {
                break;
            }
            found += room;
            next = row.place(row.places(after).start + room - 1);
            read.push((row, room));
        }
        let codes = self.codes_of_clicks(owner.user, &read).await?;
        let mut events = Vec::new();
        for (row, room) in read {
            let places = row.places(after).take(room);
            for place in places {
                events.extend(row.event(place, &codes)?);
            }
        }
        Ok(EventPage { events, next })
    }

    /// The codes of links with clicks.
    async fn codes_of_clicks(
        &self,
        owner: UserId,
        rows: &[(FeedRow, usize)],
    ) -> Result<Codes, StoreError> {
        let mut links: Vec<LinkId> = Vec::new();
        for (row, _) in rows {
            links.extend(row.clicks.iter().map(|clicks| clicks[0].link));
        }
        links.sort_unstable();
        links.dedup();
        let mut codes = Codes::default();
        if links.is_empty() {
            return Ok(codes);
        }
        let find = query(
            "SELECT id, short_code, tags FROM links WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1))",
        );
        for row in self.engine.read(find.bind(&links[..])).await? {
            let code = Code {
                of_link: row.get("short_code")?,
                tags: tags_of(&row)?,
                until: None,
            };
            codes.insert(row.get("id")?, code);
        }
        links.retain(|link| !codes.contains_key(link));
        if links.is_empty() {
            return Ok(codes);
        }
        // Of links that are gone, from the owner's own feed. Clicks that came after a deletion are in no count.
        let find = query(
            "SELECT link_id, short_code, tags, type, step, first FROM events
             WHERE owner_id = $1 AND link_id IN (SELECT CAST(value AS bigint) FROM json_each($2)) ORDER BY step, first",
        );
        for row in self.engine.read(find.bind(owner).bind(&links[..])).await? {
            let is_deleted = row.get::<String>("type")? == EventType::Deleted.as_str();
            let place = EventPlace {
                step: row.get("step")?,
                index: row.get("first")?,
            };
            let code = Code {
                of_link: row.get("short_code")?,
                tags: tags_of(&row)?,
                until: is_deleted.then_some(place),
            };
            codes.insert(row.get("link_id")?, code);
        }
        Ok(codes)
    }
}
