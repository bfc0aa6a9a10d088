//! Administration: roles, passwords, and the audit.

use super::connection::Connection;
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{AuditEntry, Newest, NewestWanted, Principal, Timestamp, TokenKey, UserId};

/// Whose work something is.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The account of an administrator; `None`: an operator on the command line, or the service itself.
    pub user: Option<UserId>,
    /// The address of the administrator's client, or a word for the command line.
    pub address: &'a str,
}

/// What is kept for a number of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Addresses that links were made from.
    Addresses,
    /// Reports of links.
    Reports,
    /// What administrators did.
    Audit,
}

/// The result of taking a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleTaken {
    /// The account has it no longer.
    Done,
    /// It did not have it.
    NoAdmin,
    /// No other account has it.
    Last,
}

/// The account of a person that may be given something new.
macro_rules! is_in_use {
    () => {
        "group_name IS NULL AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
         AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)"
    };
}

impl Store {
    /// Whether the account of a token administers the service; `None` if it is gone, or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_admin(&self, principal: Principal) -> Result<Option<bool>, StoreError> {
        let find = query(
            "SELECT EXISTS (SELECT 1 FROM user_roles WHERE user_id = users.id AND role = 'admin') AS is_admin
             FROM users WHERE id = $1 AND token_key = $2",
        );
        let find = find.bind(principal.user).bind(&principal.key);
        let found = self.engine.read_one(find).await?;
        found.map(|row| row.get("is_admin")).transpose()
    }

    /// Lets an account administer the service, and notes that for the audit. `false`: there is no such account, or it is
    /// banned.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn set_role(
        &self,
        user: UserId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let set = query(concat!(
            "INSERT INTO user_roles (user_id, role, granted_at) SELECT id, 'admin', $2 FROM users WHERE id = $1 AND ",
            is_in_use!(),
            " ON CONFLICT (user_id) DO UPDATE SET role = excluded.role"
        ));
        let set = set.bind(user).bind(at);
        let set = self.engine.transaction(async |connection| {
            let is_set = connection.execute(set).await? > 0;
            if is_set {
                note(connection, by, at, "grant", &subject(user), "").await?;
            }
            Ok(is_set)
        });
        set.await
    }

    /// Takes the role of an administrator from an account, and notes that for the audit. The last administrator keeps it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn take_role(
        &self,
        user: UserId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<RoleTaken, StoreError> {
        let taken = self.engine.transaction(async |connection| {
            // Of two who take each other's role at once, the second is the last one by then.
            let lock = query(
                "SELECT 1 FROM user_roles WHERE role = 'admin' ORDER BY user_id FOR UPDATE",
            );
            connection.lock(lock).await?;
            let find = query(
                "SELECT (SELECT count(*) FROM (SELECT 1 FROM user_roles WHERE role = 'admin' LIMIT 2) AS counted) AS admins,
                     EXISTS (SELECT 1 FROM user_roles WHERE user_id = $1 AND role = 'admin') AS is_admin",
            );
            let found = connection.optional(find.bind(user)).await?;
            let found = found.ok_or_else(|| StoreError::Unexpected("no role is read".into()))?;
            let (admins, is_admin): (i64, bool) = (found.get("admins")?, found.get("is_admin")?);
            if !is_admin {
                return Ok(RoleTaken::NoAdmin);
            }
            if admins < 2 {
                return Ok(RoleTaken::Last);
            }
            let take = query("DELETE FROM user_roles WHERE user_id = $1 AND role = 'admin'");
            connection.execute(take.bind(user)).await?;
            note(connection, by, at, "revoke_role", &subject(user), "").await?;
            Ok(RoleTaken::Done)
        });
        taken.await
    }

    /// Gives an account another password and another key, and notes that for the audit. `false` as for [`Store::set_role`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reset_password(
        &self,
        user: UserId,
        password_hash: &str,
        key: TokenKey,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let reset = query(concat!(
            "UPDATE users SET password_hash = $2, token_key = $3 WHERE id = $1 AND ",
            is_in_use!()
        ));
        let reset = reset.bind(user).bind(password_hash).bind(&key);
        let reset = self.engine.transaction(async |connection| {
            let is_reset = connection.execute(reset).await? > 0;
            if is_reset {
                note(connection, by, at, "reset_password", &subject(user), "").await?;
            }
            Ok(is_reset)
        });
        reset.await
    }

    /// Notes for the audit that an administrator saw where links with a password lead.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn note_seen_targets(
        &self,
        codes: &str,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let noted = self.engine.transaction(async |connection| {
            note(
                connection,
                by,
                at,
                "see_targets",
                "links with a password",
                codes,
            )
            .await
        });
        noted.await
    }

    /// What administrators did.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn audit(&self, wanted: &NewestWanted) -> Result<Newest<AuditEntry>, StoreError> {
        let find = query(
            "SELECT id, at, user_id, address, action, subject, detail FROM audit_log WHERE id < $1 ORDER BY id DESC LIMIT $2",
        );
        let find = find.bind(wanted.below()).bind(wanted.one_more());
        let found = self.engine.read(find).await?;
        let entries: Result<_, _> = found.iter().map(audit_entry).collect();
        Ok(Newest::of(entries?, wanted, |entry: &AuditEntry| entry.id))
    }

    /// Removes up to `limit` rows of the time before `before`; returns how many were removed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_kept(
        &self,
        kept: Kept,
        before: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        // Rows are made in the order of their numbers, and so this needs no index by time.
        let prune = query(match kept {
            Kept::Addresses => {
                "DELETE FROM link_addresses WHERE noted_at < $1 AND link_id <= (
                     SELECT max(link_id) FROM (SELECT link_id FROM link_addresses ORDER BY link_id LIMIT $2) AS first)"
            }
            Kept::Reports => {
                "DELETE FROM reports WHERE reported_at < $1 AND id <= (
                     SELECT max(id) FROM (SELECT id FROM reports ORDER BY id LIMIT $2) AS first)"
            }
            Kept::Audit => {
                "DELETE FROM audit_log WHERE at < $1 AND id <= (
                     SELECT max(id) FROM (SELECT id FROM audit_log ORDER BY id LIMIT $2) AS first)"
            }
        });
        self.engine.execute(prune.bind(before).bind(limit)).await
    }
}

/// Notes what was done, for the audit.
pub(super) async fn note(
    connection: &mut Connection<'_>,
    by: Actor<'_>,
    at: Timestamp,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let note = query(
        "INSERT INTO audit_log (at, user_id, address, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(at)
    .bind(by.user)
    .bind(by.address)
    .bind(action)
    .bind(subject)
    .bind(detail);
    connection.execute(note).await.map(drop)
}

/// An account, in the words of the audit.
pub(super) fn subject(user: UserId) -> String {
    format!("user {}", user.0)
}

fn audit_entry(row: &Row) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        id: row.get("id")?,
        at: row.get("at")?,
        user: row.get("user_id")?,
        address: row.get("address")?,
        action: row.get("action")?,
        subject: row.get("subject")?,
        detail: row.get("detail")?,
    })
}
