//! Counted clicks in Postgres.
//!
//! Clicks become parts first ([`super::parts`]), and are added to links later.

use std::iter::repeat;

use async_trait::async_trait;

use super::PostgresStore;
use super::parts::Parts;
use super::session::Session;
use super::untold::packed_owners;
use crate::domain::{Interval, LinkId, Timestamp, UserId};
use crate::store::click_rows;
use crate::store::ledger::MAX_UNMERGED;
use crate::store::rows::Tuples as _;
use crate::store::rows::{self, signed};
use crate::store::{
    ClickBatch, ClickDetails, Clicks, Compacted, CountSnapshot, FlushId, FlushMark, FlushesSeen,
    LinkClicks, MergeRound, ParkedBatch, RecorderId, StoreError,
};

/// Recorder, number, epoch, links and their clicks, tag, interval, packed classes.
type ParkedRow = (
    i64,
    i64,
    String,
    Vec<i64>,
    Vec<i64>,
    Vec<i64>,
    Option<String>,
    i32,
    Option<Vec<u8>>,
);

/// The rows of a snapshot of counts; the kinds are those of `rows`.
macro_rules! counts {
    () => {
        "SELECT 0, asked.id,
        coalesce((SELECT clicks FROM link_clicks WHERE link_id = asked.id), 0)
            + coalesce((SELECT sum(clicks)::bigint FROM points_in_parts(asked.id)), 0)
    FROM unnest($1) AS asked (id)
    WHERE (SELECT true FROM links WHERE links.id = asked.id)
    UNION ALL
    SELECT 1, seen, CASE WHEN seen < flush THEN 9223372036854775807 ELSE up_to END
    FROM data_sets, unnest($3) AS seen WHERE epoch = $2 AND seen <= flush
    UNION ALL
    SELECT 1, flush, up_to FROM data_sets WHERE epoch = $2 AND flush > $4
    UNION ALL
    SELECT 2, 0, 0 WHERE EXISTS (SELECT FROM parked_batches WHERE $2 = '' OR epoch = $2)
    UNION ALL
    SELECT 3, 0, 0 WHERE $2 <> '' AND NOT EXISTS (
        SELECT FROM data_sets seen WHERE epoch = $2 AND term = $5
        AND term = (SELECT max(term) FROM data_sets WHERE tag = seen.tag))
    UNION ALL
    SELECT 4, 0, 0 WHERE EXISTS (
        SELECT FROM data_sets seen JOIN data_sets other USING (tag)
        WHERE seen.epoch = $2 AND other.drains_until > now_micros())"
    };
}

pub(super) use counts;

const COUNTS: &str = counts!();

#[async_trait]
impl Clicks for PostgresStore {
    async fn append(&self, batch: &ClickBatch, parked_in: Option<&str>) -> Result<(), StoreError> {
        let Some(epoch) = parked_in else {
            return self.append_parts(batch).await;
        };
        let (links, clicks) = columns(batch.clicks.iter().map(LinkClicks::of_link));
        self.pool
            .run_with_priority(async |session| {
                sqlx::query(
                    "INSERT INTO parked_batches (recorder, number, epoch, interval, link_ids, owners, clicks, details)
                     SELECT $1, $2, $3, $4, $5, $6, $7, $8 FROM is_new_batch($1, $2) AS is_new WHERE is_new",
                )
                .bind(batch.recorder.cast_signed())
                .bind(batch.number.cast_signed())
                .bind(epoch)
                .bind(batch.interval.number())
                .bind(links)
                .bind(owners(&batch.clicks))
                .bind(clicks)
                .bind(click_rows::packed(&batch.details))
                .execute(session)
                .await
            })
            .await?;
        Ok(())
    }

    async fn compact(&self, round: &mut MergeRound) -> Result<Compacted, StoreError> {
        self.merge_step(round).await
    }

