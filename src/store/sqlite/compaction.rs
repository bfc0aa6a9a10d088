//! Compaction the journal into the links, in short steps.
//!
//! SQLite has one writer, and clicks wait for it: so the journal is summed up by a reader, and the sums
//! are written some links at a time, by rising id. The row in `folding` says how far that is, in the
//! same transaction; counts leave out what it covers. A crash, or another process, goes on from there.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio::time::sleep;

use super::batch::{from_json, to_json};
use super::{SqliteStore, begin};
use crate::domain::LinkId;
use crate::store::rows;
use crate::store::{Compacted, StoreError};

/// Links per step: a step takes about half a millisecond.
const LINKS_PER_STEP: usize = 250;

/// Journal rows removed per step, once they are folded.
const ROWS_PER_STEP: u32 = 250;

/// Batches summed up between two pauses, so that a long journal does not keep a core to itself.
const BATCHES_PER_BREATH: u32 = 128;

/// Up to which link a folding is that is in the links whole.
const ALL_LINKS: i64 = i64::MAX;

/// A folding that this process has summed up.
pub(super) struct Compaction {
    /// None ever has the number of another.
    number: i64,
    /// The recorders whose batches are still to be removed, and the newest of those.
    cuts: Vec<Cut>,
    /// What is still to be added, kept in order: sorting all of it at once would keep others from the core.
    rest: BTreeMap<LinkId, u64>,
}

/// Up to which of a recorder's batches a folding goes.
type Cut = (i64, i64);

impl SqliteStore {
    pub(super) async fn fold_step(&self) -> Result<Compacted, StoreError> {
        let mut compaction = self.compaction.lock().await;
        let Some(current) = (match compaction.take() {
            Some(current) => Some(current),
            None => self.begin_compaction().await?,
        }) else {
            return Ok(Compacted {
                done: true,
                ..Compacted::default()
            });
        };
        let step = if current.rest.is_empty() {
            self.remove_folded(current).await?
        } else {
            self.add_some(current).await?
        };
        let (next, folded) = step;
        *compaction = next;
        Ok(folded)
    }

    /// Sums up the folding that is under way or, where there is none, all that is in the journal.
    async fn begin_compaction(&self) -> Result<Option<Compaction>, StoreError> {
        let Some((number, up_to)) = self.compaction_under_way().await? else {
            return Ok(None);
        };
        let cuts: Vec<Cut> = sqlx::query_as("SELECT recorder, last_batch FROM folding_cuts")
            .fetch_all(&mut *self.log.background().await?)
            .await?;
        let mut rest = BTreeMap::new();
        // Where all is in the links already it is only to be removed.
        let unread = if up_to == ALL_LINKS { &[] } else { &*cuts };
        for (recorder, last) in unread {
            let mut after = -1;
            loop {
                let begun = Instant::now();
                let batches = self.batches(*recorder, after, *last).await?;
                let Some((newest, _)) = batches.last() else {
                    break;
                };
                after = *newest;
                for (_, batch) in batches {
                    for (link, clicks) in from_json(&batch)? {
                        if link.number() > up_to {
                            *rest.entry(link).or_default() += clicks;
                        }
                    }
                }
                sleep(begun.elapsed()).await;
            }
        }
        Ok(Some(Compaction { number, cuts, rest }))
    }

