//! Invitations, and the accounts that are made without registration: of invited people, and the first administrator.

use super::administration::note;
use super::connection::Connection;
use super::groups::{insert_member, lock_account, subject as group_subject};
use super::sql::{Query, Row, query};
use super::{Actor, CreateUserError, Store, StoreError};
use crate::domain::{
    EmailAddress, GroupRole, Invitation, InvitedRole, InvitedTo, MAX_INVITATIONS, MAX_MEMBERS,
    Newest, NewestWanted, Timestamp, TokenKey, UserId,
};

/// An invitation to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewInvitation<'a> {
    /// Who is invited.
    pub email: &'a EmailAddress,
    /// The role of the account.
    pub role: InvitedRole,
    /// The group that the account joins, and its role there.
    pub group: Option<(UserId, GroupRole)>,
    /// The hash of its token.
    pub hash: TokenKey,
    /// Whose work it is.
    pub by: Actor<'a>,
    /// When it begins.
    pub at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

/// The result of an invitation.
#[derive(Clone, Debug)]
pub enum Invited {
    /// It is made; an earlier one of the address is gone.
    Done(Invitation),
    /// The address has an account.
    HasAccount,
    /// There are as many as there may be.
    Full,
    /// There is no such group.
    NoGroup,
}

/// An account to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewAccount<'a> {
    /// Its address.
    pub email: &'a EmailAddress,
    /// The hash of its password.
    pub password_hash: &'a str,
    /// The key of its tokens, which was just drawn.
    pub key: TokenKey,
}

macro_rules! columns {
    () => {
        "id, email, role, created_at, expires_at, group_id, group_role,
         (SELECT group_name FROM users WHERE users.id = invitations.group_id) AS group_name"
    };
}