    async fn apply_part(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[LinkClicks],
        details: &ClickDetails,
        up_to: FlushMark,
    ) -> Result<bool, StoreError> {
        let parts = Parts::of(part);
        let classes = complete(details, part);
        let written = self.pool.run(async |session| {
            sqlx::query_scalar(
                "SELECT write_flush($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            )
            .bind(&flush.epoch)
            .bind(flush.term)
            .bind(flush.number)
            .bind(&flush.name)
            .bind(from.stored())
            .bind(up_to.stored())
            .bind(MAX_UNMERGED)
            .bind(flush.interval.number())
            .bind(parts.bands)
            .bind(parts.ends)
            .bind(parts.links)
            .bind(parts.clicks)
            .bind(owners(part))
            .bind(&classes)
            .bind(packed_owners(part))
            .bind(!details.is_empty())
            .fetch_one(session)
            .await
        });
        Ok(written.await?)
    }

    async fn parked(
        &self,
        after: Option<(RecorderId, u64)>,
        limit: u32,
    ) -> Result<Vec<ParkedBatch>, StoreError> {
        let (recorder, number) = click_rows::batch_key(after);
        let found: Vec<ParkedRow> = self
            .pool
            .run(async |session| {
                sqlx::query(
            "SELECT recorder, number, epoch, link_ids, owners, clicks, tag, interval, details
             FROM parked_batches LEFT JOIN data_sets USING (epoch) WHERE (recorder, number) > ($1, $2) ORDER BY recorder, number LIMIT $3",
        )
        .bind(recorder)
        .bind(number)
        .bind(i64::from(limit))
        .fetch_all(session)
        .await?
        .tuples()
            })
            .await?;
        let parked =
            |(recorder, number, epoch, links, owners, clicks, tag, interval, details): ParkedRow| {
                let last = owners.last().copied().unwrap_or_default();
                let owners = owners.into_iter().chain(repeat(last)).map(UserId);
                let clicks = clicks.into_iter().map(i64::unsigned_abs);
                let batch = ClickBatch {
                    recorder: recorder.cast_unsigned(),
                    number: number.cast_unsigned(),
                    interval: Interval::from_number(interval.into()),
                    clicks: links
                        .into_iter()
                        .zip(owners)
                        .zip(clicks)
                        .map(|((link, owner), clicks)| {
                            Ok(LinkClicks {
                                link: rows::link_id(link)?,
                                owner,
                                clicks,
                            })
                        })
                        .collect::<Result<_, StoreError>>()?,
                    details: click_rows::details(details),
                };
                Ok(ParkedBatch { batch, epoch, tag })
            };
        found.into_iter().map(parked).collect()
    }

    async fn release_parked(&self, recorder: RecorderId, number: u64) -> Result<(), StoreError> {
        self.pool
            .run(async |session| {
                sqlx::query("DELETE FROM parked_batches WHERE recorder = $1 AND number = $2")
                    .bind(recorder.cast_signed())
                    .bind(number.cast_signed())
                    .execute(session)
                    .await
            })
            .await?;
        Ok(())
    }

    async fn prune(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let pruned = self
            .pool
            .run(async |session| {
                sqlx::query(
                    "WITH old_marks AS (
                 DELETE FROM journal_marks WHERE (recorder, number) IN (
                     SELECT recorder, number FROM journal_marks old WHERE EXISTS (
                         SELECT FROM journal_marks newer
                         WHERE newer.recorder = old.recorder AND newer.number > old.number)
                     OR noted_at < least(now_micros(), $1) - 7 * 86400000000
                     LIMIT $2)
                 RETURNING 1
             ),
             old_grants AS (
                 DELETE FROM click_grants WHERE (recorder, number) IN (
                     SELECT recorder, number FROM click_grants old WHERE EXISTS (
                         SELECT FROM click_grants newer
                         WHERE newer.recorder = old.recorder AND newer.number > old.number)
                     OR granted_at < least(now_micros(), $1) - 7 * 86400000000
                     LIMIT $2)
                 RETURNING 1
             )
             SELECT 1 FROM old_marks UNION ALL SELECT 1 FROM old_grants",
                )
                .bind(now.micros())
                .bind(i64::from(limit))
                .fetch_all(session)
                .await
            })
            .await?;
        Ok(pruned.len() as u64)
    }

