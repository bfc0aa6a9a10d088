//! Merges the classes of parts into days, in Postgres.
//!
//! Classes of links go into the days of the links, and the same clicks by owner into `owner_series_log`, from where one instance at a time
//! adds them to the days of the owners: many links have the same owner, and merges must not wait for each other.

use std::sync::Arc;

use super::class_days::{Reader, note_growth, write, write_quarters};
use super::class_ids::RememberedClasses;
use super::clicks::insert_classes;
use super::session::Session;
use crate::domain::Interval;
use crate::store::class_merge::merge;
use crate::store::class_packing::{Count, packed_classes, parse_classes, sum_up};
use crate::store::click_rows;
use crate::store::rows::Tuples as _;
use crate::store::summing::{ClassIds, Owners, Sum, Sums};

/// After how many bytes of parts no further part is merged in one transaction.
const BYTES_PER_STEP: i64 = 65_536;

/// After how many clicks by class the rows of an account are added up.
const COUNTS_AT_ONCE: usize = 10_000;

/// Owners, intervals, and packed clicks by class.
type LoggedClasses = Vec<(i64, i32, Vec<u8>)>;

/// Merges the classes of some parts; returns whether there are more, and the clicks for whose class there was no room. Parts that another
/// merge has locked are passed over. A merge need not be durable: a crash that loses it brings the parts back.
pub(super) async fn merge_classes(
    session: &mut Session,
    remembered: &RememberedClasses,
    rows_per_day: u64,
    parts_per_step: i64,
) -> Result<(bool, u64), sqlx::Error> {
    let parts: Vec<(i32, Vec<u8>, bool)> = sqlx::query(
        "WITH locked AS MATERIALIZED (
             SELECT ctid AS place, octet_length(classes) AS size FROM click_parts WHERE band = -1 LIMIT $1 FOR UPDATE SKIP LOCKED
         ),
         sized AS (
             SELECT place, count(*) OVER () AS found, sum(size) OVER (ORDER BY place) - size AS before FROM locked
         ),
         chosen AS MATERIALIZED (
             SELECT array_agg(place) AS places, count(*) < max(found) OR max(found) = $1 AS are_more FROM sized WHERE before < $2
         )
         DELETE FROM click_parts USING (SELECT set_config('synchronous_commit', 'off', true)) AS setting
         WHERE ctid = ANY (ARRAY(SELECT unnest(places) FROM chosen))
         RETURNING interval, classes, (SELECT are_more FROM chosen)",
    )
    .bind(parts_per_step)
    .bind(BYTES_PER_STEP)
    .fetch_all(&mut *session)
    .await?
    .tuples()?;
    let are_more = parts.first().is_some_and(|(_, _, are_more)| *are_more);
    let classes = parts
        .into_iter()
        .map(|(interval, packed, _)| (interval, click_rows::details(Some(packed))));
    let mut sums = Sums::of(&classes.collect::<Vec<_>>());
    if sums.is_empty() {
        return Ok((are_more, 0));
    }
    let remembered = &remembered.of_server(session).await?;
    let owners = owners(session, sums.whose()).await?;
    sums.retain_owned(&owners);
    let mut reader = Reader::new(session, remembered);
    let mut merged = merge(&mut reader, sums, &owners, rows_per_day).await?;
    let versions = reader.versions;
    let raced = write(session, merged.days, &versions).await?;
    if !raced.is_empty() {
        // They are merged with the next parts.
        for (interval, details) in merged.sums.take_out(&raced).details() {
            insert_classes(session, &details, Interval::from_number(interval.into())).await?;
        }
        merged
            .left
            .retain(|(day, _)| raced.binary_search(day).is_err());
    }
    write_quarters(session, merged.left).await?;
    let of_owners = merged.sums.of_owners(&owners);
    log(session, of_owners, &merged.ids).await?;
    note_growth(session, merged.growth).await?;
    Ok((are_more, merged.unclassified))
}

