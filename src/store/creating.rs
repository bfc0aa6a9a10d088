//! Creating links.
//!
//! One link is created as many are: a call with one. The owner's total is locked before it is compared, so that of links that
//! are created at once each is compared with a total that has the earlier ones. A trigger then adds the links to it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value as Json;

use super::connection::Connection;
use super::engine::Engine;
use super::properties::{self, COLUMNS, GIVEN, row};
use super::requests::note_request;
use super::sql::{Query, Row, query, query_of_each};
use super::{
    Change, ClickDetails, CreateLinkError, CreatedLink, CreatedOfMany, DetailedClicks, NewLink,
    Outcome, Store, StoreError,
};
use crate::domain::{ClickClass, Interval, LinkId, ShortCode, Timestamp};

/// Links per transaction: with SQLite a batch of clicks waits for one of them at most.
const TOGETHER: usize = 250;

/// How often links are tried to be created. The server may be started again meanwhile, or the reason for a refusal go away.
const TRIES: u32 = 3;

/// The links `$1` of the owner `$2`, who has at most `$5` links before. A statement waits for another one that takes the same
/// code at that moment.
static INSERT: LazyLock<[String; 2]> = LazyLock::new(|| {
    let insert = |given: &str, is_checked: &str, lock: &str| {
        let columns = &*COLUMNS;
        format!(
            "INSERT INTO links (short_code, owner_id, created_at, {columns})
             SELECT short_code, $2, $4, {columns} FROM {given}
             WHERE EXISTS (SELECT 1 FROM account_keys WHERE user_id = $2 AND key = $3) {is_checked}
             AND (SELECT links FROM link_totals WHERE owner_id = $2 {lock}) <= $5
             AND NOT EXISTS (
                 SELECT 1 FROM retired_codes
                 WHERE short_code = given.short_code AND NOT ($6 AND owner_id IS NOT DISTINCT FROM $2))
             ORDER BY place ON CONFLICT (short_code) DO NOTHING RETURNING id, short_code"
        )
    };
    // A server that was started since the last check gives out no ids.
    let is_checked =
        "AND EXISTS (SELECT 1 FROM database_history WHERE checked_on = pg_postmaster_start_time())";
    let [postgres, sqlite] = &*GIVEN;
    [
        insert(postgres, is_checked, "FOR UPDATE"),
        insert(sqlite, "", ""),
    ]
});

static INSERT_LINKS: LazyLock<Query<'static>> = LazyLock::new(|| {
    let [postgres, sqlite] = INSERT.clone();
    Query::built_of_each(postgres, sqlite)
});

/// The same with what follows it in [`Store::insert_in_transaction`], for Postgres: one round trip instead of four.
static INSERT_AT_ONCE: LazyLock<Query<'static>> = LazyLock::new(|| {
    let [insert, _] = &*INSERT;
    Query::built(format!(
        "WITH created AS ({insert}),
         addressed AS (
             INSERT INTO link_addresses (link_id, address, noted_at) SELECT id, $7, $4 FROM created WHERE $7 IS NOT NULL
         ),
         announced AS (
             INSERT INTO link_changes (short_code) SELECT short_code FROM created WHERE $6 RETURNING number, short_code
         )
         SELECT id, created.short_code, number FROM created LEFT JOIN announced ON announced.short_code = created.short_code"
    ))
});

/// Why no link could be created, for the owner `$1` and the code `$3`.
macro_rules! why_refused {
    ($is_checked:literal) => {
        concat!(
            "SELECT links, ",
            $is_checked,
            " AS is_checked, EXISTS (SELECT 1 FROM links WHERE short_code = $3) OR EXISTS (
                 SELECT 1 FROM retired_codes
                 WHERE short_code = $3 AND NOT ($4 AND owner_id IS NOT DISTINCT FROM $1)) AS is_taken
             FROM account_keys JOIN link_totals ON owner_id = user_id WHERE user_id = $1 AND key = $2"
        )
    };
}

