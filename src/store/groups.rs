//! Groups: accounts that nobody signs in to, and who acts for them.

use super::administration::note;
use super::connection::Connection;
use super::sql::{Row, query};
use super::{Actor, Store, StoreError};
use crate::domain::{
    Group, GroupName, GroupRole, MAX_JOINED_GROUPS, MAX_OWNED_GROUPS, Principal, Timestamp,
    TokenKey, UserId, group_address,
};

/// Why something was not done to a group.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The account that asks is gone, or has another key.
    #[error("the account does not exist")]
    Gone,
    /// There is no such group, or the account is no member of it.
    #[error("there is no such group")]
    NoGroup,
    /// The account is a member with this role, and needs the other one.
    #[error("a member is {}, and needs to be {}", .0.with_article(), .1.with_article())]
    RoleTooSmall(GroupRole, GroupRole),
    /// There is no account to be a member, or the account is no member.
    #[error("there is no such member")]
    NoMember,
    /// Without this member the group would have no owner.
    #[error("the group needs an owner")]
    LastOwner,
    /// The account is an owner of as many groups as it may be, or a member of so many, or the group has as many members as it may have.
    #[error("there are as many as there may be")]
    TooMany,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A group to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewGroup<'a> {
    /// The account that makes it, by a token.
    pub by: Principal,
    /// Its name.
    pub name: &'a GroupName,
    /// The key of the new account, which was just drawn, and which nobody gets.
    pub key: TokenKey,
    /// A text that no other account has.
    pub mark: TokenKey,
    /// The address of the client.
    pub address: &'a str,
    /// When.
    pub at: Timestamp,
}

/// A member's work on a group, by a token.
#[derive(Clone, Copy, Debug)]
pub struct GroupWork<'a> {
    /// Whose work it is.
    pub by: Principal,
    /// The group.
    pub group: UserId,
    /// The address of the client.
    pub address: &'a str,
    /// When.
    pub at: Timestamp,
}

impl<'a> GroupWork<'a> {
    fn actor(&self) -> Actor<'a> {
        Actor {
            user: Some(self.by.user),
            address: self.address,
        }
    }
}

/// Not the hash of any password.
const NO_PASSWORD: &str = "!";

/// The first group of which the account `$1` is the only owner.
macro_rules! without_other_owner {
    () => {
        "SELECT group_name FROM group_members AS owned JOIN users ON users.id = owned.group_id
         WHERE owned.user_id = $1 AND owned.role = 'owner' AND NOT EXISTS (
             SELECT 1 FROM group_members AS other
             WHERE other.group_id = owned.group_id AND other.role = 'owner' AND other.user_id <> $1)
         ORDER BY group_name LIMIT 1"
    };
}

impl Store {
    /// Makes a group, of which the account that makes it is the owner, and notes that for the audit.
    ///
    /// # Errors
    /// [`GroupError::Gone`], [`GroupError::TooMany`], [`GroupError::Store`].
    pub async fn create_group(&self, new: NewGroup<'_>) -> Result<Group, GroupError> {
        let create = || self.try_to_create_group(new);
        let group = self.engine.with_new_ids(create).await?;
        if let Some(seen) = self.engine.seen() {
            seen.registered(group.id);
        }
        Ok(group)
    }

