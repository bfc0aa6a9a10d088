//! Pools of targets, of which each visitor of a link gets the next one.
//!
//! A target is taken in one transaction, which locks its pool: so no target is taken twice. The transaction notes what the
//! process took under the number of its question: a process that did not get the answer asks again and gets the same targets.

use super::connection::Connection;
use super::editing::codes_of;
use super::finding::of_owner;
use super::outbox::newest_changes;
use super::sql::{Query, Row, query, query_of_each};
use super::{Change, Store, StoreError};
use crate::domain::{
    LinkId, PoolId, PoolTargets, Principal, RemovalStatus, ShortCode, TargetUrl, Timestamp,
};

/// Targets in a row: a visitor's target is read with its neighbours.
const TARGETS_IN_ROW: u8 = 64;

/// Rows that are written by one statement.
const ROWS_AT_ONCE: usize = 100;

/// What a process took longer ago than this is forgotten, unless it is the last that it took: microseconds.
const FORGOTTEN_AFTER: i64 = 24 * 60 * 60 * 1_000_000;

/// How many targets a pool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// Targets that no visitor has got.
    pub left: u64,
    /// Targets that were given to visitors. Where a visitor left before the answer, or a process ended, they count as given.
    pub given: u64,
}

/// The result of adding targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is removed.
    Removed,
    /// The pool has room for so many targets only.
    NoRoom(u64),
    /// They are added; the changes to announce.
    Done(PoolState, Vec<Change>),
}

/// The result of emptying a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// It is empty; the changes to announce, if the link had a pool.
    Done(Vec<Change>),
}

/// A question for the next targets of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolTake {
    /// The pool.
    pub pool: PoolId,
    /// The process that asks.
    pub process: u64,
    /// The number of the question: each question of a process for a pool has a higher one than those before. After an error the
    /// same question may be asked again, and has the same answer, until another one is asked.
    pub number: u64,
    /// How many targets are wanted, at most.
    pub targets: u64,
}

/// A link, and its pool.
struct Pooled {
    link: LinkId,
    pool: Option<PoolId>,
    removed: Option<RemovalStatus>,
    /// Its own code and its aliases.
    codes: Vec<ShortCode>,
}

async fn pooled(
    connection: &mut Connection<'_>,
    owner: &Principal,
    code: &ShortCode,
) -> Result<Option<Pooled>, StoreError> {
    let find = query(concat!(
        "SELECT id, pool, removed_status, short_code, aliases FROM links WHERE ",
        of_owner!(),
        " AND links.id = (SELECT link_id FROM link_codes WHERE code = $3)"
    ));
    let find = find.bind(owner.user).bind(&owner.key).bind(code);
    let found = connection.optional(find.locked("links")).await?;
    let read = |row: Row| {
        Ok(Pooled {
            link: row.get("id")?,
            pool: row.get("pool")?,
            removed: row.get("removed_status")?,
            codes: codes_of(&row.get("short_code")?, &[&row.get("aliases")?]),
        })
    };
    found.map(read).transpose()
}

/// The size of a pool and how much of it is given, locked until the transaction ends. `None`: there is no such pool any more.
async fn locked(
    connection: &mut Connection<'_>,
    pool: PoolId,
) -> Result<Option<(u64, u64)>, StoreError> {
    let find = query("SELECT size, given FROM pools WHERE id = $1").bind(pool);
    let found = connection.optional(find.locked("pools")).await?;
    let read = |row: Row| Ok((row.get("size")?, row.get("given")?));
    found.map(read).transpose()
}

/// Gives the link this pool, or the pool that it has: a trigger notes the changes in both cases.
async fn set_pool(
    connection: &mut Connection<'_>,
    link: &Pooled,
    pool: Option<PoolId>,
) -> Result<Vec<Change>, StoreError> {
    let set = query("UPDATE links SET pool = $2 WHERE id = $1");
    let set = set.bind(link.link).bind(pool);
    connection.execute(set).await?;
    newest_changes(connection, &link.codes).await
}

