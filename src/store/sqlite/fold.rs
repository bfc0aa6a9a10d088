//! Folding the journal into the links, in short steps.
//!
//! SQLite has one writer, and clicks wait for it: so the journal is summed up by a reader, and the sums
//! are written some links at a time, by rising id. The row in `journal_fold` says how far that is, in the
//! same transaction; counts leave out what it covers. A crash, or another process, goes on from there.

use std::collections::HashMap;
use std::time::Instant;

use foldhash::fast::RandomState;
use futures_util::TryStreamExt;
use tokio::time::sleep;

use super::clicks::{from_json, to_json};
use super::{SqliteStore, begin};
use crate::domain::{LinkId, Timestamp};
use crate::store::{Folded, StoreError, WHOLE};

/// Links per step: a step takes about a millisecond.
const LINKS_PER_STEP: usize = 250;

/// Journal rows removed per step, once they are folded.
const ROWS_PER_STEP: u32 = 100;

/// Batches summed up between two pauses, so that a long journal does not keep a core to itself.
const BATCHES_PER_BREATH: u32 = 64;

/// Pages of the write-ahead log (4 KiB each) past which it is made to begin anew.
const MOST_LOG_PAGES: i64 = 16_384;

/// A folding that this process has summed up.
pub(super) struct Folding {
    cut: i64,
    /// What is still to be added, by falling id.
    rest: Vec<(LinkId, u64)>,
}

impl SqliteStore {
    pub(super) async fn fold_step(&self) -> Result<Folded, StoreError> {
        let mut folding = self.folding.lock().await;
        let Some(current) = (match folding.take() {
            Some(current) => Some(current),
            None => self.begin_folding().await?,
        }) else {
            self.checkpoint().await?;
            return Ok(Folded {
                done: true,
                ..Folded::default()
            });
        };
        let step = if current.rest.is_empty() {
            self.remove_folded(current).await?
        } else {
            self.add_some(current).await?
        };
        let (next, folded) = step;
        *folding = next;
        if folded.done {
            self.checkpoint().await?;
        }
        Ok(folded)
    }

    /// Sums up the folding that is under way or, where there is none, all that is in the journal.
    async fn begin_folding(&self) -> Result<Option<Folding>, StoreError> {
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(sequence) FROM click_journal WHERE NOT held")
                .fetch_one(&self.reader)
                .await?;
        let Some(newest) = newest else {
            return Ok(None);
        };
        sqlx::query("INSERT INTO journal_fold (only_one, cut, up_to) VALUES (1, ?1, 0) ON CONFLICT DO NOTHING")
            .bind(newest)
            .execute(&self.writer)
            .await?;
        let (cut, up_to): (i64, i64) = sqlx::query_as("SELECT cut, up_to FROM journal_fold")
            .fetch_one(&self.writer)
            .await?;
        let mut sums: HashMap<LinkId, u64, RandomState> = HashMap::default();
        let mut batches = sqlx::query_scalar::<_, String>(
            "SELECT clicks FROM click_journal WHERE sequence <= ?1 AND NOT held",
        )
        .bind(cut)
        .fetch(&self.background);
        let mut read = 0;
        let mut begun = Instant::now();
        while let Some(batch) = batches.try_next().await? {
            for (link, clicks) in from_json(&batch)? {
                *sums.entry(link).or_default() += clicks;
            }
            read += 1;
            if read % BATCHES_PER_BREATH == 0 {
                sleep(begun.elapsed()).await;
                begun = Instant::now();
            }
        }
        let mut rest: Vec<_> = sums
            .into_iter()
            .filter(|(link, _)| link.0 > up_to)
            .collect();
        rest.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Some(Folding { cut, rest }))
    }

    async fn add_some(
        &self,
        mut folding: Folding,
    ) -> Result<(Option<Folding>, Folded), StoreError> {
        let left = folding.rest.len().saturating_sub(LINKS_PER_STEP);
        let mut part = folding.rest.split_off(left);
        part.reverse();
        let up_to = if left == 0 {
            WHOLE
        } else {
            part[part.len() - 1].0
        };
        let mut transaction = begin(&self.writer).await?;
        // Unless another process of this file went on meanwhile: then its mark is where to go on.
        let moved = sqlx::query("UPDATE journal_fold SET up_to = ?1 WHERE cut = ?2 AND up_to < ?3")
            .bind(up_to.0)
            .bind(folding.cut)
            .bind(part[0].0.0)
            .execute(&mut *transaction)
            .await?;
        if moved.rows_affected() == 0 {
            return Ok((None, Folded::default()));
        }
        sqlx::query(
            "UPDATE links SET clicks = links.clicks + pair.value FROM json_each(?1) AS pair
             WHERE links.id = CAST(pair.key AS INTEGER)",
        )
        .bind(to_json(&part))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let folded = Folded {
            links: part.len() as u64,
            clicks: part.iter().map(|(_, clicks)| clicks).sum(),
            done: false,
        };
        Ok((Some(folding), folded))
    }

    /// Removes journal rows that are in the links; recorders' marks take over telling repetitions.
    async fn remove_folded(
        &self,
        folding: Folding,
    ) -> Result<(Option<Folding>, Folded), StoreError> {
        let mut transaction = begin(&self.writer).await?;
        let finished: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM journal_fold WHERE cut = ?1 AND up_to = ?2")
                .bind(folding.cut)
                .bind(WHOLE.0)
                .fetch_optional(&mut *transaction)
                .await?;
        if finished.is_none() {
            return Ok((None, Folded::default()));
        }
        sqlx::query(
            "INSERT INTO click_recorders (recorder, last_batch, seen_at)
             SELECT recorder, max(number), ?3 FROM (
                 SELECT recorder, number FROM click_journal
                 WHERE sequence <= ?1 AND NOT held ORDER BY sequence LIMIT ?2
             ) GROUP BY 1
             ON CONFLICT (recorder) DO UPDATE
             SET last_batch = max(last_batch, excluded.last_batch), seen_at = excluded.seen_at",
        )
        .bind(folding.cut)
        .bind(ROWS_PER_STEP)
        .bind(Timestamp::now().0)
        .execute(&mut *transaction)
        .await?;
        let removed = sqlx::query(
            "DELETE FROM click_journal WHERE sequence IN (
                 SELECT sequence FROM click_journal
                 WHERE sequence <= ?1 AND NOT held ORDER BY sequence LIMIT ?2)",
        )
        .bind(folding.cut)
        .bind(ROWS_PER_STEP)
        .execute(&mut *transaction)
        .await?;
        let done = removed.rows_affected() < u64::from(ROWS_PER_STEP);
        if done {
            sqlx::query("DELETE FROM journal_fold")
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        let folded = Folded {
            done,
            ..Folded::default()
        };
        Ok(((!done).then_some(folding), folded))
    }

    /// Writes the log back into the file, on connections of their own: the writer goes on meanwhile. What is
    /// left to do with the writer locked out is little, and does not stand back.
    async fn checkpoint(&self) -> Result<(), StoreError> {
        let (_, pages, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_one(&self.background)
            .await?;
        if pages > MOST_LOG_PAGES {
            // Says "busy" rather than wait for readers; then the next one tries.
            sqlx::query("PRAGMA wal_checkpoint(RESTART)")
                .execute(&self.checkpointer)
                .await?;
        }
        Ok(())
    }
}