/// Adds classes of the log to the days of owners. No other instance does at the same time.
pub(super) async fn add_to_owners(
    session: &mut Session,
    remembered: &RememberedClasses,
    mut logged: LoggedClasses,
) -> Result<(), sqlx::Error> {
    logged.sort_unstable_by_key(|(owner, interval, _)| (*owner, *interval));
    let mut rows = Vec::new();
    for of_interval in logged.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let (owner, interval, _) = of_interval[0];
        rows.push((owner, interval, counts_of(of_interval)?));
    }
    drop(logged);
    let mut ids: Vec<i32> = rows
        .iter()
        .flat_map(|(_, _, classes)| classes)
        .map(|count| count.class)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let remembered = &remembered.of_server(session).await?;
    let by_id = remembered.classes(session, ids).await?;
    let mut owners: Vec<i64> = rows.iter().map(|(owner, ..)| *owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let mut present: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM unnest($1::bigint[]) AS asked (id) WHERE (SELECT true FROM users WHERE users.id = asked.id)",
    )
    .bind(owners)
    .fetch_all(&mut *session)
    .await?;
    present.sort_unstable();
    rows.retain(|(owner, ..)| present.binary_search(owner).is_ok());
    let mut sums = Vec::new();
    for (owner, interval, classes) in rows {
        sums.extend(classes.iter().filter_map(|count| {
            Some(Sum {
                whose: -owner,
                interval,
                class: Arc::clone(by_id.get(&count.class)?),
                clicks: count.clicks.unsigned_abs(),
            })
        }));
    }
    let sums = Sums::new(sums);
    if sums.is_empty() {
        return Ok(());
    }
    let mut reader = Reader::new(session, remembered);
    let merged = merge(&mut reader, sums, &Owners::default(), 0).await?;
    let versions = reader.versions;
    write(session, merged.days, &versions).await?;
    write_quarters(session, merged.left).await
}

/// The clicks by class of some rows of the log. A busy account has the same classes in many rows, so they are added up meanwhile.
fn counts_of(rows: &[(i64, i32, Vec<u8>)]) -> Result<Vec<Count>, sqlx::Error> {
    let (mut counts, mut enough) = (Vec::new(), COUNTS_AT_ONCE);
    for (_, _, packed) in rows {
        let classes = parse_classes(packed)
            .ok_or_else(|| sqlx::Error::Decode("classes of the log are invalid".into()))?;
        counts.extend(classes);
        if counts.len() >= enough {
            sum_up(&mut counts);
            enough = 2 * counts.len() + COUNTS_AT_ONCE;
        }
    }
    sum_up(&mut counts);
    Ok(counts)
}

/// Adds sums of owners to the log.
async fn log(session: &mut Session, sums: Sums, ids: &ClassIds) -> Result<(), sqlx::Error> {
    let (mut owners, mut intervals, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    for (whose, interval, classes) in sums.by_id(ids) {
        owners.push(-whose);
        intervals.push(interval);
        packed.push(packed_classes(&classes));
    }
    if !owners.is_empty() {
        sqlx::query(
            "INSERT INTO owner_series_log (owner_id, interval, classes) SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bytea[])",
        )
        .bind(owners)
        .bind(intervals)
        .bind(packed)
        .execute(session)
        .await?;
    }
    Ok(())
}

/// The account that made each link that still exists: it has the sums.
async fn owners(session: &mut Session, links: Vec<i64>) -> Result<Owners, sqlx::Error> {
    // One by one: a plan that was made while links were few would read all of them.
    let found: Vec<(i64, Option<i64>)> = sqlx::query(
        "SELECT id, (SELECT coalesce(made_by, owner_id) FROM links WHERE links.id = asked.id) FROM unnest($1::bigint[]) AS asked (id)",
    )
    .bind(links)
    .fetch_all(session)
    .await?
    .tuples()?;
    let owned = found
        .into_iter()
        .filter_map(|(link, owner)| Some((link, owner?)));
    Ok(Owners::new(owned.collect()))
}
