//! What waits for its place in the feeds.

use std::collections::HashMap;
use std::time::Duration;

use crate::domain::{EventType, Interval, LinkId, Timestamp, UserId};
use crate::store::connection::Connection;
use crate::store::sql::{Query, Row, query, query_of_each};
use crate::store::{ClickDetails, StoreError};

/// Events of links that get their places in one step.
const EVENTS_PER_STEP: u32 = 2_000;

/// What waits, as one snapshot shows it.
#[derive(Debug, Default)]
pub(in crate::store) struct Waiting {
    /// By rising number.
    pub(super) queue: Vec<QueuedEvent>,
    /// Counted clicks that have no place, complete: what has no class has the class of which nothing is known.
    pub(in crate::store) clicks: Vec<(Interval, ClickDetails)>,
    /// The owners of links that are there, or were when the clicks came.
    pub(in crate::store) owners: HashMap<LinkId, UserId>,
    /// The counts of links that are moved, with all of the clicks that wait.
    pub(super) counts: HashMap<LinkId, u64>,
    /// Whether these are all clicks of the snapshot that have no place.
    pub(in crate::store) is_drained: bool,
}

/// What happened to a link.
#[derive(Clone, Debug)]
pub(super) struct QueuedEvent {
    pub(super) number: i64,
    pub(super) owner: UserId,
    pub(super) link: LinkId,
    pub(super) of: EventType,
    pub(super) at: Timestamp,
    pub(super) short_code: String,
    pub(super) target_url: String,
    pub(super) title: String,
    /// A JSON array.
    pub(super) tags: String,
    pub(super) clicks: i64,
    pub(super) moved_to: Option<UserId>,
}

impl QueuedEvent {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let word: String = row.get("type")?;
        let of = EventType::parse(&word)
            .ok_or_else(|| StoreError::Unexpected(format!("{word} is no type of events")))?;
        let moved_to: Option<i64> = row.get("moved_to")?;
        Ok(Self {
            number: row.get("number")?,
            owner: UserId(row.get("owner_id")?),
            link: row.get("link_id")?,
            of,
            at: row.get("at")?,
            short_code: row.get("short_code")?,
            target_url: row.get("target_url")?,
            title: row.get("title")?,
            tags: row.get("tags")?,
            clicks: row.get("clicks")?,
            moved_to: moved_to.map(UserId),
        })
    }
}

/// Whether anything waits, and up to which moment ends are noted, by the clock of the database: so that a moment without news costs one
/// statement.
pub(in crate::store) fn is_waiting(now: Timestamp, committed_after: Duration) -> Query<'static> {
    let find = query_of_each(
        "SELECT EXISTS (SELECT FROM event_queue) OR EXISTS (SELECT FROM click_parts WHERE band IN (-2, -3)) OR EXISTS (
             SELECT FROM links WHERE expires_at <= moment.ends_before
             AND (expires_at, id) > (SELECT ended_at, ended_link FROM event_steps)) AS is_waiting, moment.ends_before
         FROM (SELECT least(now_micros(), $1) - $2::bigint AS ends_before) AS moment",
        "WITH RECURSIVE recorders (id) AS (
             SELECT min(recorder) FROM click_journal
             UNION ALL
             SELECT (SELECT min(recorder) FROM click_journal WHERE recorder > id) FROM recorders WHERE id IS NOT NULL
         )
         SELECT EXISTS (SELECT 1 FROM event_queue) OR EXISTS (
             SELECT 1 FROM recorders WHERE id IS NOT NULL
             AND (SELECT max(number) FROM click_journal WHERE recorder = id AND NOT parked)
                 > coalesce((SELECT told FROM click_recorders WHERE recorder = id), -1)) OR EXISTS (
             SELECT 1 FROM links WHERE expires_at <= moment.ends_before
             AND (expires_at, id) > (SELECT ended_at, ended_link FROM event_steps)) AS is_waiting, moment.ends_before
         FROM (SELECT $1 - $2 AS ends_before) AS moment",
    );
    let committed_after = i64::try_from(committed_after.as_micros()).unwrap_or(i64::MAX);
    find.bind(now).bind(committed_after)
}