    /// The number of the folding that is under way, or of one that begins now, and up to which link it is;
    /// `None` when there is nothing to fold.
    async fn compaction_under_way(&self) -> Result<Option<(i64, i64)>, StoreError> {
        let is_wanted: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM folding_cuts) OR EXISTS (SELECT 1 FROM click_journal WHERE NOT held)",
        )
        .fetch_one(&mut *self.log.background().await?)
        .await?;
        if !is_wanted {
            return Ok(None);
        }
        let mut writer = self.writer.get().await?;
        let mut transaction = begin(&mut writer).await?;
        let under_way = sqlx::query_as(
            "SELECT number, up_to FROM folding WHERE EXISTS (SELECT 1 FROM folding_cuts)",
        )
        .fetch_optional(&mut *transaction)
        .await?;
        if under_way.is_some() {
            return Ok(under_way);
        }
        // From recorder to recorder by the key: the batches themselves are not read.
        sqlx::query(
            "WITH RECURSIVE recorders (id) AS (
                 SELECT min(recorder) FROM click_journal
                 UNION ALL
                 SELECT (SELECT min(recorder) FROM click_journal WHERE recorder > id)
                 FROM recorders WHERE id IS NOT NULL
             ),
             newest AS (
                 SELECT id, (SELECT max(number) FROM click_journal WHERE recorder = id AND NOT held) AS number
                 FROM recorders WHERE id IS NOT NULL
             )
             INSERT INTO folding_cuts SELECT id, number FROM newest WHERE number IS NOT NULL",
        )
        .execute(&mut *transaction)
        .await?;
        let begun = sqlx::query_as(
            "INSERT INTO folding (only_one, number, up_to) VALUES (1, 1, 0)
             ON CONFLICT (only_one) DO UPDATE SET number = number + 1, up_to = 0 RETURNING number, up_to",
        )
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(rows::written(begun))
    }

    /// The next batches of a recorder. Read in parts: the log cannot begin anew while somebody reads in it.
    async fn batches(
        &self,
        recorder: i64,
        after: i64,
        last: i64,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let batches = sqlx::query_as(
            "SELECT number, clicks FROM click_journal
             WHERE recorder = ?1 AND number > ?2 AND number <= ?3 AND NOT held ORDER BY number LIMIT ?4",
        )
        .bind(recorder)
        .bind(after)
        .bind(last)
        .bind(BATCHES_PER_BREATH)
        .fetch_all(&mut *self.log.background().await?)
        .await?;
        Ok(batches)
    }

    async fn add_some(
        &self,
        mut compaction: Compaction,
    ) -> Result<(Option<Compaction>, Compacted), StoreError> {
        let next = std::iter::from_fn(|| compaction.rest.pop_first());
        let part: Vec<_> = next.take(LINKS_PER_STEP).collect();
        let up_to = if compaction.rest.is_empty() {
            ALL_LINKS
        } else {
            part[part.len() - 1].0.number()
        };
        let mut writer = self.writer.get().await?;
        let mut transaction = begin(&mut writer).await?;
        // Unless another process of this file went on meanwhile: then its mark is where to go on.
        let moved = sqlx::query("UPDATE folding SET up_to = ?1 WHERE number = ?2 AND up_to < ?3")
            .bind(up_to)
            .bind(compaction.number)
            .bind(part[0].0.number())
            .execute(&mut *transaction)
            .await?;
        if moved.rows_affected() == 0 {
            return Ok((None, Compacted::default()));
        }
        sqlx::query(
            "UPDATE links SET clicks = links.clicks + pair.value FROM json_each(?1) AS pair
             WHERE links.id = CAST(pair.key AS INTEGER)",
        )
        .bind(to_json(&part))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let folded = Compacted {
            links: part.len() as u64,
            clicks: part.iter().map(|(_, clicks)| clicks).sum(),
            done: false,
        };
        Ok((Some(compaction), folded))
    }

    /// Removes journal rows that are in the links; recorders' marks take over telling repetitions.
    async fn remove_folded(
        &self,
        mut compaction: Compaction,
    ) -> Result<(Option<Compaction>, Compacted), StoreError> {
        let Some((recorder, last)) = compaction.cuts.last().copied() else {
            return Ok((None, Compacted::default()));
        };
        let mut writer = self.writer.get().await?;
        let mut transaction = begin(&mut writer).await?;
        // As above: another process may have done this, too, and be folding what came later.
        let is_current: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM folding, folding_cuts WHERE folding.number = ?1 AND recorder = ?2)",
        )
        .bind(compaction.number)
        .bind(recorder)
        .fetch_one(&mut *transaction)
        .await?;
        if !is_current {
            return Ok((None, Compacted::default()));
        }
        let up_to: Option<i64> = sqlx::query_scalar(
            "SELECT max(number) FROM (
                 SELECT number FROM click_journal
                 WHERE recorder = ?1 AND number <= ?2 AND NOT held ORDER BY number LIMIT ?3)",
        )
        .bind(recorder)
        .bind(last)
        .bind(ROWS_PER_STEP)
        .fetch_one(&mut *transaction)
        .await?;
        if let Some(up_to) = up_to {
            sqlx::query(
                "INSERT INTO click_recorders (recorder, last_batch, seen_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (recorder) DO UPDATE
                 SET last_batch = max(last_batch, excluded.last_batch), seen_at = excluded.seen_at",
            )
            .bind(recorder)
            .bind(up_to)
            .bind(self.clock.now().micros())
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "DELETE FROM click_journal WHERE recorder = ?1 AND number <= ?2 AND NOT held",
            )
            .bind(recorder)
            .bind(up_to)
            .execute(&mut *transaction)
            .await?;
        }
        if up_to.is_none_or(|up_to| up_to == last) {
            sqlx::query("DELETE FROM folding_cuts WHERE recorder = ?1")
                .bind(recorder)
                .execute(&mut *transaction)
                .await?;
            compaction.cuts.pop();
        }
        transaction.commit().await?;
        let done = compaction.cuts.is_empty();
        let folded = Compacted {
            done,
            ..Compacted::default()
        };
        Ok(((!done).then_some(compaction), folded))
    }
}
