//! Many new links of one owner in Postgres, in one statement.

use std::collections::HashMap;

use super::PostgresStore;
use super::history::{CHECKS, unchecked};
use super::session::Session;
use crate::domain::{Interval, LinkId, Timestamp};
use crate::store::bulk::{imported_clicks, imported_one_by_one, many_outcomes, one_by_one};
use crate::store::links::quota;
use crate::store::rows::{self, signed};
use crate::store::{ClickDetails, CreateLinkError, CreatedOfMany, NewLink, StoreError};

/// What a row of the result has: a new link's id, a change's number, or bits of the state.
const CREATED: i32 = 0;
const CHANGE: i32 = 1;

const OWNER_IS_THERE: i64 = 1;
const SERVER_IS_CHECKED: i64 = 2;
const ALL_FIT: i64 = 4;

/// Kind, number, code.
type ResultRow = (i32, i64, String);

/// What became of links that were to be inserted.
#[derive(Default)]
struct Inserted {
    ids: HashMap<String, i64>,
    changes: HashMap<String, i64>,
    state: i64,
}

impl PostgresStore {
    pub(super) async fn insert_many(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
        for _ in 0..CHECKS {
            let inserted = self.try_to_insert(links, max_links).await?;
            let is = |bit| inserted.state & bit != 0;
            if !is(SERVER_IS_CHECKED) {
                self.check_server().await?;
            } else if !is(OWNER_IS_THERE) {
                return Err(CreateLinkError::OwnerGone);
            } else if !is(ALL_FIT) {
                let outcomes = one_by_one(self, links, max_links).await?;
                if let Some(imported) = imported_one_by_one(links, &outcomes) {
                    let queue =
                        async |session: &mut Session| queue_details(session, &imported).await;
                    if let Err(error) = self.pool.run(queue).await {
                        // The links are created: what they started with is of an unknown class.
                        tracing::warn!(%error, "the class of imported clicks could not be saved: breakdowns show these clicks as unknown, not as imported");
                    }
                }
                return Ok(outcomes);
            } else {
                let outcomes = many_outcomes(links, inserted.ids, &inserted.changes)?;
                for (link, outcome) in links.iter().zip(&outcomes) {
                    if let Ok(created) = outcome {
                        self.seen.created(created.id, link.code);
                    }
                }
                return Ok(outcomes);
            }
        }
        Err(unchecked().into())
    }