impl Waiting {
    /// Whether the queue may have more events.
    pub(in crate::store) fn is_full(&self) -> bool {
        self.queue.len() >= EVENTS_PER_STEP as usize
    }

    /// Reads the queue.
    pub(in crate::store) async fn read_queue(
        connection: &mut Connection<'_>,
    ) -> Result<Self, StoreError> {
        let find = query("SELECT * FROM event_queue ORDER BY number LIMIT $1");
        let found = connection.all(find.bind(EVENTS_PER_STEP)).await?;
        let queue = found.iter().map(QueuedEvent::read);
        Ok(Self {
            queue: queue.collect::<Result<_, _>>()?,
            ..Self::default()
        })
    }

    /// Reads also what lies further back in the queue of links that have clicks: their owners, and that they were made, may be there.
    pub(in crate::store) async fn read_of_clicked(
        &mut self,
        connection: &mut Connection<'_>,
    ) -> Result<(), StoreError> {
        let Some(last) = self.queue.last().filter(|_| self.is_full()) else {
            return Ok(());
        };
        let of_links = self
            .clicks
            .iter()
            .flat_map(|(_, details)| details.of_links());
        let mut links: Vec<LinkId> = of_links.map(|part| part.link).collect();
        links.dedup();
        let find = query(
            "SELECT * FROM event_queue WHERE number > $1 AND link_id IN (SELECT CAST(value AS bigint) FROM json_each($2)) ORDER BY number",
        );
        let found = connection
            .all(find.bind(last.number).bind(&links[..]))
            .await?;
        for row in &found {
            self.queue.push(QueuedEvent::read(row)?);
        }
        Ok(())
    }

    /// Reads how many clicks the links have that are moved.
    pub(in crate::store) async fn count_moved(
        &mut self,
        connection: &mut Connection<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let moved = self.queue.iter().filter(|event| event.moved_to.is_some());
        let links: Vec<LinkId> = moved.map(|event| event.link).collect();
        // Otherwise they wait.
        if self.is_drained && !links.is_empty() {
            self.counts = connection.written_clicks_of(&links, now).await?;
        }
        Ok(())
    }
}

/// The links of these that are there, with their owners.
pub(in crate::store) async fn owners_of(
    connection: &mut Connection<'_>,
    links: &[LinkId],
) -> Result<HashMap<LinkId, UserId>, StoreError> {
    let find = query(
        "SELECT id, owner_id FROM links WHERE alias_of IS NULL AND id IN (SELECT CAST(value AS bigint) FROM json_each($1))",
    );
    owners(&connection.all(find.bind(links)).await?)
}

/// The links of these that are not with the account that made them.
pub(in crate::store) async fn read_moved(
    connection: &mut Connection<'_>,
    makers: &[i64],
    links: &[LinkId],
) -> Result<HashMap<LinkId, UserId>, StoreError> {
    let any = query(
        "SELECT 1 AS one FROM links WHERE made_by IN (SELECT CAST(value AS bigint) FROM json_each($1)) LIMIT 1",
    );
    if connection.all(any.bind(makers)).await?.is_empty() {
        return Ok(HashMap::new());
    }
    let find = query(
        "SELECT id, owner_id FROM links
         WHERE made_by IS NOT NULL AND id IN (SELECT CAST(value AS bigint) FROM json_each($1))",
    );
    owners(&connection.all(find.bind(links)).await?)
}

fn owners(rows: &[Row]) -> Result<HashMap<LinkId, UserId>, StoreError> {
    let owner = |row: &Row| Ok((row.get("id")?, UserId(row.get("owner_id")?)));
    rows.iter().map(owner).collect()
}