    /// `None` on a server that has to be checked before it gives ids out.
    async fn try_to_create_group(&self, new: NewGroup<'_>) -> Result<Option<Group>, GroupError> {
        let by = new.by;
        let created = self.engine.transaction(async |connection| {
            lock_account(connection, by.user).await?;
            let find = query("SELECT id FROM users WHERE id = $1 AND token_key = $2");
            let find = find.bind(by.user).bind(&by.key);
            connection.optional(find).await?.ok_or(GroupError::Gone)?;
            let numbers = memberships(connection, by.user).await?;
            if numbers.owned >= MAX_OWNED_GROUPS.into() || numbers.joined >= MAX_JOINED_GROUPS.into() {
                return Err(GroupError::TooMany);
            }
            // No address has a space without quotes: this key is no person's.
            let insert = query(
                "INSERT INTO users (email, email_key, password_hash, token_key, created_at, group_name)
                 SELECT '', $1, $2, $3, $4, $5 FROM checked_server WHERE true RETURNING id",
            )
            .bind(format!("group {}", new.mark))
            .bind(NO_PASSWORD)
            .bind(&new.key)
            .bind(new.at)
            .bind(new.name.as_str());
            let Some(made) = connection.optional(insert).await? else {
                return Ok(None);
            };
            let group = Group {
                id: made.get("id")?,
                name: new.name.clone(),
                role: GroupRole::Owner,
                members: 1,
                created_at: new.at,
            };
            // By this name administrators let it use a host; nobody gets mail there (RFC 2606).
            let address = query("UPDATE users SET email = $2 WHERE id = $1");
            let address = address.bind(group.id).bind(group_address(group.id));
            connection.execute(address).await?;
            insert_member(connection, group.id, by.user, group.role, new.at).await?;
            let work = GroupWork {
                by,
                group: group.id,
                address: new.address,
                at: new.at,
            };
            note_work(connection, &work, "make_group", group.name.as_str()).await?;
            Ok(Some(group))
        });
        created.await
    }

    /// The groups of an account, by their names; `None` if it is gone, or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn groups_of(&self, member: Principal) -> Result<Option<Vec<Group>>, StoreError> {
        // An account without groups has one row, without a group.
        let find = query(
            "SELECT groups.id, groups.group_name, joined.role, groups.created_at,
                 (SELECT count(*) FROM group_members WHERE group_members.group_id = groups.id) AS members
             FROM users AS person LEFT JOIN group_members AS joined ON joined.user_id = person.id
             LEFT JOIN users AS groups ON groups.id = joined.group_id
             WHERE person.id = $1 AND person.token_key = $2 ORDER BY groups.group_name, groups.id",
        );
        let find = find.bind(member.user).bind(&member.key);
        let found = self.engine.read(find).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let groups = found.iter().filter_map(|row| group(row).transpose());
        groups.collect::<Result<_, _>>().map(Some)
    }

    /// How far an account acts for a group, by a token; `None` if it does not: it is no member, or gone, or has another key, or the group is
    /// banned.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn role_in(
        &self,
        member: Principal,
        group: UserId,
    ) -> Result<Option<GroupRole>, StoreError> {
        let find = query(
            "SELECT role FROM group_members JOIN users ON users.id = group_members.user_id
             WHERE group_id = $3 AND group_members.user_id = $1 AND token_key = $2
             AND NOT EXISTS (SELECT 1 FROM banned_users WHERE banned_users.user_id = group_id)",
        );
        let find = find.bind(member.user).bind(&member.key).bind(group);
        let found = self.engine.read_one(find).await?;
        found.map(|row| row.get("role")).transpose()
    }

    /// The name of a group of which this account is the only owner: the account cannot be deleted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn group_without_other_owner(
        &self,
        owner: Principal,
    ) -> Result<Option<GroupName>, StoreError> {
        let find = query(without_other_owner!());
        let found = self.engine.read_one(find.bind(owner.user)).await?;
        found.map(|row| row.get("group_name")).transpose()
    }

    /// Gives a group another name, and notes that for the audit.
    ///
    /// # Errors
    /// [`GroupError::NoGroup`], [`GroupError::RoleTooSmall`], [`GroupError::Store`].
    pub async fn rename_group(
        &self,
        work: &GroupWork<'_>,
        name: &GroupName,
    ) -> Result<(), GroupError> {
        let renamed = self.engine.transaction(async |connection| {
            owner_of(connection, work).await?;
            let rename = query("UPDATE users SET group_name = $2 WHERE id = $1");
            connection
                .execute(rename.bind(work.group).bind(name.as_str()))
                .await?;
            note_work(connection, work, "rename_group", name.as_str()).await?;
            Ok(())
        });
        renamed.await
    }
}

