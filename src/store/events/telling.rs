//! Gives what waits its places in the feeds.

use std::time::Duration;

use serde_json::json;

use super::step::{LinkRow, Step};
use crate::domain::Timestamp;
use crate::store::connection::Connection;
use crate::store::engine::Engine;
use crate::store::sql::{query, query_of_each};
use crate::store::{Store, StoreError};

/// Links whose end is noted in one transaction.
const ENDS_PER_STEP: u32 = 1_000;

/// How long after its end a link is looked at: what a client changed just before may be committed late.
const COMMITTED_AFTER: Duration = Duration::from_secs(5);

impl Store {
    /// Gives what happened its places in the feeds: up to some thousand events of links, and clicks of some hundred parts or batches.
    /// Returns whether there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn tell_events(&self, now: Timestamp) -> Result<bool, StoreError> {
        let look = super::is_waiting(now, COMMITTED_AFTER);
        let Some(found) = self.engine.read_one(look).await? else {
            return Ok(false);
        };
        if !found.get::<bool>("is_waiting")? {
            return Ok(false);
        }
        let are_more_ends = self.note_ends(found.get("ends_before")?).await?;
        let are_more = match &self.engine {
            Engine::Postgres(store) => store.tell().await?,
            Engine::Sqlite(store) => store.tell().await?,
        };
        Ok(are_more || are_more_ends)
    }

    /// Notes which links expired up to a moment; returns whether there may be more.
    async fn note_ends(&self, before: Timestamp) -> Result<bool, StoreError> {
        self.engine
            .transaction(async |connection| {
                let lock = query("SELECT step FROM event_steps FOR UPDATE");
                connection.lock(lock).await?;
                let note = query(
                    "INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags)
                     SELECT owner_id, id, 'link.ended', expires_at, short_code, target_url, title, tags FROM links
                     WHERE expires_at <= $1 AND (expires_at, id) > (SELECT ended_at, ended_link FROM event_steps)
                         AND alias_of IS NULL AND trashed_at = 0
                         AND NOT EXISTS (SELECT 1 FROM link_limits WHERE link_id = id AND max_clicks <= clicks_before + granted)
                         AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = owner_id)
                     ORDER BY expires_at, id LIMIT $2 RETURNING at, link_id",
                );
                let note = note.bind(before).bind(ENDS_PER_STEP);
                let noted = connection.all(note).await?;
                let are_more = noted.len() == ENDS_PER_STEP as usize;
                let mut last = (before.micros(), i64::MAX);
                if are_more {
                    let ends = noted.iter().map(|row| Ok((row.get("at")?, row.get("link_id")?)));
                    let ends = ends.collect::<Result<Vec<(i64, i64)>, StoreError>>()?;
                    last = ends.into_iter().max().unwrap_or(last);
                }
                let mark = query("UPDATE event_steps SET ended_at = $1, ended_link = $2 WHERE (ended_at, ended_link) < ($1, $2)");
                connection.execute(mark.bind(last.0).bind(last.1)).await?;
                Ok(are_more)
            })
            .await
    }
}

/// Writes a step in a history of the database, without its clicks; returns its number.
pub(in crate::store) async fn write_step(
    connection: &mut Connection<'_>,
    step: &mut Step,
    history: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let find = query(
        "SELECT id FROM users WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1))
         AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)",
    );
    let found = connection.all(find.bind(&step.owners()[..])).await?;
    let present = found.iter().map(|row| row.get("id"));
    step.retain(&present.collect::<Result<_, StoreError>>()?);
    let next = query("UPDATE event_steps SET step = step + 1 RETURNING step");
    let number: i64 = connection.one(next).await?.get("step")?;
    let begin = query(
        "INSERT INTO event_histories (id, began) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
    );
    connection.execute(begin.bind(history).bind(number)).await?;
    if !step.of_links.is_empty() {
        let rows: Vec<_> = step.of_links.iter().map(LinkRow::json).collect();
        let rows = json!(rows).to_string();
        let insert = query_of_each(
            "INSERT INTO events (owner_id, step, first, size, type, at, told_at, link_id, short_code, target_url, title, tags, clicks)
             SELECT (row ->> 0)::bigint, $2, (row ->> 1)::bigint, 1, row ->> 2, (row ->> 3)::bigint, $3, (row ->> 4)::bigint,
                 row ->> 5, row ->> 6, row ->> 7, row ->> 8, (row ->> 9)::bigint
             FROM json_array_elements($1::text::json) AS rows (row)",
            "INSERT INTO events (owner_id, step, first, size, type, at, told_at, link_id, short_code, target_url, title, tags, clicks)
             SELECT value ->> 0, $2, value ->> 1, 1, value ->> 2, value ->> 3, $3, value ->> 4,
                 value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
             FROM json_each($1)",
        );
        let insert = insert.bind(rows).bind(number).bind(now);
        connection.execute(insert).await?;
    }
    Ok(number)
}

/// Takes what has its place out of the queue.
pub(in crate::store) async fn write_marks(
    connection: &mut Connection<'_>,
    step: &Step,
) -> Result<(), StoreError> {
    if step.numbers.is_empty() {
        return Ok(());
    }
    let remove = query(
        "DELETE FROM event_queue WHERE number IN (SELECT CAST(value AS bigint) FROM json_each($1))",
    );
    connection.execute(remove.bind(&step.numbers[..])).await?;
    Ok(())
}

impl LinkRow {
    /// The columns in the order of the statement.
    fn json(&self) -> serde_json::Value {
        let event = &self.event;
        json!([
            event.owner.0,
            self.first,
            event.of.as_str(),
            event.at.micros(),
            event.link.number(),
            event.short_code,
            event.target_url,
            event.title,
            event.tags,
            event.clicks,
        ])
    }
}