    async fn counts(
        &self,
        links: &[LinkId],
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<CountSnapshot, StoreError> {
        let ids: Vec<i64> = links.iter().map(|link| link.number()).collect();
        let seen = flushes.unwrap_or(FlushesSeen::NONE);
        // One statement, so one snapshot.
        let found = self
            .pool
            .run(async |session| {
                sqlx::query(COUNTS)
                    .bind(ids)
                    .bind(seen.epoch)
                    .bind(seen.under_way)
                    .bind(seen.newest)
                    .bind(seen.term)
                    .fetch_all(session)
                    .await?
                    .tuples()
            })
            .await?;
        click_rows::count_snapshot(found)
    }
}

impl PostgresStore {
    async fn append_parts(&self, batch: &ClickBatch) -> Result<(), StoreError> {
        let parts = Parts::of(&batch.clicks);
        let classes = complete(&batch.details, &batch.clicks);
        self.pool
            .run_with_priority(async |session| {
                sqlx::query(
                    "WITH batch AS MATERIALIZED (SELECT is_new FROM is_new_batch($1, $2) AS is_new WHERE is_new),
                     classes AS (SELECT insert_classes('', 0, $3, $8, $10, $11) FROM batch)
                     SELECT insert_parts('', 0, $3, $4, $5, $6, $7, $9), (SELECT count(*) FROM classes) FROM batch",
                )
                .bind(batch.recorder.cast_signed())
                .bind(batch.number.cast_signed())
                .bind(batch.interval.number())
                .bind(parts.bands)
                .bind(parts.ends)
                .bind(parts.links)
                .bind(parts.clicks)
                .bind(&classes)
                .bind(owners(&batch.clicks))
                .bind(packed_owners(&batch.clicks))
                .bind(!batch.details.is_empty())
                .execute(session)
                .await
            })
            .await?;
        Ok(())
    }
}

/// Adds clicks of one interval to links, each named once, and to the sums of their owners.
pub(in crate::store) async fn count_clicks(
    session: &mut Session,
    clicks: &[(LinkId, u64)],
    interval: Interval,
) -> Result<(), sqlx::Error> {
    let (links, counts) = columns(clicks.iter().copied());
    sqlx::query("SELECT count_clicks($1, $2, $3)")
        .bind(links)
        .bind(counts)
        .bind(interval.number())
        .execute(session)
        .await?;
    Ok(())
}

/// Adds the classes of clicks of one interval that are counted in this transaction, and whose feeds of events have them already.
pub(in crate::store) async fn insert_classes(
    session: &mut Session,
    details: &ClickDetails,
    interval: Interval,
) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT insert_classes('', 0, $1, $2, NULL, true)")
        .bind(interval.number())
        .bind(click_rows::packed(details))
        .execute(session)
        .await?;
    Ok(())
}

/// The same for feeds of events, too.
pub(super) async fn insert_counted(
    session: &mut Session,
    details: &ClickDetails,
    clicks: &[LinkClicks],
    interval: Interval,
) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT insert_classes('', 0, $1, $2, $3, $4)")
        .bind(interval.number())
        .bind(complete(details, clicks))
        .bind(packed_owners(clicks))
        .bind(!details.is_empty())
        .execute(session)
        .await?;
    Ok(())
}

/// The rows of the clicks of links that the database has.
pub(in crate::store) async fn written_clicks(
    session: &mut Session,
    links: &[LinkId],
) -> Result<Vec<(i32, i64, i64)>, sqlx::Error> {
    let seen = FlushesSeen::NONE;
    let ids: Vec<i64> = links.iter().map(|link| link.number()).collect();
    let found = sqlx::query(COUNTS)
        .bind(ids)
        .bind(seen.epoch)
        .bind(seen.under_way)
        .bind(seen.newest)
        .bind(seen.term)
        .fetch_all(session)
        .await?;
    found.tuples()
}

pub(super) fn columns(clicks: impl Iterator<Item = (LinkId, u64)>) -> (Vec<i64>, Vec<i64>) {
    clicks
        .map(|(link, count)| (link.number(), signed(count)))
        .unzip()
}

/// The classes of exactly these clicks, packed: feeds of events are made of them.
fn complete(details: &ClickDetails, clicks: &[LinkClicks]) -> Option<Vec<u8>> {
    // As the parts have them, also what a Redis sends that no click makes.
    let cut = |of_link: &LinkClicks| (of_link.link, signed(of_link.clicks).unsigned_abs());
    let clicks: Vec<_> = clicks.iter().map(cut).collect();
    click_rows::packed(&details.fitted_to(&clicks))
}

/// The owners of a batch's links; a single one if all links are of the same.
fn owners(clicks: &[LinkClicks]) -> Vec<i64> {
    let mut owners: Vec<_> = clicks.iter().map(|of_link| of_link.owner.0).collect();
    if owners.windows(2).all(|pair| pair[0] == pair[1]) {
        owners.truncate(1);
    }
    owners
}
