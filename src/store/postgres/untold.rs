//! Clicks of parts that have no place in the feeds of events yet.

use std::collections::HashMap;

use super::PostgresStore;
use crate::domain::leb128::{put_number, take_number};
use crate::domain::{Interval, LinkId, Timestamp, UserId};
use crate::store::connection::{Connection, Inner};
use crate::store::events::{ClicksRow, Step, Waiting, read_moved, write_marks, write_step};
use crate::store::sql::{Turn, query};
use crate::store::{ClickDetails, LinkClicks, StoreError};

/// Steps before each round of merges: they are made by a job, too.
const STEPS_PER_MERGE: u32 = 4;

/// One snapshot shows all that a step is made of. The lock comes before the snapshot, so that it shows the steps before.
const BEGIN: &str =
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; LOCK TABLE event_steps IN EXCLUSIVE MODE";

/// The owners of links with clicks in their order, packed: each owner with the number of its links in a row.
pub(super) fn packed_owners(clicks: &[LinkClicks]) -> Vec<u8> {
    let mut packed = Vec::new();
    let clicks: Vec<_> = clicks.iter().filter(|of_link| of_link.clicks > 0).collect();
    for of_owner in clicks.chunk_by(|one, next| one.owner == next.owner) {
        put_number(&mut packed, of_owner[0].owner.0.unsigned_abs());
        put_number(&mut packed, of_owner.len() as u64);
    }
    packed
}

/// Adds the owners of the links in details; aliases have none.
fn read_owners(packed: &[u8], details: &ClickDetails, owners: &mut HashMap<LinkId, UserId>) {
    let rest = &mut &*packed;
    let (mut owner, mut left) = (UserId::NOBODY, 0);
    for of_link in details
        .of_links()
        .chunk_by(|one, next| one.link == next.link)
    {
        if left == 0 {
            let next = take_number(rest).zip(take_number(rest));
            let (number, links) = next.unwrap_or_default();
            owner = UserId(number.cast_signed());
            left = links.max(1);
        }
        left -= 1;
        if owner != UserId::NOBODY {
            owners.insert(of_link[0].link, owner);
        }
    }
}

impl PostgresStore {
    /// Makes some steps of the feeds before clicks are merged. What fails, or is left, is no fault of the merge.
    pub(super) async fn tell_some(&self) {
        for _ in 0..STEPS_PER_MERGE {
            match self.tell().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!(%error, "the feeds of events are written later");
                    return;
                }
            }
        }
    }

    /// Makes a step of the feeds; returns whether there may be more.
    pub(in crate::store) async fn tell(&self) -> Result<bool, StoreError> {
        let waits = query(
            "SELECT EXISTS (SELECT FROM event_queue) OR EXISTS (SELECT FROM click_parts WHERE band IN (-2, -3)) AS waits",
        );
        let waits = self.pool.row(waits).await?;
        if waits.map(|row| row.get("waits")).transpose()? != Some(true) {
            return Ok(false);
        }
        let most = self.told_parts_per_step.get();
        let telling = self.pool.transaction_of(Turn::First, async |connection| {
            begin(connection).await?;
            let current = query("SELECT id, now_micros() AS now FROM checked_server");
            let Some(current) = connection.optional(current).await? else {
                // Whether the database went back is not known yet.
                return Ok(false);
            };
            let (history, now): (String, Timestamp) = (current.get("id")?, current.get("now")?);
            let mut waiting = Waiting::read_queue(connection).await?;
            let parts = read_parts(connection, &mut waiting, most).await?;
            waiting.read_of_clicked(connection).await?;
            waiting.count_moved(connection, now).await?;
            let are_more = !waiting.is_drained || waiting.is_full();
            let mut step = Step::of(waiting);
            if !step.is_empty() {
                let number = write_step(connection, &mut step, &history, now).await?;
                insert_clicks(connection, number, now, &step.clicks).await?;
            }
            write_marks(connection, &step).await?;
            mark_parts(connection, parts).await?;
            Ok(are_more)
        });
        let told = telling.await;
        self.told_parts_per_step.note(most, told.is_ok());
        told
    }
}

async fn begin(connection: &mut Connection<'_>) -> Result<(), StoreError> {
    let Inner::Postgres(session) = &mut connection.inner else {
        return Ok(());
    };
    let begun = session.run(BEGIN).await;
    begun.map_err(|error| connection.failed(error))
}

/// Where parts are in the table: those whose classes wait to be summed, and those without any.
#[derive(Default)]
struct Parts {
    with_classes: Vec<String>,
    without: Vec<String>,
}