impl Store {
    /// Invites somebody, and notes that for the audit. An earlier invitation of the address ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn invite(&self, new: NewInvitation<'_>) -> Result<Invited, StoreError> {
        let email = new.email;
        let invited = self.engine.transaction(async |connection| {
            if has_account(connection, email).await? {
                return Ok(Invited::HasAccount);
            }
            let (group, group_role) = new.group.unzip();
            if let Some(group) = group {
                let find = query("SELECT id FROM users WHERE id = $1 AND group_name IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)");
                if connection.optional(find.bind(group)).await?.is_none() {
                    return Ok(Invited::NoGroup);
                }
            }
            let end_former = query("DELETE FROM invitations WHERE email_key = $1 OR expires_at <= $2");
            let end_former = end_former.bind(email.lookup_key()).bind(new.at);
            connection.execute(end_former).await?;
            let insert = query(concat!(
                "INSERT INTO invitations (email, email_key, role, hash, created_at, expires_at, group_id, group_role)
                 SELECT $1, $2, $3, $4, $5, $6, $8, $9 WHERE (SELECT count(*) FROM invitations) < $7
                 ON CONFLICT (email_key) DO UPDATE SET email = excluded.email, role = excluded.role, hash = excluded.hash,
                     created_at = excluded.created_at, expires_at = excluded.expires_at, group_id = excluded.group_id,
                     group_role = excluded.group_role
                 RETURNING ",
                columns!()
            ))
            .bind(email.as_str())
            .bind(email.lookup_key())
            .bind(new.role.name())
            .bind(&new.hash)
            .bind(new.at)
            .bind(new.expires_at)
            .bind(i64::try_from(MAX_INVITATIONS).unwrap_or(i64::MAX))
            .bind(group)
            .bind(group_role.map(GroupRole::name));
            let Some(row) = connection.optional(insert).await? else {
                return Ok(Invited::Full);
            };
            let made = invitation(&row)?;
            let subject = subject(made.id);
            note(connection, new.by, new.at, "invite", &subject, new.role.name()).await?;
            Ok(Invited::Done(made))
        });
        invited.await
    }

    /// Open invitations, the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn invitations(
        &self,
        wanted: &NewestWanted,
        now: Timestamp,
    ) -> Result<Newest<Invitation>, StoreError> {
        let find = query(concat!(
            "SELECT ",
            columns!(),
            " FROM invitations WHERE id < $1 AND expires_at > $2 ORDER BY id DESC LIMIT $3"
        ));
        let find = find.bind(wanted.below()).bind(now).bind(wanted.one_more());
        let found = self.engine.read(find).await?;
        let entries: Result<_, _> = found.iter().map(invitation).collect();
        Ok(Newest::of(entries?, wanted, |entry: &Invitation| entry.id))
    }

    /// Ends an invitation, and notes that for the audit. `false`: no open one has this number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke_invitation(
        &self,
        id: i64,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let revoked = self.engine.transaction(async |connection| {
            let revoke = query("DELETE FROM invitations WHERE id = $1 AND expires_at > $2");
            let is_revoked = connection.execute(revoke.bind(id).bind(at)).await? > 0;
            if is_revoked {
                note(connection, by, at, "revoke_invitation", &subject(id), "").await?;
            }
            Ok(is_revoked)
        });
        revoked.await
    }

    /// The open invitation whose token has this hash.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn invitation(
        &self,
        hash: TokenKey,
        now: Timestamp,
    ) -> Result<Option<Invitation>, StoreError> {
        let found = self.engine.read_one(by_hash(&hash, now)).await?;
        found.as_ref().map(invitation).transpose()
    }

    /// Makes the account of an invitation, with its role, and ends the invitation. `None`: there is no such open invitation.
    ///
    /// # Errors
    /// [`CreateUserError`]: the invitation stays then.
    pub async fn join(
        &self,
        hash: TokenKey,
        account: NewAccount<'_>,
        address: &str,
        now: Timestamp,
    ) -> Result<Option<UserId>, CreateUserError> {
        let join = || async {
            let joined = self.engine.transaction(async |connection| {
                let find = by_hash(&hash, now).locked("invitations");
                let Some(row) = connection.optional(find).await? else {
                    return Ok(Some(None));
                };
                let invited = invitation(&row)?;
                let Some(user) = insert_user(connection, account, now).await? else {
                    // The server is checked first.
                    return Ok(None);
                };
                let end = query("DELETE FROM invitations WHERE id = $1");
                connection.execute(end.bind(invited.id)).await?;
                let by = Actor {
                    user: Some(user),
                    address,
                };
                if let Some(to) = &invited.group {
                    join_group(connection, to, by, now).await?;
                }
                if invited.role == InvitedRole::Administrator {
                    give_role(connection, user, now).await?;
                }
                let subject = subject(invited.id);
                note(connection, by, now, "join", &subject, invited.role.name()).await?;
                Ok::<_, CreateUserError>(Some(Some(user)))
            });
            joined.await
        };
        let user = self.engine.with_new_ids(join).await?;
        if let (Some(user), Some(seen)) = (user, self.engine.seen()) {
            seen.registered(user);
        }
        Ok(user)
    }

    /// Makes an account that administers the service, and notes that for the audit.
    ///
    /// # Errors
    /// [`CreateUserError`]: nothing is changed if the address has an account.
    pub async fn create_administrator(
        &self,
        account: NewAccount<'_>,
        by: Actor<'_>,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError> {
        let create = || async {
            let created = self.engine.transaction(async |connection| {
                let Some(user) = insert_user(connection, account, now).await? else {
                    return Ok(None);
                };
                give_role(connection, user, now).await?;
                let subject = format!("user {}", user.0);
                note(connection, by, now, "create_administrator", &subject, "").await?;
                Ok::<_, CreateUserError>(Some(user))
            });
            created.await
        };
        let user = self.engine.with_new_ids(create).await?;
        if let Some(seen) = self.engine.seen() {
            seen.registered(user);
        }
        Ok(user)
    }

    /// Removes up to `limit` invitations that ended before `now`. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_invitations(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let prune = query(
            "DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at <= $1 LIMIT $2)",
        );
        self.engine.execute(prune.bind(now).bind(limit)).await
    }
}