impl Store {
    /// Creates an active link of an owner who has fewer than `max_links` (0: any number), exactly so under concurrency, too. The
    /// code of a deleted link is refused as taken, unless its former owner chose it.
    ///
    /// # Errors
    /// [`CreateLinkError`]. Nothing is created then, unless the database did not say so.
    pub async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        let created = self.create_links(std::slice::from_ref(&link), max_links);
        let created = created.await?.pop().unwrap_or_else(|| Err(not_created()));
        created.map(|created| link.made(created))
    }

    /// Creates many links of one owner, each as [`Store::create_link`] does; returns the outcome for each, in their order.
    /// Either all codes were drawn, or all were chosen; of two that are the same the second is taken. `created_at` and the address
    /// are those of the first. A request that may be repeated creates one link.
    ///
    /// # Errors
    /// If the owner is gone, or the database failed: none of the links is created then, unless it did not say so. If it
    /// fails in the middle, that is the outcome of the links that are not created.
    pub async fn create_links(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let mut outcomes = Vec::with_capacity(links.len());
        for part in links.chunks(TOGETHER) {
            if let Err(error) = self.create_part(part, max_links, &mut outcomes).await {
                if !outcomes.iter().any(Result::is_ok) {
                    return Err(error);
                }
                outcomes.resize_with(links.len(), || Err(error.clone()));
                break;
            }
        }
        Ok(outcomes)
    }

    async fn create_part(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), CreateLinkError> {
        match self.insert(links, max_links).await {
            Ok(created) => outcomes.extend(created),
            // None of them is created, because they do not all fit, or the first of them is taken.
            Err(CreateLinkError::CodeTaken | CreateLinkError::QuotaReached) if links.len() > 1 => {
                for link in links.chunks(1) {
                    if let Some(Err(full @ CreateLinkError::QuotaReached)) = outcomes.last() {
                        outcomes.push(Err(full.clone()));
                    } else {
                        Box::pin(self.create_part(link, max_links, outcomes)).await?;
                    }
                }
            }
            Err(refused @ (CreateLinkError::CodeTaken | CreateLinkError::QuotaReached)) => {
                outcomes.push(Err(refused));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Creates the links whose codes are free, if all links fit; or says why it creates none of them.
    async fn insert(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let Some(first) = links.first() else {
            return Ok(Vec::new());
        };
        let most_before = quota(max_links).saturating_sub_unsigned(links.len() as u64);
        for _ in 0..TRIES {
            let outcomes = self.try_to_insert(first, links, most_before).await?;
            if !outcomes.is_empty() {
                for (link, outcome) in links.iter().zip(&outcomes) {
                    if let (Ok(created), Some(seen)) = (outcome, self.engine.seen()) {
                        seen.created(created.id, link.code);
                    }
                }
                return Ok(outcomes);
            }
            let Some(why) = self.engine.read_one(why_refused(first)).await? else {
                return Err(CreateLinkError::OwnerGone);
            };
            if !why.get::<bool>("is_checked")? {
                self.engine.check_server().await?;
            } else if why.get::<i64>("links")? > most_before {
                return Err(CreateLinkError::QuotaReached);
            } else if why.get("is_taken")? {
                return Err(CreateLinkError::CodeTaken);
            }
        }
        Err(not_created())
    }

    /// The outcomes; none of them if no link is created.
    async fn try_to_insert(
        &self,
        first: &NewLink<'_>,
        links: &[NewLink<'_>],
        most_before: i64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let is_postgres = matches!(self.engine, Engine::Postgres(_));
        // Two statements that take the same codes in another order would wait for each other.
        let given = list(links, is_postgres && first.is_chosen);
        let is_counted = links.iter().any(|link| link.clicks > 0);
        if is_postgres && first.request.is_none() && !is_counted {
            let insert = with_values(&INSERT_AT_ONCE, given, first, most_before);
            let created = self.engine.write(insert.bind(first.address)).await?;
            let changes = numbers(&created)?;
            return Ok(outcomes(links, &created, &changes)?);
        }
        self.insert_in_transaction(first, links, given, most_before)
            .await
    }

    async fn insert_in_transaction(
        &self,
        first: &NewLink<'_>,
        links: &[NewLink<'_>],
        given: String,
        most_before: i64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let insert = with_values(&INSERT_LINKS, given, first, most_before);
        let inserted = self.engine.transaction(async |connection| {
            let created = connection.all(insert).await?;
            if created.is_empty() {
                return Ok(Vec::new());
            }
            if let Some(address) = first.address {
                keep_address(connection, &created, address, first.created_at).await?;
            }
            let changes = if first.is_chosen {
                announce(connection, &created).await?
            } else {
                HashMap::new()
            };
            let outcomes = outcomes(links, &created, &changes)?;
            if let (Some(request), Some(Ok(made))) = (first.request, outcomes.first()) {
                note_request(connection, first, request, made.id).await?;
            }
            count_clicks(connection, links, &outcomes).await?;
            Ok(outcomes)
        });
        inserted.await
    }
}

/// The most links that an account may have, as a number of the database; 0 is any number.
fn quota(max_links: u64) -> i64 {
    match max_links {
        0 => i64::MAX,
        max_links => i64::try_from(max_links).unwrap_or(i64::MAX),
    }
}

/// The links as the text `$1`, in the order in which they are created.
fn list(links: &[NewLink<'_>], by_code: bool) -> String {
    let mut links: Vec<_> = links.iter().collect();
    if by_code {
        links.sort_by_key(|link| link.code.as_str());
    }
    let rows = links.iter().enumerate().map(|(place, link)| {
        let mut row = row(link.properties);
        row.insert("place".to_owned(), place.into());
        row.insert("short_code".to_owned(), link.code.as_str().into());
        row
    });
    properties::in_json(rows.collect())
}

fn with_values<'q>(
    insert: &Query<'static>,
    given: String,
    first: &'q NewLink<'_>,
    most_before: i64,
) -> Query<'q> {
    let insert: Query<'q> = insert.clone();
    insert
        .bind(given)
        .bind(first.owner.user)
        .bind(&first.owner.key)
        .bind(first.created_at)
        .bind(most_before)
        .bind(first.is_chosen)
}

fn why_refused<'q>(link: &'q NewLink<'_>) -> Query<'q> {
    let find = query_of_each(
        why_refused!("(SELECT checked_on = pg_postmaster_start_time() FROM database_history)"),
        why_refused!("true"),
    );
    find.bind(link.owner.user)
        .bind(&link.owner.key)
        .bind(link.code)
        .bind(link.is_chosen)
}

/// What became of links, by the rows that were created and the numbers of their changes.
fn outcomes(
    links: &[NewLink<'_>],
    created: &[Row],
    changes: &HashMap<ShortCode, i64>,
) -> Result<Vec<Outcome>, StoreError> {
    if created.is_empty() {
        return Ok(Vec::new());
    }
    let ids = created
        .iter()
        .map(|row| Ok((row.get("short_code")?, row.get("id")?)));
    let mut ids: HashMap<ShortCode, LinkId> = ids.collect::<Result<_, StoreError>>()?;
    let outcome = |link: &NewLink<'_>| {
        // Of two links with the same code, only the first has it.
        let id = ids.remove(link.code).ok_or(CreateLinkError::CodeTaken)?;
        let change = changes
            .get(link.code)
            .map(|number| Change::of(*number, link.code));
        Ok(CreatedOfMany { id, change })
    };
    Ok(links.iter().map(outcome).collect())
}

/// The numbers of changes, by code.
fn numbers(rows: &[Row]) -> Result<HashMap<ShortCode, i64>, StoreError> {
    let number = |row: &Row| {
        let number: Option<i64> = row.get("number")?;
        Ok(number.map(|number| Ok((row.get("short_code")?, number))))
    };
    rows.iter()
        .filter_map(|row| number(row).transpose())
        .map(Result::flatten)
        .collect()
}

async fn keep_address(
    connection: &mut Connection<'_>,
    created: &[Row],
    address: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let ids = created.iter().map(|row| row.get::<i64>("id"));
    let ids: Vec<_> = ids.collect::<Result<_, _>>()?;
    let keep = query(
        "INSERT INTO link_addresses (link_id, address, noted_at)
         SELECT CAST(value AS bigint), $2, $3 FROM json_each($1)",
    );
    let keep = keep
        .bind(Json::from(ids).to_string())
        .bind(address)
        .bind(at);
    connection.execute(keep).await?;
    Ok(())
}

/// Notes that the codes are in use now. Returns the numbers of these changes.
async fn announce(
    connection: &mut Connection<'_>,
    created: &[Row],
) -> Result<HashMap<ShortCode, i64>, StoreError> {
    let codes = created.iter().map(|row| row.get::<String>("short_code"));
    let codes: Vec<_> = codes.collect::<Result<_, _>>()?;
    let announce = query(
        "INSERT INTO link_changes (short_code) SELECT value FROM json_each($1) RETURNING number, short_code",
    );
    let announced = connection
        .all(announce.bind(Json::from(codes).to_string()))
        .await?;
    numbers(&announced)
}

/// Counts the clicks with which links start: another service counted them, and so their class is known.
async fn count_clicks(
    connection: &mut Connection<'_>,
    links: &[NewLink<'_>],
    outcomes: &[Outcome],
) -> Result<(), StoreError> {
    let clicks = links
        .iter()
        .zip(outcomes)
        .filter(|(link, _)| link.clicks > 0);
    let clicks =
        clicks.filter_map(|(link, outcome)| Some((outcome.as_ref().ok()?.id, link.clicks)));
    let clicks: Vec<_> = clicks.collect();
    let Some(first) = links.first().filter(|_| !clicks.is_empty()) else {
        return Ok(());
    };
    let begin = Interval::of(first.created_at);
    connection.count_clicks(&clicks, begin).await?;
    let class = Arc::new(ClickClass::imported());
    let details = clicks.into_iter().map(|(link, clicks)| DetailedClicks {
        link,
        class: Arc::clone(&class),
        clicks,
    });
    let packed = ClickDetails::new(details.collect()).packed();
    let queue = query("INSERT INTO click_detail_queue (interval, details) VALUES ($1, $2)");
    let queue = queue
        .bind(i64::from(begin.number()))
        .bind(packed.as_slice());
    connection.execute(queue).await?;
    Ok(())
}

/// Something else happened between each attempt and the question why it created nothing.
fn not_created() -> CreateLinkError {
    StoreError::Unavailable("links could not be created, as too much changed meanwhile".into())
        .into()
}