async fn read_parts(
    connection: &mut Connection<'_>,
    waiting: &mut Waiting,
    most: i64,
) -> Result<Parts, StoreError> {
    let find = query(
        "SELECT ctid::text AS place, band = -2 AS are_noted, interval::bigint AS interval, classes, link_owners FROM click_parts
         WHERE band IN (-2, -3) LIMIT $1",
    );
    let found = connection.all(find.bind(most)).await?;
    waiting.is_drained = (found.len() as u64) < most.unsigned_abs();
    let mut parts = Parts::default();
    for row in &found {
        let classes: Vec<u8> = row.get("classes")?;
        let owners: Vec<u8> = row.get("link_owners")?;
        let details = ClickDetails::parse(&classes).unwrap_or_else(|| {
            tracing::error!("clicks that cannot be read are in no feed of events");
            ClickDetails::default()
        });
        read_owners(&owners, &details, &mut waiting.owners);
        let places = if row.get("are_noted")? {
            &mut parts.with_classes
        } else {
            &mut parts.without
        };
        places.push(row.get("place")?);
        let interval = Interval::from_number(row.get("interval")?);
        waiting.clicks.push((interval, details));
    }
    let links: Vec<LinkId> = waiting.owners.keys().copied().collect();
    let mut makers: Vec<i64> = waiting.owners.values().map(|owner| owner.0).collect();
    makers.sort_unstable();
    makers.dedup();
    if !links.is_empty() {
        let moved = read_moved(connection, &makers, &links).await?;
        waiting.owners.extend(moved);
    }
    Ok(parts)
}

async fn mark_parts(connection: &mut Connection<'_>, parts: Parts) -> Result<(), StoreError> {
    let Inner::Postgres(session) = &mut connection.inner else {
        return Ok(());
    };
    let marked = async {
        for (statement, places) in [
            (
                "UPDATE click_parts SET band = -1, link_owners = NULL WHERE ctid = ANY ($1::text[]::tid[])",
                parts.with_classes,
            ),
            (
                "DELETE FROM click_parts WHERE ctid = ANY ($1::text[]::tid[])",
                parts.without,
            ),
        ] {
            if !places.is_empty() {
                sqlx::query(statement)
                    .bind(places)
                    .execute(&mut **session)
                    .await?;
            }
        }
        Ok(())
    };
    marked.await.map_err(|error| connection.failed(error))
}

/// Inserts the clicks of a step.
async fn insert_clicks(
    connection: &mut Connection<'_>,
    step: i64,
    now: Timestamp,
    rows: &[ClicksRow],
) -> Result<(), StoreError> {
    let Inner::Postgres(session) = &mut connection.inner else {
        return Ok(());
    };
    if rows.is_empty() {
        return Ok(());
    }
    let column = |value: fn(&ClicksRow) -> i64| rows.iter().map(value).collect::<Vec<_>>();
    let inserted = sqlx::query(
        "INSERT INTO events (owner_id, step, first, size, type, at, told_at, interval, classes)
         SELECT owner, $1, first, size, 'clicks', $2, $2, interval, classes
         FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[]) AS row (owner, first, size, interval, classes)",
    )
    .bind(step)
    .bind(now.micros())
    .bind(column(|row| row.owner.0))
    .bind(column(|row| row.first))
    .bind(column(|row| row.size))
    .bind(column(|row| row.interval.number().into()))
    .bind(rows.iter().map(|row| &row.classes[..]).collect::<Vec<_>>())
    .execute(&mut **session)
    .await;
    inserted.map_err(|error| connection.failed(error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::ClickClass;
    use crate::store::DetailedClicks;

    proptest! {
        #[test]
        fn the_owners_of_links_are_read_as_they_were_packed(of_links in btree_map(1_i64..1_000, 0_i64..4, 0..50)) {
            let clicks: Vec<_> = of_links
                .iter()
                .map(|(link, owner)| LinkClicks { link: LinkId::parse(*link).unwrap(), owner: UserId(*owner), clicks: 2 })
                .collect();
            let part = |of_link: &LinkClicks| DetailedClicks {
                link: of_link.link,
                class: Arc::new(ClickClass::unknown()),
                clicks: 1,
            };
            // A link may have several classes.
            let parts = clicks.iter().flat_map(|of_link| [part(of_link), part(of_link)]);
            let details = ClickDetails::new(parts.collect());
            let mut owners = HashMap::new();
            read_owners(&packed_owners(&clicks), &details, &mut owners);
            let owned = clicks.iter().filter(|of_link| of_link.owner != UserId::NOBODY);
            prop_assert_eq!(owners, owned.map(|of_link| (of_link.link, of_link.owner)).collect());
        }
    }
}
