//! Removals: what administrators take away, and what they revoke.

use super::administration::note;
use super::connection::Connection;
use super::domain_list::with_host;
use super::removal_steps::set_covered;
use super::sql::{Query, Row, query};
use super::{Actor, Change, Store, StoreError};
use crate::domain::{
    LinkId, Newest, NewestWanted, Reason, Removal, RemovalId, RemovalStatus, RemovalTarget,
    ShortCode, Timestamp, UserId,
};

/// What a banned account has in the place of its password's hash: a hash that no password is known to have. It takes as long to
/// check as any other.
const NO_PASSWORD: &str = "$argon2id$v=19$m=19456,t=2,p=1$YmFubmVkIGFjY291bnQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What a [`Removal`] is read from.
macro_rules! removals {
    () => {
        "SELECT id, kind, value, reason, status, removed_by, removed_at, revoked_at,
             (SELECT count(*) FROM (SELECT 1 FROM link_removals WHERE removal_id = removals.id LIMIT 100000) AS counted) AS links,
             scan_position IS NOT NULL AND rescan_at IS NULL AS is_running
         FROM removals "
    };
}

/// A removal to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewRemoval<'a> {
    /// What is removed.
    pub target: &'a RemovalTarget,
    /// Why.
    pub reason: &'a Reason,
    /// How its links are answered.
    pub status: RemovalStatus,
    /// Whose work it is.
    pub by: Actor<'a>,
    /// When.
    pub at: Timestamp,
}

/// The result of a removal.
#[derive(Clone, Debug)]
pub enum Removed {
    /// There is no such link or account.
    Unknown,
    /// This removal is in force for it already.
    Already(RemovalId),
    /// The removal, and the changes to announce.
    Done(Box<Removal>, Vec<Change>),
}

impl Store {
    /// Takes something away, and notes that for the audit, in one short transaction. A link is removed with it, and an account
    /// is banned: its tokens, sessions and keys end. The links of anything but a link are removed by [`Store::scan_for_removals`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove(&self, removal: NewRemoval<'_>) -> Result<Removed, StoreError> {
        let removed = self
            .engine
            .transaction(async |connection| removed(connection, removal).await);
        removed.await
    }

    /// Revokes a removal, and notes that for the audit. A link is followed again with it, unless another removal covers it, and
    /// an account may log in again; other links are restored by [`Store::scan_for_removals`]. `None`: no removal in force has
    /// this number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke(
        &self,
        id: RemovalId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<Option<(Removal, Vec<Change>)>, StoreError> {
        let revoked = self
            .engine
            .transaction(async |connection| revoked(connection, id, by, at).await);
        revoked.await
    }

    /// Removals, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn removals(&self, wanted: &NewestWanted) -> Result<Newest<Removal>, StoreError> {
        let find = query(concat!(
            removals!(),
            "WHERE id < $1 ORDER BY id DESC LIMIT $2"
        ));
        let find = find.bind(wanted.below()).bind(wanted.one_more());
        let found = self.engine.read(find).await?;
        let removals: Result<_, _> = found.iter().map(removal).collect();
        Ok(Newest::of(removals?, wanted, |removal: &Removal| {
            removal.id.0
        }))
    }

    /// The removal with this number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn removal(&self, id: RemovalId) -> Result<Option<Removal>, StoreError> {
        let found = self.engine.read_one(by_id(id)).await?;
        found.as_ref().map(removal).transpose()
    }

    /// The removal of this target that is in force.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn removal_in_force(
        &self,
        target: &RemovalTarget,
    ) -> Result<Option<RemovalId>, StoreError> {
        let found = self.engine.read_one(in_force(target)).await?;
        found.map(|row| row.get("id")).transpose()
    }

    /// Why the link with this code is removed: the reason of the removal that it is answered by. Of several removals with that
    /// status, the oldest says so.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn removal_reason(&self, code: &ShortCode) -> Result<Option<String>, StoreError> {
        let find = query(
            "SELECT reason FROM links JOIN link_removals ON link_id = links.id JOIN removals ON removals.id = removal_id
             WHERE links.id = (SELECT link_id FROM link_codes WHERE code = $1) AND link_removals.status = removed_status
             ORDER BY removals.id LIMIT 1",
        );
        let found = self.engine.read_one(find.bind(code)).await?;
        found.map(|row| row.get("reason")).transpose()
    }

    /// Which of these patterns of hosts are removed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn removed_hosts(&self, patterns: &[String]) -> Result<Vec<String>, StoreError> {
        let find = query(
            "SELECT value FROM removals
             WHERE kind = 'host' AND value IN (SELECT value FROM json_each($1)) AND revoked_at IS NULL",
        );
        let found = self.engine.read(find.bind(patterns)).await?;
        found.iter().map(|row| row.get("value")).collect()
    }

    /// Has all links scanned again, if `digest` names another blocklist than the previous one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_blocklist(&self, digest: &str, at: Timestamp) -> Result<bool, StoreError> {
        let begin = query(
            "INSERT INTO removals (kind, value, reason, status, removed_at, scan_position, digest)
             SELECT 'blocklist', '', 'The target is on the blocklist', 410, $2, 0, $1
             WHERE $1 <> '' OR EXISTS (SELECT 1 FROM removals WHERE kind = 'blocklist')
             ON CONFLICT (kind, value) WHERE revoked_at IS NULL
             DO UPDATE SET digest = excluded.digest, scan_position = 0, rescan_at = NULL, removed_at = excluded.removed_at
             WHERE removals.digest <> excluded.digest",
        );
        Ok(self.engine.execute(begin.bind(digest).bind(at)).await? > 0)
    }
}