    async fn try_to_insert(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Inserted, StoreError> {
        let inserted = if links.iter().any(|link| link.clicks > 0) {
            let insert = async |session: &mut Session| {
                let inserted = insert(session, links, max_links).await?;
                insert_clicks(session, links, &inserted.ids).await?;
                Ok(inserted)
            };
            self.pool.transaction(insert).await
        } else {
            let insert = async |session: &mut Session| insert(session, links, max_links).await;
            self.pool.run(insert).await
        };
        Ok(inserted?)
    }
}

async fn insert(
    session: &mut Session,
    links: &[NewLink<'_>],
    max_links: u64,
) -> Result<Inserted, sqlx::Error> {
    let Some(first) = links.first() else {
        return Ok(Inserted::default());
    };
    let properties = || links.iter().map(|link| link.properties);
    let column = |value: fn(&NewLink<'_>) -> String| links.iter().map(value).collect::<Vec<_>>();
    let ends = properties().map(|link| link.expires_at.map(Timestamp::micros));
    // As for one link: the owner's total is locked before it is compared, and a trigger adds these. Where not all fit, none is
    // created. A statement waits for another one that takes the same code just now: chosen codes go in their order, so that
    // two do not wait for each other.
    let rows: Vec<ResultRow> = sqlx::query_as(
        "WITH owner AS (SELECT user_id AS id FROM account_keys WHERE user_id = $1 AND key = $2),
         total AS (SELECT links FROM link_totals WHERE owner_id = (SELECT id FROM owner) FOR UPDATE),
         server AS (SELECT checked_on = pg_postmaster_start_time() AS is_checked FROM database_history),
         state AS (SELECT coalesce((SELECT links FROM total), 0) + cardinality($6) <= $4 AS all_fit),
         created AS (
             INSERT INTO links (short_code, target_url, owner_id, created_at,
                 is_active, title, tags, expires_at, max_clicks, forward_query)
             SELECT code, target, owner.id, $3, is_active, title, tags, ends, most, forward
             FROM owner, server, state,
                 unnest($6::text[], $7::text[], $8::bool[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bool[])
                 WITH ORDINALITY AS given (code, target, is_active, title, tags, ends, most, forward, place)
             WHERE is_checked AND all_fit AND NOT EXISTS (
                 SELECT FROM retired_codes
                 WHERE short_code = given.code AND NOT ($5 AND owner_id IS NOT DISTINCT FROM $1))
             ORDER BY CASE WHEN $5 THEN code COLLATE \"C\" END, place ON CONFLICT (short_code) DO NOTHING RETURNING id, short_code
         ),
         announced AS (
             INSERT INTO link_changes (short_code) SELECT short_code FROM created WHERE $5 RETURNING number, short_code
         ),
         addressed AS (
             INSERT INTO link_addresses (link_id, address, noted_at) SELECT id, $14::text, $3 FROM created WHERE $14::text IS NOT NULL
         )
         SELECT 0, id, short_code FROM created
         UNION ALL SELECT 1, number, short_code FROM announced
         UNION ALL SELECT 2, (CASE WHEN EXISTS (SELECT FROM owner) THEN 1 ELSE 0 END
             + CASE WHEN (SELECT is_checked FROM server) THEN 2 ELSE 0 END
             + CASE WHEN (SELECT all_fit FROM state) THEN 4 ELSE 0 END)::bigint, ''",
    )
    .bind(first.owner.user.0)
    .bind(first.owner.key.as_bytes())
    .bind(first.created_at.micros())
    .bind(quota(max_links))
    .bind(first.is_chosen)
    .bind(column(|link| link.code.as_str().to_owned()))
    .bind(column(|link| link.properties.target.as_str().to_owned()))
    .bind(properties().map(|link| link.is_active).collect::<Vec<_>>())
    .bind(column(|link| rows::stored_title(link.properties).to_owned()))
    .bind(column(|link| rows::tags_as_json(&link.properties.tags)))
    .bind(ends.collect::<Vec<_>>())
    .bind(properties().map(rows::stored_max).collect::<Vec<_>>())
    .bind(properties().map(|link| link.forward_query).collect::<Vec<_>>())
    .bind(first.address)
    .fetch_all(session)
    .await?;
    let mut inserted = Inserted::default();
    for (kind, number, code) in rows {
        match kind {
            CREATED => drop(inserted.ids.insert(code, number)),
            CHANGE => drop(inserted.changes.insert(code, number)),
            _ => inserted.state = number,
        }
    }
    Ok(inserted)
}

/// The clicks that other services counted for these links.
async fn insert_clicks(
    session: &mut Session,
    links: &[NewLink<'_>],
    ids: &HashMap<String, i64>,
) -> Result<(), sqlx::Error> {
    let clicked = links.iter().filter(|link| link.clicks > 0);
    let (numbers, clicks): (Vec<_>, Vec<_>) = clicked
        .filter_map(|link| Some((*ids.get(link.code.as_str())?, signed(link.clicks))))
        .unzip();
    let Some(first) = links.first().filter(|_| !numbers.is_empty()) else {
        return Ok(());
    };
    sqlx::query("SELECT count_clicks($1, $2, $3)")
        .bind(numbers)
        .bind(clicks)
        .bind(Interval::of(first.created_at).number())
        .execute(&mut *session)
        .await?;
    let id_of = |link: &NewLink<'_>| LinkId::parse(*ids.get(link.code.as_str())?);
    match imported_clicks(links, id_of) {
        Some(imported) => queue_details(session, &imported).await,
        None => Ok(()),
    }
}

/// Notes the class of these clicks, to be summed later.
async fn queue_details(
    session: &mut Session,
    (details, interval): &(ClickDetails, Interval),
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO click_detail_queue (interval, details) VALUES ($1, $2)")
        .bind(interval.number())
        .bind(details.packed())
        .execute(session)
        .await?;
    Ok(())
}
