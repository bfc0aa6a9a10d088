//! Compaction of the journal into the links, in short steps.
//!
//! SQLite has one writer, and clicks wait for it. So a reader sums up the journal, and the sums are written some links
//! at a time, by rising id. The row in `compaction` says up to which link they are written, in the same transaction; counts
//! leave out what it covers. After a crash, compaction goes on from there, in this process or another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use metrics::counter;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::batch::from_json;
use super::counted::count_clicks;
use super::log::Log;
use super::pool::Pool;
use super::step_size::StepSize;
use crate::domain::{Clock, Interval, LinkId};
use crate::store::rows;
use crate::store::rows::Tuples as _;
use crate::store::{Compacted, StoreError};
use crate::telemetry::metrics::CLASSES_DROPPED;

/// Batches summed up between two pauses, so that a long journal does not keep a core to itself.
const BATCHES_PER_PAUSE: u32 = 128;

/// How many batches the journal may have if their classes are to stay until they are summed; large ones only if it has few.
const MAX_BATCHES: u32 = 100_000;
const MAX_LARGE_BATCHES: u32 = 2_000;
const LARGE: u32 = 65_536;

/// Up to which link a compaction is written whose clicks are all in the links.
const ALL_LINKS: i64 = i64::MAX;

/// Removes the batches of a recorder up to one, without batches that stay for their classes, and moves its marks. Values are bound one
/// after the other, through all of the statements.
const REMOVE: &str = "
    DELETE FROM click_journal WHERE recorder = ? AND number <= ? AND NOT parked AND (details IS NULL OR length(details) >= ?);
    INSERT INTO click_recorders (recorder, last_batch, counted, seen_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (recorder) DO UPDATE
    SET last_batch = max(last_batch, excluded.last_batch), counted = excluded.counted, seen_at = excluded.seen_at;
    DELETE FROM compaction_cuts WHERE recorder = ? AND last_batch = ?";

/// Compacts the journal, one step at a time.
pub(super) struct Compactor {
    writer: Arc<Pool>,
    log: Arc<Log>,
    clock: Arc<dyn Clock>,
    under_way: Mutex<UnderWay>,
}

struct UnderWay {
    compaction: Option<Compaction>,
    /// Links, for whose counts clicks wait.
    links: StepSize,
    /// Rows of the journal that are removed, once their clicks are in the links.
    rows: StepSize,
}

/// A compaction that this process has summed up.
struct Compaction {
    /// No two compactions of a database have the same number.
    number: i64,
    /// The recorders whose batches are still to be removed, or left for their classes, and the newest of those.
    cuts: Vec<Cut>,
    /// Batches in the journal when it began.
    batches: u32,
    /// The clicks still to be added, kept in order: sorting all of them at once would keep other work from the core.
    rest: BTreeMap<(LinkId, Interval), u64>,
}

/// A recorder, and up to which of its batches a compaction goes.
type Cut = (i64, i64);

/// `number`, `clicks` and `interval` of a batch.
type JournalRow = (i64, String, i64);

impl Compactor {
    pub(super) fn new(writer: Arc<Pool>, log: Arc<Log>, clock: Arc<dyn Clock>) -> Self {
        Self {
            writer,
            log,
            clock,
            under_way: Mutex::new(UnderWay {
                compaction: None,
                links: StepSize::new(),
                rows: StepSize::new(),
            }),
        }
    }

    /// Whether there is something left to do of a compaction that was begun.
    pub(super) async fn is_under_way(&self) -> bool {
        self.under_way.lock().await.compaction.is_some()
    }

    /// Does one short step.
    pub(super) async fn step(&self) -> Result<Compacted, StoreError> {
        let mut under_way = self.under_way.lock().await;
        let Some(current) = (match under_way.compaction.take() {
            Some(current) => Some(current),
            None => self.start().await?,
        }) else {
            return Ok(Compacted {
                done: true,
                ..Compacted::default()
            });
        };
        let (next, compacted) = if current.rest.is_empty() {
            self.remove_compacted(current, &mut under_way.rows).await?
        } else {
            self.add_some(current, &mut under_way.links).await?
        };
        under_way.compaction = next;
        Ok(compacted)
    }

    /// Sums up the compaction that is under way. Without one, it sums up all that is in the journal.
    async fn start(&self) -> Result<Option<Compaction>, StoreError> {
        let Some((number, up_to)) = self.newest_compaction().await? else {
            return Ok(None);
        };
        let cuts: Vec<Cut> = sqlx::query("SELECT recorder, last_batch FROM compaction_cuts")
            .fetch_all(&mut *self.log.background().await?)
            .await?
            .tuples()?;
        let mut rest = BTreeMap::new();
        // Where all clicks are in the links already, the batches are only removed.
        let unread = if up_to == ALL_LINKS { &[] } else { &*cuts };
        for (recorder, last) in unread {
            let counted: Option<i64> = sqlx::query_scalar(
                "SELECT counted FROM click_recorders WHERE recorder = ?1 AND counted IS NOT NULL",
            )
            .bind(recorder)
            .fetch_optional(&mut *self.log.background().await?)
            .await?;
            let mut after = counted.unwrap_or(-1);
            loop {
                let started = Instant::now();
                let batches = self.batches(*recorder, after, *last).await?;
                let Some((newest, ..)) = batches.last() else {
                    break;
                };
                after = *newest;
                for (_, batch, interval) in batches {
                    let interval = Interval::from_number(interval);
                    for (link, clicks) in from_json(&batch)? {
                        if link.number() > up_to {
                            *rest.entry((link, interval)).or_default() += clicks;
                        }
                    }
                }
                sleep(started.elapsed()).await;
            }
        }
        let batches = sqlx::query_scalar(
            "SELECT count(*) FROM (SELECT 1 FROM click_journal WHERE details IS NOT NULL LIMIT ?1)",
        )
        .bind(MAX_BATCHES)
        .fetch_one(&mut *self.log.background().await?)
        .await?;
        Ok(Some(Compaction {
            number,
            cuts,
            batches,
            rest,
        }))
    }

    /// The number of the compaction that is under way, or of one that starts now, and up to which link it is written;
    /// `None` when there is nothing to compact.
    async fn newest_compaction(&self) -> Result<Option<(i64, i64)>, StoreError> {
        let is_wanted: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM compaction_cuts) OR EXISTS (
                 SELECT 1 FROM click_journal LEFT JOIN click_recorders USING (recorder)
                 WHERE NOT parked AND (counted IS NULL OR number > counted))",
        )
        .fetch_one(&mut *self.log.background().await?)
        .await?;
        if !is_wanted {
            return Ok(None);
        }
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let under_way = sqlx::query_as(
            "SELECT number, up_to FROM compaction WHERE EXISTS (SELECT 1 FROM compaction_cuts)",
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
                 SELECT id, (SELECT max(number) FROM click_journal WHERE recorder = id AND NOT parked
                     AND number <= (SELECT told FROM click_recorders WHERE recorder = id)) AS number
                 FROM recorders WHERE id IS NOT NULL
             )
             INSERT INTO compaction_cuts SELECT id, number FROM newest
             WHERE number > coalesce((SELECT counted FROM click_recorders WHERE recorder = id), -1)",
        )
        .execute(&mut *transaction)
        .await?;
        let started = sqlx::query(
            "INSERT INTO compaction (only_one, number, up_to) VALUES (1, 1, 0)
             ON CONFLICT (only_one) DO UPDATE SET number = number + 1, up_to = 0 RETURNING number, up_to",
        )
        .fetch_all(&mut *transaction)
        .await?
        .tuples()?;
        transaction.commit().await?;
        Ok(rows::written(started))
    }

    /// The next batches of a recorder. They are read in parts: the log cannot start again while a reader is in it.
    async fn batches(
        &self,
        recorder: i64,
        after: i64,
        last: i64,
    ) -> Result<Vec<JournalRow>, StoreError> {
        let batches = sqlx::query(
            "SELECT number, clicks, interval FROM click_journal
             WHERE recorder = ?1 AND number > ?2 AND number <= ?3 AND NOT parked ORDER BY number LIMIT ?4",
        )
        .bind(recorder)
        .bind(after)
        .bind(last)
        .bind(BATCHES_PER_PAUSE)
        .fetch_all(&mut *self.log.background().await?)
        .await?
        .tuples()?;
        Ok(batches)
    }

    async fn add_some(
        &self,
        mut compaction: Compaction,
        size: &mut StepSize,
    ) -> Result<(Option<Compaction>, Compacted), StoreError> {
        let part = compaction.next_links(size.rows());
        let up_to = if compaction.rest.is_empty() {
            ALL_LINKS
        } else {
            part[part.len() - 1].0.0.number()
        };
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        // Unless another process that has this file went on meanwhile: then its mark is where to go on.
        let moved =
            sqlx::query("UPDATE compaction SET up_to = ?1 WHERE number = ?2 AND up_to < ?3")
                .bind(up_to)
                .bind(compaction.number)
                .bind(part[0].0.0.number())
                .execute(&mut *transaction)
                .await?;
        if moved.rows_affected() == 0 {
            return Ok((None, Compacted::default()));
        }
        let mut compacted = Compacted {
            links: part.chunk_by(|one, next| one.0.0 == next.0.0).count() as u64,
            ..Compacted::default()
        };
        for (interval, clicks) in by_interval(&part) {
            count_clicks(&mut transaction, &clicks, interval).await?;
            compacted.clicks += clicks.iter().map(|(_, clicks)| clicks).sum::<u64>();
        }
        transaction.commit().await?;
        size.took(part.len(), started.elapsed());
        Ok((Some(compaction), compacted))
    }

    /// Removes journal rows whose clicks are in the links; from then on recorders' marks reveal repetitions. Those that have classes stay
    /// until these are summed, if there is room.
    async fn remove_compacted(
        &self,
        mut compaction: Compaction,
        size: &mut StepSize,
    ) -> Result<(Option<Compaction>, Compacted), StoreError> {
        let Some((recorder, last)) = compaction.cuts.last().copied() else {
            return Ok((None, Compacted::default()));
        };
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        // As above: another process may have done this, too, and be compacting later batches.
        let is_current: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM compaction, compaction_cuts WHERE compaction.number = ?1 AND recorder = ?2)",
        )
        .bind(compaction.number)
        .bind(recorder)
        .fetch_one(&mut *transaction)
        .await?;
        if !is_current {
            return Ok((None, Compacted::default()));
        }
        let limit = u32::try_from(size.rows()).unwrap_or(u32::MAX);
        let smallest_dropped = match compaction.batches {
            MAX_BATCHES.. => 0,
            MAX_LARGE_BATCHES.. => LARGE,
            _ => u32::MAX,
        };
        let (up_to, rows, dropped): (Option<i64>, u32, u32) = sqlx::query_as(
            "SELECT max(number), count(*), count(details) FROM (
                 SELECT number, details FROM click_journal
                 WHERE recorder = ?1 AND number <= ?2 AND NOT parked AND (details IS NULL OR length(details) >= ?3)
                 ORDER BY number LIMIT ?4)",
        )
        .bind(recorder)
        .bind(last)
        .bind(smallest_dropped)
        .bind(limit)
        .fetch_one(&mut *transaction)
        .await?;
        let mark = up_to.filter(|_| rows == limit).unwrap_or(last);
        sqlx::query(REMOVE)
            .bind(recorder)
            .bind(mark)
            .bind(smallest_dropped)
            .bind(recorder)
            .bind(mark)
            .bind(mark)
            .bind(self.clock.now().micros())
            .bind(recorder)
            .bind(mark)
            .execute(&mut *transaction)
            .await?;
        if mark == last {
            compaction.cuts.pop();
        }
        transaction.commit().await?;
        counter!(CLASSES_DROPPED).increment(dropped.into());
        size.took(rows as usize, started.elapsed());
        let done = compaction.cuts.is_empty();
        let compacted = Compacted {
            done,
            ..Compacted::default()
        };
        Ok(((!done).then_some(compaction), compacted))
    }
}

impl Compaction {
    /// Takes so many sums out, and all sums of the last link: the mark names a link.
    fn next_links(&mut self, sums: usize) -> Vec<((LinkId, Interval), u64)> {
        let mut next = Vec::with_capacity(sums);
        while let Some(first) = self.rest.first_entry() {
            let (link, _) = *first.key();
            if next.len() >= sums && next.last().is_some_and(|((last, _), _)| *last != link) {
                break;
            }
            next.push(first.remove_entry());
        }
        next
    }
}

/// Clicks of links, by interval.
fn by_interval(clicks: &[((LinkId, Interval), u64)]) -> BTreeMap<Interval, Vec<(LinkId, u64)>> {
    let mut intervals = BTreeMap::<_, Vec<_>>::new();
    for ((link, interval), clicks) in clicks {
        intervals
            .entry(*interval)
            .or_default()
            .push((*link, *clicks));
    }
    intervals
}