async fn removed(
    connection: &mut Connection<'_>,
    new: NewRemoval<'_>,
) -> Result<Removed, StoreError> {
    let (mut link, mut target) = (None, new.target.clone());
    let is_known = match new.target {
        RemovalTarget::Link(code) => {
            // Of an alias, its link by its own code.
            if let Some((id, own)) = live_link(connection, code).await? {
                (link, target) = (Some(id), RemovalTarget::Link(own));
            }
            link.is_some()
        }
        RemovalTarget::User(user) => is_account(connection, *user).await?,
        RemovalTarget::Host(_) | RemovalTarget::Address(_) => true,
    };
    if !is_known {
        return Ok(Removed::Unknown);
    }
    let (kind, value) = (target.kind(), target.value());
    let insert = query(
        "INSERT INTO removals (kind, value, reason, status, removed_by, removed_at, scan_position)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, value) WHERE revoked_at IS NULL DO NOTHING RETURNING id",
    )
    .bind(kind)
    .bind(&*value)
    .bind(new.reason.as_str())
    .bind(new.status)
    .bind(new.by.user)
    .bind(new.at)
    .bind(link.is_none().then_some(0_i64));
    let Some(row) = connection.optional(insert).await? else {
        let earlier = connection.optional(in_force(&target)).await?;
        return match earlier {
            Some(row) => Ok(Removed::Already(row.get("id")?)),
            None => Ok(Removed::Unknown),
        };
    };
    let id = row.get("id")?;
    if let RemovalTarget::User(user) = new.target {
        ban(connection, *user, id).await?;
    }
    let links: Vec<_> = link.map(LinkId::number).into_iter().collect();
    let changes = set_covered(connection, id, &links, &[]).await?;
    let shown = match &target {
        RemovalTarget::Link(code) => with_host(connection, code).await?,
        _ => value,
    };
    let detail = format!("{kind} {shown}: {}", new.reason.as_str());
    note(connection, new.by, new.at, "remove", &subject(id), &detail).await?;
    let removal = noted(connection, id).await?;
    Ok(Removed::Done(Box::new(removal), changes))
}

/// The link with this code, which stays as it is until the transaction ends.
async fn live_link(
    connection: &mut Connection<'_>,
    code: &ShortCode,
) -> Result<Option<(LinkId, ShortCode)>, StoreError> {
    let lock = query(
        "SELECT 1 FROM links WHERE id = (SELECT link_id FROM link_codes WHERE code = $1) FOR UPDATE",
    );
    connection.lock(lock.bind(code)).await?;
    let find = query(
        "SELECT id, short_code FROM live_links WHERE id = (SELECT link_id FROM link_codes WHERE code = $1)",
    );
    let found = connection.optional(find.bind(code)).await?;
    let link = found.map(|row| Ok((row.get("id")?, row.get("short_code")?)));
    link.transpose()
}

/// Whether there is this account, which stays as it is until the transaction ends.
async fn is_account(connection: &mut Connection<'_>, user: UserId) -> Result<bool, StoreError> {
    let lock = query("SELECT 1 FROM users WHERE id = $1 FOR UPDATE");
    connection.lock(lock.bind(user)).await?;
    let find = query(
        "SELECT 1 AS found FROM users
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)",
    );
    Ok(connection.optional(find.bind(user)).await?.is_some())
}