/// How many groups an account is in.
pub(super) struct Memberships {
    pub(super) owned: i64,
    pub(super) joined: i64,
}

pub(super) async fn memberships(
    connection: &mut Connection<'_>,
    user: UserId,
) -> Result<Memberships, StoreError> {
    let count = query(
        "SELECT count(*) AS joined, coalesce(sum(CASE WHEN role = 'owner' THEN 1 ELSE 0 END), 0) AS owned
         FROM group_members WHERE user_id = $1",
    );
    let counted = connection.one(count.bind(user)).await?;
    Ok(Memberships {
        owned: counted.get("owned")?,
        joined: counted.get("joined")?,
    })
}

/// Changes of the members of a group come one after the other.
pub(super) async fn lock_account(
    connection: &mut Connection<'_>,
    account: UserId,
) -> Result<(), StoreError> {
    let lock = query("SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE");
    connection.lock(lock.bind(account)).await
}

/// The role of the member whose work it is. The group stays as it is until the transaction ends.
pub(super) async fn member_of(
    connection: &mut Connection<'_>,
    work: &GroupWork<'_>,
) -> Result<GroupRole, GroupError> {
    lock_account(connection, work.group).await?;
    let find = query(
        "SELECT role FROM group_members JOIN users ON users.id = group_members.user_id
         WHERE group_id = $3 AND group_members.user_id = $1 AND token_key = $2
         AND NOT EXISTS (SELECT 1 FROM banned_users WHERE banned_users.user_id = group_id)",
    );
    let find = find.bind(work.by.user).bind(&work.by.key).bind(work.group);
    let found = connection.optional(find).await?;
    Ok(found.ok_or(GroupError::NoGroup)?.get("role")?)
}

/// Refuses work of a member who is no owner.
pub(super) async fn owner_of(
    connection: &mut Connection<'_>,
    work: &GroupWork<'_>,
) -> Result<(), GroupError> {
    match member_of(connection, work).await? {
        GroupRole::Owner => Ok(()),
        role => Err(GroupError::RoleTooSmall(role, GroupRole::Owner)),
    }
}

/// Makes an account a member.
pub(super) async fn insert_member(
    connection: &mut Connection<'_>,
    group: UserId,
    user: UserId,
    role: GroupRole,
    at: Timestamp,
) -> Result<(), StoreError> {
    let insert = query(
        "INSERT INTO group_members (group_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)",
    );
    let insert = insert.bind(group).bind(user).bind(role.name()).bind(at);
    connection.execute(insert).await.map(drop)
}

/// The name of a group of which this account is the only owner, after which it may not go. The groups of which it is an owner stay as they
/// are until the transaction ends.
pub(super) async fn without_other_owner(
    connection: &mut Connection<'_>,
    user: UserId,
) -> Result<Option<GroupName>, StoreError> {
    let lock = query(
        "SELECT id FROM users WHERE id IN (SELECT group_id FROM group_members WHERE user_id = $1 AND role = 'owner')
         ORDER BY id FOR NO KEY UPDATE",
    );
    connection.lock(lock.bind(user)).await?;
    let find = query(without_other_owner!());
    let found = connection.optional(find.bind(user)).await?;
    found.map(|row| row.get("group_name")).transpose()
}

/// Notes work on a group for the audit.
pub(super) async fn note_work(
    connection: &mut Connection<'_>,
    work: &GroupWork<'_>,
    action: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let subject = subject(work.group);
    note(connection, work.actor(), work.at, action, &subject, detail).await
}

/// A group, in the words of the audit.
pub(super) fn subject(group: UserId) -> String {
    format!("group {}", group.0)
}

/// `None` in the row of an account without groups.
fn group(row: &Row) -> Result<Option<Group>, StoreError> {
    let Some(id) = row.get("id")? else {
        return Ok(None);
    };
    Ok(Some(Group {
        id,
        name: row.get("group_name")?,
        role: row.get("role")?,
        members: row.get("members")?,
        created_at: row.get("created_at")?,
    }))
}
