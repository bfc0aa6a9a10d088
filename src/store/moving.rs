//! Moving links to another account: a group, or a member of one. A link keeps its number, codes, clicks, tags and history, and its clicks
//! stay in the sums of the account that made it: triggers do the rest of a move. No instance has to be told, as redirects know nothing of owners.

use super::administration::note;
use super::connection::Connection;
use super::creating::quota;
use super::finding::{link_of_owner, link_to_count};
use super::sql::{query, query_of_each};
use super::{Actor, IsExpected, Store, StoreError};
use crate::domain::{LinkId, Principal, ShortCode, Timestamp};

/// Links that are moved in one transaction.
pub const MOVED_IN_STEP: u32 = 500;

/// From whom to whom links are moved.
#[derive(Clone, Copy, Debug)]
pub struct LinkMove<'a> {
    /// Whose they are.
    pub from: Principal,
    /// Whose they will be.
    pub to: Principal,
    /// How many links and aliases that account may have (0: any number).
    pub max_links: u64,
    /// Whose work it is.
    pub by: Actor<'a>,
    /// When.
    pub at: Timestamp,
}

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// The new owner is gone, or the one who moves the links acts for it no longer.
    NoNewOwner,
    /// The new owner would have more links and aliases than an account may have.
    QuotaReached,
    /// So many links were moved.
    Done(u32),
}

/// Why a transaction is rolled back.
enum NotMoved {
    Because(Moved),
    Store(StoreError),
}

impl From<StoreError> for NotMoved {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn moved(result: Result<Moved, NotMoved>) -> Result<Moved, StoreError> {
    match result {
        Ok(moved) | Err(NotMoved::Because(moved)) => Ok(moved),
        Err(NotMoved::Store(error)) => Err(error),
    }
}

impl Store {
    /// Moves a link that is as expected, and notes that for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn move_link(
        &self,
        order: &LinkMove<'_>,
        code: &ShortCode,
        is_expected: IsExpected<'_>,
    ) -> Result<Moved, StoreError> {
        let result = self.engine.transaction(async |connection| {
            let find = link_of_owner(&order.from, code).locked("links");
            let Some(found) = connection.optional(find).await? else {
                return Ok(Moved::NotFound);
            };
            let link = link_to_count(order.from.user, &found)?.value;
            if !is_expected(&link) {
                return Ok(Moved::Refused);
            }
            move_these(connection, order, &[link.id]).await?;
            let subject = format!("link {}", link.id.number());
            note_move(connection, order, &subject).await?;
            Ok(Moved::Done(1))
        });
        moved(result.await)
    }

    /// Moves up to [`MOVED_IN_STEP`] links that are not in the bin, and notes that for the audit. After 0, all of them are moved, unless
    /// others were made meanwhile.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn move_some(&self, order: &LinkMove<'_>) -> Result<Moved, StoreError> {
        // In the order of their ids, as removals lock them. Postgres might join all links with the few, so it is given a list.
        macro_rules! some_of {
            () => {
                "SELECT id FROM links WHERE trashed_at = 0
                 AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)
                 ORDER BY created_at DESC, id DESC LIMIT $3"
            };
        }
        let find = query_of_each(
            concat!(
                "SELECT id FROM live_links WHERE id = ANY (ARRAY(",
                some_of!(),
                ")) ORDER BY id FOR UPDATE"
            ),
            concat!(
                "SELECT id FROM live_links WHERE id IN (",
                some_of!(),
                ") ORDER BY id"
            ),
        );
        let find = find.bind(order.from.user).bind(&order.from.key);
        let find = find.bind(MOVED_IN_STEP).of_search();
        let turn = find.turn();
        let result = self.engine.transaction_in_turn(turn, async |connection| {
            let found = connection.all(find).await?;
            if found.is_empty() {
                return Ok(Moved::Done(0));
            }
            let links = found.iter().map(|row| row.get("id"));
            let links = links.collect::<Result<Vec<LinkId>, StoreError>>()?;
            move_these(connection, order, &links).await?;
            note_move(connection, order, &format!("{} links", links.len())).await?;
            Ok(Moved::Done(u32::try_from(links.len()).unwrap_or(u32::MAX)))
        });
        moved(result.await)
    }
}

/// Moves links, which are locked.
async fn move_these(
    connection: &mut Connection<'_>,
    order: &LinkMove<'_>,
    links: &[LinkId],
) -> Result<(), NotMoved> {
    // Links, totals, accounts: the order in which all writers lock them.
    let lock = query(
        "SELECT owner_id FROM link_totals WHERE owner_id IN ($1, $2) ORDER BY owner_id FOR UPDATE",
    );
    let lock = lock.bind(order.from.user).bind(order.to.user);
    connection.lock(lock).await?;
    // The new owner stays until the transaction ends: links of an account that is deleted would go with it.
    let lock = query("SELECT id FROM users WHERE id = $1 FOR KEY SHARE");
    connection.lock(lock.bind(order.to.user)).await?;
    let find = query("SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2");
    let find = find.bind(order.to.user).bind(&order.to.key);
    if connection.optional(find).await?.is_none() {
        return Err(NotMoved::Because(Moved::NoNewOwner));
    }
    let change = query_of_each(
        "UPDATE links SET owner_id = $2, updated_at = $3
         WHERE id = ANY (ARRAY(SELECT CAST(value AS bigint) FROM json_each($1)))",
        "UPDATE links SET owner_id = $2, updated_at = $3 WHERE id IN (SELECT value FROM json_each($1))",
    );
    let change = change.bind(links).bind(order.to.user).bind(order.at);
    connection.execute(change).await?;
    let total = query("SELECT links + aliases AS codes FROM link_totals WHERE owner_id = $1");
    let total = connection.one(total.bind(order.to.user)).await?;
    if total.get::<i64>("codes")? > quota(order.max_links) {
        return Err(NotMoved::Because(Moved::QuotaReached));
    }
    Ok(())
}

async fn note_move(
    connection: &mut Connection<'_>,
    order: &LinkMove<'_>,
    subject: &str,
) -> Result<(), StoreError> {
    let detail = format!("from {} to {}", order.from.user.0, order.to.user.0);
    note(connection, order.by, order.at, "move", subject, &detail).await
}
