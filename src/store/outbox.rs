//! The outbox: changes of links that are not published yet.
//!
//! A change is written to the outbox in the transaction that makes it, also one that is made by hand: a trigger does so.

use super::connection::Connection;
use super::engine::Engine;
use super::sql::{Row, query, query_of_each};
use super::{Store, StoreError};
use crate::domain::{ChangedCode, ShortCode};

/// A change of a link that some instances may not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The change's own number in this database; later changes have higher ones.
    pub number: i64,
    /// The code whose cached link is out of date. `None`: all links may be, as a deleted account may have had any of them.
    pub code: Option<ShortCode>,
    /// The own code of its link, if the code is an alias.
    pub link: Option<ShortCode>,
}

impl Change {
    /// Stands in the place of a code where a change may be of any link. No code has this character.
    pub(super) const OF_ALL: &'static str = "*";

    /// That a link with this code changed.
    pub(super) fn of(number: i64, code: &ShortCode) -> Self {
        Self {
            number,
            code: Some(code.clone()),
            link: None,
        }
    }

    /// The code that changed, if it is known.
    #[must_use]
    pub fn changed(self) -> Option<ChangedCode> {
        let link = self.link;
        self.code.map(|code| ChangedCode { code, link })
    }
}

/// A place in the order in which changes were committed, in the database's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePosition(pub(super) String);

/// The changes since a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesSince {
    /// The changes; `None` if there are more than were asked for.
    pub changes: Option<Vec<Change>>,
    /// Where the next reading goes on.
    pub position: ChangePosition,
}

/// One of the numbers `$1`: in Postgres each is looked up by itself, however its plan was made.
macro_rules! one_of {
    (postgres) => {
        "number = ANY (ARRAY(SELECT CAST(value AS bigint) FROM json_each($1)))"
    };
    (sqlite) => {
        "number IN (SELECT value FROM json_each($1))"
    };
}

/// Whether the terms `$2` are each the newest one of their tag.
macro_rules! are_newest {
    () => {
        "NOT EXISTS (
             SELECT 1 FROM json_each($2) AS published WHERE NOT EXISTS (
                 SELECT 1 FROM data_sets AS used WHERE used.term = CAST(published.value AS bigint)
                 AND used.term = (SELECT max(term) FROM data_sets WHERE tag = used.tag)))"
    };
}