fn by_hash(hash: &TokenKey, now: Timestamp) -> Query<'_> {
    let find = query(concat!(
        "SELECT ",
        columns!(),
        " FROM invitations WHERE hash = $1 AND expires_at > $2"
    ));
    find.bind(hash).bind(now)
}

/// `None` on a server that has to be checked before it gives ids out.
async fn insert_user(
    connection: &mut Connection<'_>,
    account: NewAccount<'_>,
    now: Timestamp,
) -> Result<Option<UserId>, CreateUserError> {
    if has_account(connection, account.email).await? {
        return Err(CreateUserError::EmailTaken);
    }
    let insert = query(
        "INSERT INTO users (email, email_key, password_hash, token_key, created_at)
         SELECT $1, $2, $3, $4, $5 FROM checked_server WHERE true
         ON CONFLICT (email_key) DO NOTHING RETURNING id",
    )
    .bind(account.email.as_str())
    .bind(account.email.lookup_key())
    .bind(account.password_hash)
    .bind(&account.key)
    .bind(now);
    if let Some(inserted) = connection.optional(insert).await? {
        return Ok(Some(inserted.get("id")?));
    }
    // Somebody may have taken the address at this moment.
    if has_account(connection, account.email).await? {
        return Err(CreateUserError::EmailTaken);
    }
    Ok(None)
}

async fn has_account(
    connection: &mut Connection<'_>,
    email: &EmailAddress,
) -> Result<bool, StoreError> {
    let [first, second, third] = email.lookup_keys();
    let find = query("SELECT id FROM users WHERE email_key IN ($1, $2, $3) LIMIT 1");
    let find = find.bind(first).bind(second).bind(third);
    Ok(connection.optional(find).await?.is_some())
}

/// Makes the account that was just made, by itself, a member of a group that has room.
async fn join_group(
    connection: &mut Connection<'_>,
    to: &InvitedTo,
    by: Actor<'_>,
    at: Timestamp,
) -> Result<(), StoreError> {
    lock_account(connection, to.group).await?;
    let count = query("SELECT count(*) AS members FROM group_members WHERE group_id = $1");
    let members: i64 = connection.one(count.bind(to.group)).await?.get("members")?;
    let Some(user) = by.user.filter(|_| members < MAX_MEMBERS.into()) else {
        return Ok(());
    };
    insert_member(connection, to.group, user, to.role, at).await?;
    let detail = format!("user {}: {}", user.0, to.role.name());
    note(
        connection,
        by,
        at,
        "add_member",
        &group_subject(to.group),
        &detail,
    )
    .await
}

async fn give_role(
    connection: &mut Connection<'_>,
    user: UserId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let give = query("INSERT INTO user_roles (user_id, role, granted_at) VALUES ($1, 'admin', $2)");
    connection.execute(give.bind(user).bind(at)).await.map(drop)
}

/// An invitation, in the words of the audit: no address of a person is kept there.
fn subject(id: i64) -> String {
    format!("invitation {id}")
}

fn invitation(row: &Row) -> Result<Invitation, StoreError> {
    let role: String = row.get("role")?;
    let unexpected = |_| StoreError::Unexpected(format!("invalid role: {role}"));
    let group: Option<UserId> = row.get("group_id")?;
    let group = group.map(|group| {
        let (name, role) = (row.get("group_name")?, row.get("group_role")?);
        Ok::<_, StoreError>(InvitedTo { group, name, role })
    });
    Ok(Invitation {
        id: row.get("id")?,
        email: row.get("email")?,
        role: InvitedRole::parse(&role).map_err(unexpected)?,
        group: group.transpose()?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
    })
}