/// Ends all that an account may be used with.
async fn ban(
    connection: &mut Connection<'_>,
    user: UserId,
    removal: RemovalId,
) -> Result<(), StoreError> {
    let keep_password = query(
        "INSERT INTO banned_users (user_id, password_hash, removal_id) SELECT id, password_hash, $2 FROM users WHERE id = $1",
    );
    let end_tokens =
        query("UPDATE users SET password_hash = $2, token_key = randomblob(16) WHERE id = $1");
    for end in [
        keep_password.bind(user).bind(removal),
        end_tokens.bind(user).bind(NO_PASSWORD),
        query("DELETE FROM api_keys WHERE user_id = $1").bind(user),
        query("DELETE FROM web_sessions WHERE user_id = $1").bind(user),
        query("DELETE FROM user_roles WHERE user_id = $1").bind(user),
    ] {
        connection.execute(end).await?;
    }
    Ok(())
}

async fn revoked(
    connection: &mut Connection<'_>,
    id: RemovalId,
    by: Actor<'_>,
    at: Timestamp,
) -> Result<Option<(Removal, Vec<Change>)>, StoreError> {
    let revoke = query(
        "UPDATE removals SET revoked_at = $2, scan_position = CASE WHEN kind <> 'link' THEN 0 END, rescan_at = NULL
         WHERE id = $1 AND revoked_at IS NULL AND kind <> 'blocklist' RETURNING kind, value",
    );
    // In the order of removals: what is covered, then the removal.
    for lock in [
        "SELECT 1 FROM links WHERE id IN (
             SELECT link_id FROM link_removals JOIN removals ON removals.id = removal_id WHERE removals.id = $1 AND kind = 'link')
         ORDER BY id FOR UPDATE",
        "SELECT 1 FROM users WHERE id IN (SELECT user_id FROM banned_users WHERE removal_id = $1) FOR UPDATE",
    ] {
        connection.lock(query(lock).bind(id)).await?;
    }
    let Some(row) = connection.optional(revoke.bind(id).bind(at)).await? else {
        return Ok(None);
    };
    let (kind, value): (String, String) = (row.get("kind")?, row.get("value")?);
    let mut changes = Vec::new();
    match kind.as_str() {
        "link" => {
            let find = query("SELECT link_id FROM link_removals WHERE removal_id = $1");
            let links = connection.all(find.bind(id)).await?;
            let links: Result<Vec<i64>, _> = links.iter().map(|row| row.get("link_id")).collect();
            changes = set_covered(connection, id, &[], &links?).await?;
        }
        "user" => unban(connection, id).await?,
        _ => {}
    }
    let code = ShortCode::from_key(&value).filter(|_| kind == "link");
    let shown = match code {
        Some(code) => with_host(connection, &code).await?,
        None => value,
    };
    let detail = format!("{kind} {shown}");
    note(connection, by, at, "revoke", &subject(id), &detail).await?;
    Ok(Some((noted(connection, id).await?, changes)))
}

/// Gives an account the password that it had.
async fn unban(connection: &mut Connection<'_>, removal: RemovalId) -> Result<(), StoreError> {
    for sql in [
        "UPDATE users SET password_hash = banned.password_hash FROM banned_users AS banned
         WHERE banned.removal_id = $1 AND users.id = banned.user_id",
        "DELETE FROM banned_users WHERE removal_id = $1",
    ] {
        connection.execute(query(sql).bind(removal)).await?;
    }
    Ok(())
}

/// A removal that is there, with the links that it covers by now.
async fn noted(connection: &mut Connection<'_>, id: RemovalId) -> Result<Removal, StoreError> {
    let found = connection.optional(by_id(id)).await?;
    let missing = || StoreError::Unexpected(format!("there is no removal {}", id.0));
    removal(&found.ok_or_else(missing)?)
}

/// A removal, in the words of the audit.
fn subject(removal: RemovalId) -> String {
    format!("removal {}", removal.0)
}

fn by_id(id: RemovalId) -> Query<'static> {
    query(concat!(removals!(), "WHERE id = $1")).bind(id)
}

fn in_force(target: &RemovalTarget) -> Query<'static> {
    query("SELECT id FROM removals WHERE kind = $1 AND value = $2 AND revoked_at IS NULL")
        .bind(target.kind())
        .bind(target.value())
}

fn removal(row: &Row) -> Result<Removal, StoreError> {
    Ok(Removal {
        id: row.get("id")?,
        kind: row.get("kind")?,
        value: row.get("value")?,
        reason: row.get("reason")?,
        status: row.get("status")?,
        removed_by: row.get("removed_by")?,
        removed_at: row.get("removed_at")?,
        revoked_at: row.get("revoked_at")?,
        links: row.get("links")?,
        is_running: row.get("is_running")?,
    })
}