impl Store {
    /// Whether only this process uses the database, and so learns of every change that it does not make itself.
    #[must_use]
    pub fn has_one_process(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    /// Whether another process publishes changes of this one: an instance that shares the database, or the service that has the
    /// file beside which this process works.
    #[must_use]
    pub fn has_others(&self) -> bool {
        match &self.engine {
            Engine::Postgres(_) => true,
            Engine::Sqlite(store) => store.has_service_beside(),
        }
    }

    /// Up to `limit` changes with numbers above `after`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn unpublished_changes(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let find = query(
            "SELECT number, short_code, link_code FROM unpublished_changes WHERE number > $1 ORDER BY number LIMIT $2",
        );
        let found = self.engine.read(find.bind(after).bind(limit)).await?;
        found.iter().map(change).collect()
    }

    /// Takes the changes with these numbers out of the outbox, and no others of the same code: every instance with Redis
    /// learns of them now. Numbers that are not in the outbox are passed over. `terms` are those of the Redis data sets in which
    /// they were published: nothing changes unless each is the newest one of its tag, because then instances use another Redis.
    /// Returns whether none of these changes is left in the outbox.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn changes_published(
        &self,
        numbers: &[i64],
        terms: &[i64],
    ) -> Result<bool, StoreError> {
        // Instances without Redis read a published change for a while; a database of one process has no such instances.
        let publish = query_of_each(
            concat!(
                "UPDATE link_changes SET published_at = now_micros() WHERE published_at IS NULL AND ",
                one_of!(postgres),
                " AND ",
                are_newest!()
            ),
            concat!(
                "DELETE FROM link_changes WHERE ",
                one_of!(sqlite),
                " AND ",
                are_newest!()
            ),
        );
        let publish = publish.bind(numbers).bind(terms);
        if self.engine.execute(publish).await? == numbers.len() as u64 {
            return Ok(true);
        }
        let find_left = query_of_each(
            concat!(
                "SELECT number FROM unpublished_changes WHERE ",
                one_of!(postgres),
                " LIMIT 1"
            ),
            concat!(
                "SELECT number FROM unpublished_changes WHERE ",
                one_of!(sqlite),
                " LIMIT 1"
            ),
        );
        let left = self.engine.read(find_left.bind(numbers)).await?;
        Ok(left.is_empty())
    }

    /// The changes that were committed after a position, whatever their numbers, also those that are published: for
    /// instances without Redis. Without a position there are none, and the next reading goes on from now. A database of one
    /// process has none for others.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn changes_since(
        &self,
        position: Option<&ChangePosition>,
        limit: u32,
    ) -> Result<ChangesSince, StoreError> {
        if self.has_one_process() {
            return Ok(ChangesSince {
                changes: Some(Vec::new()),
                position: ChangePosition(String::new()),
            });
        }
        // One statement, so one snapshot: what it does not show is asked for the next time. Redirects may wait for it.
        let find = query(
            "SELECT CAST(now AS text) AS now, number, short_code, link_code FROM txid_current_snapshot() AS now LEFT JOIN LATERAL (
                 SELECT number, short_code, link_code FROM link_changes
                 WHERE changed_in >= txid_snapshot_xmin($1::text::txid_snapshot)
                   AND NOT txid_visible_in_snapshot(changed_in, $1::text::txid_snapshot)
                 ORDER BY number LIMIT $2
             ) AS new ON true",
        );
        let position = position.map(|position| position.0.as_str());
        let find = find.bind(position).bind(i64::from(limit) + 1).first();
        let found = self.engine.read(find).await?;
        let Some(first) = found.first() else {
            return Err(StoreError::Unexpected("there is no snapshot".into()));
        };
        let position = ChangePosition(first.get("now")?);
        // Without a change there is one row, with the snapshot only.
        let are_none = first.get::<Option<i64>>("number")?.is_none();
        let rows = if are_none { &[] } else { found.as_slice() };
        let are_all = rows.len() <= limit as usize;
        let changes = are_all.then(|| rows.iter().map(change).collect());
        Ok(ChangesSince {
            changes: changes.transpose()?,
            position,
        })
    }

    /// Removes up to `limit` changes that no instance needs: those that were published 10 minutes ago, and those that are a
    /// day old, when Redis has cached no link for so long. Returns the number of removed changes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_changes(&self, limit: u32) -> Result<u64, StoreError> {
        if self.has_one_process() {
            // It takes all of them out.
            return Ok(0);
        }
        let prune = query(
            "DELETE FROM link_changes WHERE number = ANY (ARRAY(
                 SELECT number FROM link_changes
                 WHERE published_at < now_micros() - 600000000 OR changed_at < now_micros() - 86400000000
                 ORDER BY number LIMIT $1))",
        );
        self.engine.execute(prune.bind(limit)).await
    }
}

/// A row with the columns `number`, `short_code` and `link_code`.
pub(super) fn change(row: &Row) -> Result<Change, StoreError> {
    let code: String = row.get("short_code")?;
    let link: Option<String> = row.get("link_code")?;
    Ok(Change {
        number: row.get("number")?,
        code: ShortCode::from_key(&code),
        link: link.as_deref().and_then(ShortCode::from_key),
    })
}

/// The newest change of each code, by rising number.
pub(super) async fn newest_changes(
    connection: &mut Connection<'_>,
    codes: &[ShortCode],
) -> Result<Vec<Change>, StoreError> {
    let codes: serde_json::Value = codes.iter().map(ShortCode::as_key).collect();
    let find = query(
        "SELECT number, short_code, link_code FROM link_changes WHERE number IN (
             SELECT max(number) FROM link_changes
             WHERE short_code IN (SELECT value FROM json_each($1)) GROUP BY short_code)
         ORDER BY number",
    );
    let found = connection.all(find.bind(codes.to_string())).await?;
    found.iter().map(change).collect()
}
