//! Batches of the journal that have no place in the feeds of events yet.

use std::collections::BTreeMap;

use sqlx::Connection as _;

use super::SqliteStore;
use super::batch::from_json;
use super::counted::{COUNTED_AT_ONCE, WITHOUT_CLASSES};
use crate::domain::{Interval, Timestamp};
use crate::store::connection::Connection;
use crate::store::events::{ClicksRow, Step, Waiting, owners_of, write_marks, write_step};
use crate::store::sql::query;
use crate::store::{StoreError, click_rows};

/// Batches of one step.
const BATCHES_PER_STEP: u32 = 256;

/// From recorder to recorder by the key, and of each the batches after its mark.
const UNTOLD: &str = "
    WITH RECURSIVE recorders (id) AS (
        SELECT min(recorder) FROM click_journal
        UNION ALL
        SELECT (SELECT min(recorder) FROM click_journal WHERE recorder > id) FROM recorders WHERE id IS NOT NULL
    )
    SELECT recorder, number, interval, clicks, details FROM recorders JOIN click_journal ON recorder = recorders.id
        AND number > coalesce((SELECT told FROM click_recorders WHERE click_recorders.recorder = recorders.id), -1)
    WHERE recorders.id IS NOT NULL AND NOT parked ORDER BY recorder, number LIMIT $1";

/// What a step is made of, and the marks that it moves.
struct Untold {
    waiting: Waiting,
    /// The newest batch of each recorder.
    marks: BTreeMap<i64, i64>,
    /// Batches that wait for nothing else.
    without_classes: Vec<i64>,
}

impl SqliteStore {
    /// Makes a step of the feeds; returns whether there may be more. What it is made of is read beside the writer, for which clicks wait.
    pub(in crate::store) async fn tell(&self) -> Result<bool, StoreError> {
        let _one = self.telling.lock().await;
        let now = self.clock.now();
        let Untold {
            waiting,
            marks,
            without_classes,
        } = self.untold(now).await?;
        let are_more = !waiting.is_drained || waiting.is_full();
        let mut step = Step::of(waiting);
        if step.is_empty() && marks.is_empty() {
            return Ok(false);
        }
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let mut connection = Connection::of_sqlite(&mut transaction);
        if !step.is_empty() {
            let number = write_step(&mut connection, &mut step, &self.history, now).await?;
            insert_clicks(&mut connection, number, now, &step.clicks).await?;
        }
        write_marks(&mut connection, &step).await?;
        for (recorder, number) in marks {
            let mark = query(
                "INSERT INTO click_recorders (recorder, last_batch, seen_at, told) VALUES ($1, -1, $2, $3)
                 ON CONFLICT (recorder) DO UPDATE SET told = excluded.told",
            );
            connection
                .execute(mark.bind(recorder).bind(now).bind(number))
                .await?;
        }
        if !without_classes.is_empty() {
            let remove = query(
                "DELETE FROM click_journal WHERE recorder = $1 AND number IN (SELECT value FROM json_each($2))",
            );
            let remove = remove.bind(WITHOUT_CLASSES).bind(&without_classes[..]);
            connection.execute(remove).await?;
        }
        transaction.commit().await?;
        Ok(are_more)
    }

    async fn untold(&self, now: Timestamp) -> Result<Untold, StoreError> {
        let mut reader = self.log.background().await?;
        let mut snapshot = reader.begin().await?;
        let mut connection = Connection::of_sqlite(&mut snapshot);
        let mut untold = Untold {
            waiting: Waiting::read_queue(&mut connection).await?,
            marks: BTreeMap::new(),
            without_classes: Vec::new(),
        };
        let batches = connection.all(query(UNTOLD).bind(BATCHES_PER_STEP)).await?;
        untold.waiting.is_drained = batches.len() < BATCHES_PER_STEP as usize;
        let mut links = Vec::new();
        for row in &batches {
            let (recorder, number): (i64, i64) = (row.get("recorder")?, row.get("number")?);
            untold.marks.insert(recorder, number);
            let clicks: String = row.get("clicks")?;
            let mut details = click_rows::details(row.get("details")?);
            if recorder == WITHOUT_CLASSES {
                untold.without_classes.push(number);
            } else if recorder != COUNTED_AT_ONCE {
                let mut clicks = from_json(&clicks)?;
                clicks.sort_unstable();
                details = details.fitted_to(&clicks);
            }
            links.extend(details.of_links().iter().map(|part| part.link));
            let interval = Interval::from_number(row.get("interval")?);
            untold.waiting.clicks.push((interval, details));
        }
        links.sort_unstable();
        links.dedup();
        if !links.is_empty() {
            untold.waiting.owners = owners_of(&mut connection, &links).await?;
        }
        untold.waiting.read_of_clicked(&mut connection).await?;
        untold.waiting.count_moved(&mut connection, now).await?;
        snapshot.rollback().await?;
        Ok(untold)
    }
}

/// Inserts the clicks of a step.
async fn insert_clicks(
    connection: &mut Connection<'_>,
    step: i64,
    now: Timestamp,
    rows: &[ClicksRow],
) -> Result<(), StoreError> {
    for row in rows {
        let insert = query(
            "INSERT INTO events (owner_id, step, first, size, type, at, told_at, interval, classes)
             VALUES ($1, $2, $3, $4, 'clicks', $5, $5, $6, $7)",
        )
        .bind(row.owner)
        .bind(step)
        .bind(row.first)
        .bind(row.size)
        .bind(now)
        .bind(i64::from(row.interval.number()))
        .bind(&row.classes[..]);
        connection.execute(insert).await?;
    }
    Ok(())
}