/// Writes targets as rows from this place on.
async fn insert(
    connection: &mut Connection<'_>,
    pool: PoolId,
    first: u64,
    targets: &[TargetUrl],
) -> Result<(), StoreError> {
    let mut first = first;
    for targets in targets.chunks(usize::from(TARGETS_IN_ROW) * ROWS_AT_ONCE) {
        let rows = targets.chunks(usize::from(TARGETS_IN_ROW)).map(|row| {
            let texts: Vec<_> = row.iter().map(TargetUrl::as_str).collect();
            let value = serde_json::json!({
                "first": first,
                "targets": serde_json::json!(texts).to_string(),
            });
            first += row.len() as u64;
            value
        });
        let rows = rows.collect::<serde_json::Value>().to_string();
        let insert: Query<'_> = query_of_each(
            "INSERT INTO pool_targets (pool, first, targets)
             SELECT $1, first, targets FROM json_to_recordset(CAST($2 AS json)) AS given (first bigint, targets text)",
            "INSERT INTO pool_targets (pool, first, targets)
             SELECT $1, value ->> 'first', value ->> 'targets' FROM json_each($2)",
        );
        connection.execute(insert.bind(pool).bind(rows)).await?;
    }
    Ok(())
}

impl Store {
    /// Adds targets to the pool of a link of this owner. A link without a pool gets `new`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_to_pool(
        &self,
        owner: Principal,
        code: &ShortCode,
        targets: &PoolTargets,
        new: PoolId,
    ) -> Result<Added, StoreError> {
        let added = self.engine.transaction(async |connection| {
            let Some(link) = pooled(connection, &owner, code).await? else {
                return Ok(Added::NotFound);
            };
            if link.removed.is_some() {
                return Ok(Added::Removed);
            }
            let pool = link.pool.unwrap_or(new);
            if link.pool.is_none() {
                let begin = query("INSERT INTO pools (id, link_id) VALUES ($1, $2)");
                connection.execute(begin.bind(pool).bind(link.link)).await?;
            }
            let (size, given) = locked(connection, pool).await?.unwrap_or_default();
            let added = targets.as_slice();
            let room = (PoolTargets::MAX as u64).saturating_sub(size);
            if added.len() as u64 > room {
                return Ok(Added::NoRoom(room));
            }
            insert(connection, pool, size, added).await?;
            let size = size + added.len() as u64;
            let grow = query("UPDATE pools SET size = $2 WHERE id = $1");
            let grow = grow.bind(pool).bind(size.cast_signed());
            connection.execute(grow).await?;
            let changes = set_pool(connection, &link, Some(pool)).await?;
            let left = size.saturating_sub(given);
            Ok::<_, StoreError>(Added::Done(PoolState { left, given }, changes))
        });
        added.await
    }

    /// How many targets the pool of a link of this owner has; none if it has no pool. `None`: there is no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn pool_state(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<PoolState>, StoreError> {
        let find = query(concat!(
            "SELECT coalesce(size - given, 0) AS left_over, coalesce(given, 0) AS given
             FROM links LEFT JOIN pools ON pools.id = pool WHERE ",
            of_owner!(),
            " AND links.id = (SELECT link_id FROM link_codes WHERE code = $3)"
        ));
        let find = find.bind(owner.user).bind(&owner.key).bind(code);
        let found = self.engine.read_one(find).await?;
        let read = |row: Row| {
            Ok(PoolState {
                left: row.get("left_over")?,
                given: row.get("given")?,
            })
        };
        found.map(read).transpose()
    }

    /// Empties the pool of a link of this owner, whose visitors get nothing of it any more: the pool has the id `new` then. With
    /// `ends` the link has no pool afterwards, and leads to its target again.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn empty_pool(
        &self,
        owner: Principal,
        code: &ShortCode,
        new: PoolId,
        ends: bool,
    ) -> Result<Emptied, StoreError> {
        let emptied = self.engine.transaction(async |connection| {
            let Some(link) = pooled(connection, &owner, code).await? else {
                return Ok(Emptied::NotFound);
            };
            let Some(pool) = link.pool else {
                return Ok(Emptied::Done(Vec::new()));
            };
            let (_, given) = locked(connection, pool).await?.unwrap_or_default();
            // Its targets, and what was taken of them, go with it.
            let end = query("DELETE FROM pools WHERE id = $1");
            connection.execute(end.bind(pool)).await?;
            if !ends {
                let begin =
                    query("INSERT INTO pools (id, link_id, size, given) VALUES ($1, $2, $3, $3)");
                let begin = begin.bind(new).bind(link.link).bind(given.cast_signed());
                connection.execute(begin).await?;
            }
            let pool = (!ends).then_some(new);
            let changes = set_pool(connection, &link, pool).await?;
            Ok::<_, StoreError>(Emptied::Done(changes))
        });
        emptied.await
    }

    /// The next targets of a pool, each of which is taken once: fewer if the pool has fewer.
    ///
    /// # Errors
    /// [`StoreError`]; the targets may be taken.
    pub async fn take_from_pool(
        &self,
        take: PoolTake,
        now: Timestamp,
    ) -> Result<Vec<TargetUrl>, StoreError> {
        let taken = self.engine.transaction(async |connection| {
            let Some((size, given)) = locked(connection, take.pool).await? else {
                return Ok(Vec::new());
            };
            let (process, number) = (take.process.cast_signed(), take.number.cast_signed());
            let find = query(
                "SELECT first, targets FROM pool_takes WHERE pool = $1 AND process = $2 AND number = $3",
            );
            let find = find.bind(take.pool).bind(process).bind(number);
            if let Some(before) = connection.optional(find).await? {
                return targets(connection, take.pool, before.get("first")?, before.get("targets")?).await;
            }
            let wanted = take.targets.min(size.saturating_sub(given));
            if wanted == 0 {
                return Ok(Vec::new());
            }
            let give = query("UPDATE pools SET given = given + $2 WHERE id = $1");
            let give = give.bind(take.pool).bind(wanted.cast_signed());
            connection.execute(give).await?;
            let forget = query("DELETE FROM pool_takes WHERE pool = $1 AND taken_at < $2");
            let forget = forget.bind(take.pool).bind(now.micros() - FORGOTTEN_AFTER);
            connection.execute(forget).await?;
            let note = query(
                "INSERT INTO pool_takes (pool, process, number, first, targets, taken_at) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (pool, process) DO UPDATE SET number = excluded.number, first = excluded.first,
                     targets = excluded.targets, taken_at = excluded.taken_at",
            );
            let note = note.bind(take.pool).bind(process).bind(number);
            let note = note.bind(given.cast_signed()).bind(wanted.cast_signed()).bind(now);
            connection.execute(note).await?;
            targets(connection, take.pool, given, wanted).await
        });
        taken.await
    }
}

/// So many targets of a pool from a place on.
async fn targets(
    connection: &mut Connection<'_>,
    pool: PoolId,
    first: u64,
    count: u64,
) -> Result<Vec<TargetUrl>, StoreError> {
    let find = query(
        "SELECT first, targets FROM pool_targets WHERE pool = $1 AND first > $2 AND first < $3 ORDER BY first",
    );
    let before = first.cast_signed() - i64::from(TARGETS_IN_ROW);
    let end = first + count;
    let find = find.bind(pool).bind(before).bind(end.cast_signed());
    let mut found = Vec::new();
    for row in connection.all(find).await? {
        let place: u64 = row.get("first")?;
        let texts: String = row.get("targets")?;
        let texts: Vec<String> = serde_json::from_str(&texts)
            .map_err(|error| StoreError::Unexpected(format!("the targets of a pool: {error}")))?;
        let wanted = (place..)
            .zip(texts)
            .filter(|(place, _)| (first..end).contains(place));
        found.extend(wanted.map(|(_, text)| TargetUrl::from_stored(&text)));
    }
    Ok(found)
}
