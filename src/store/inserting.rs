//! Inserting the rows of new links.
//!
//! The owner's total is locked before it is compared, so that of links that
//! are created at once each is compared with a total that has the earlier ones. A trigger then adds the links to it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::aliases::missing_alias;
use super::connection::Connection;
use super::counting::count_starting_clicks;
use super::creating::quota;
use super::engine::Engine;
use super::outbox::newest_changes;
use super::properties::{COLUMNS, GIVEN, GivenRow, in_json};
use super::requests::note_request;
use super::sql::{Query, Row, Turn, query};
use super::{Change, CreateLinkError, CreatedOfMany, NewLink, Outcome, Store, StoreError};
use crate::domain::{LinkId, ShortCode, Timestamp};

/// The links `$1` of the owner `$2`, who has at most `$5` links and aliases before. A statement waits for another one that takes the same
/// code at that moment.
static INSERT: LazyLock<[String; 2]> = LazyLock::new(|| {
    let insert = |given: &str, lock: &str| {
        let columns = &*COLUMNS;
        format!(
            "INSERT INTO links (short_code, owner_id, created_at, {columns})
             SELECT short_code, $2, $4, {columns} FROM {given}
             WHERE EXISTS (SELECT 1 FROM checked_server)
             AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = $2 AND key = $3)
             AND (SELECT links + aliases FROM link_totals WHERE owner_id = $2 {lock}) <= $5
             AND (
                 SELECT 1 FROM retired_codes
                 WHERE short_code = given.short_code AND NOT ($6 AND owner_id IS NOT DISTINCT FROM $2)) IS NULL
             ORDER BY place ON CONFLICT (short_code) DO NOTHING RETURNING id, short_code"
        )
    };
    let [postgres, sqlite] = &*GIVEN;
    [insert(postgres, "FOR UPDATE"), insert(sqlite, "")]
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

impl Store {
    /// Creates the links whose codes are free, if all links fit; or says why it creates none of them.
    pub(super) async fn insert(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let Some(first) = links.first() else {
            return Ok(Vec::new());
        };
        let codes = links.iter().map(NewLink::codes).sum();
        let most_before = quota(max_links).saturating_sub_unsigned(codes);
        let insert = || self.insert_or_refuse(first, links, most_before);
        let outcomes = self.engine.with_new_ids(insert).await?;
        if let Some(seen) = self.engine.seen() {
            for (link, outcome) in links.iter().zip(&outcomes) {
                if let Ok(created) = outcome {
                    seen.created(created.id, link.code);
                }
            }
        }
        Ok(outcomes)
    }

    /// `None` on a server that has to be checked before it gives ids out, and if the reason for a refusal went away meanwhile.
    async fn insert_or_refuse(
        &self,
        first: &NewLink<'_>,
        links: &[NewLink<'_>],
        most_before: i64,
    ) -> Result<Option<Vec<Outcome>>, CreateLinkError> {
        let outcomes = self.try_to_insert(first, links, most_before).await?;
        if !outcomes.is_empty() {
            return Ok(Some(outcomes));
        }
        let Some(why) = self.engine.read_one(why_refused(first)).await? else {
            return Err(CreateLinkError::OwnerGone);
        };
        if !why.get::<bool>("is_checked")? {
            Ok(None)
        } else if why.get::<i64>("codes")? > most_before {
            Err(CreateLinkError::QuotaReached)
        } else if why.get("is_taken")? {
            Err(CreateLinkError::CodeTaken)
        } else {
            Ok(None)
        }
    }

    /// The outcomes; empty if no link is created.
    async fn try_to_insert(
        &self,
        first: &NewLink<'_>,
        links: &[NewLink<'_>],
        most_before: i64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let is_postgres = matches!(self.engine, Engine::Postgres(_));
        // Two statements that take the same codes in another order would wait for each other.
        let given = list(links, is_postgres && first.is_chosen)?;
        let is_counted = links.iter().any(|link| link.clicks > 0);
        let has_aliases = links.iter().any(|link| link.codes() > 1);
        if is_postgres && first.request.is_none() && !is_counted && !has_aliases {
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
        // Clients that may repeat a request wait for a permit as the others do.
        let inserted = self
            .engine
            .transaction_in_turn(Turn::WithPermit, async |connection| {
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
                let mut outcomes = outcomes(links, &created, &changes)?;
                for (link, outcome) in links.iter().zip(&mut outcomes) {
                    let aliases = &link.properties.aliases;
                    if let (2.., Ok(made)) = (link.codes(), outcome) {
                        if let Some(taken) = missing_alias(connection, made.id, aliases).await? {
                            return Err(CreateLinkError::AliasTaken(taken));
                        }
                        let changes = newest_changes(connection, aliases.as_slice());
                        made.changes.extend(changes.await?);
                    }
                }
                if let (Some(request), Some(Ok(made))) = (first.request, outcomes.first()) {
                    note_request(connection, first, request, made.id).await?;
                }
                count_starting_clicks(connection, links, &outcomes).await?;
                Ok(outcomes)
            });
        inserted.await
    }
}

/// The links as the text `$1`, in the order in which they are created.
fn list(links: &[NewLink<'_>], by_code: bool) -> Result<String, StoreError> {
    let mut links: Vec<_> = links.iter().collect();
    if by_code {
        links.sort_by_key(|link| link.code.as_key());
    }
    let rows = links.iter().enumerate().map(|(place, link)| GivenRow {
        place_and_code: Some((place, link.code)),
        properties: link.properties,
    });
    in_json(&rows.collect::<Vec<_>>())
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
    let find = query(
        "SELECT links + aliases AS codes, EXISTS (SELECT 1 FROM checked_server) AS is_checked,
             EXISTS (SELECT 1 FROM links WHERE short_code = $3) OR EXISTS (
                 SELECT 1 FROM retired_codes
                 WHERE short_code = $3 AND NOT ($4 AND owner_id IS NOT DISTINCT FROM $1)) AS is_taken
         FROM account_keys JOIN link_totals ON owner_id = user_id WHERE user_id = $1 AND key = $2",
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
        let change = changes.get(link.code);
        let changes = change.map(|number| Change::of(*number, link.code));
        let changes = changes.into_iter().collect();
        Ok(CreatedOfMany { id, changes })
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
