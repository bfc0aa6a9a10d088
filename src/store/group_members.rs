//! Members of groups. Whoever changes the members of a group locks its account first: so an owner is left, and each change goes by the
//! roles of its moment.

use super::connection::Connection;
use super::groups::{
    GroupError, GroupWork, insert_member, member_of, memberships, note_work, owner_of,
};
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{
    EmailAddress, GroupRole, MAX_JOINED_GROUPS, MAX_MEMBERS, Member, NamedMember, Principal, UserId,
};

impl Store {
    /// The members of a group, owners first and then by the time of joining, for one of them; `None` as for [`Store::role_in`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn members_of(
        &self,
        member: Principal,
        group: UserId,
    ) -> Result<Option<Vec<Member>>, StoreError> {
        if self.role_in(member, group).await?.is_none() {
            return Ok(None);
        }
        let find = query(
            "SELECT users.id, email, role, joined_at FROM group_members JOIN users ON users.id = group_members.user_id
             WHERE group_id = $1 ORDER BY CASE role WHEN 'owner' THEN 0 WHEN 'editor' THEN 1 ELSE 2 END, joined_at, users.id",
        );
        let found = self.engine.read(find.bind(group)).await?;
        found
            .iter()
            .map(a_member)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Makes an account a member of a group, or gives a member another role, and notes that for the audit.
    ///
    /// # Errors
    /// [`GroupError`].
    pub async fn set_member(
        &self,
        work: &GroupWork<'_>,
        named: &NamedMember,
        role: GroupRole,
    ) -> Result<Member, GroupError> {
        let set = self.engine.transaction(async |connection| {
            owner_of(connection, work).await?;
            let (user, email) = named_account(connection, work.group, named).await?;
            let before = role_of(connection, work.group, user).await?;
            let subject = format!("user {}: {}", user.0, role.name());
            match before {
                Some(GroupRole::Owner) if role != GroupRole::Owner => {
                    keep_an_owner(connection, work.group).await?;
                }
                Some(_) => {}
                None => {
                    let members =
                        query("SELECT count(*) AS members FROM group_members WHERE group_id = $1");
                    let members = connection.one(members.bind(work.group)).await?;
                    let joined = memberships(connection, user).await?.joined;
                    if members.get::<i64>("members")? >= MAX_MEMBERS.into()
                        || joined >= MAX_JOINED_GROUPS.into()
                    {
                        return Err(GroupError::TooMany);
                    }
                }
            }
            if before.is_none() {
                insert_member(connection, work.group, user, role, work.at).await?;
                note_work(connection, work, "add_member", &subject).await?;
            } else if before != Some(role) {
                let change = query(
                    "UPDATE group_members SET role = $3 WHERE group_id = $1 AND user_id = $2",
                );
                let change = change.bind(work.group).bind(user).bind(role.name());
                connection.execute(change).await?;
                note_work(connection, work, "set_member_role", &subject).await?;
            }
            let find =
                query("SELECT joined_at FROM group_members WHERE group_id = $1 AND user_id = $2");
            let found = connection.one(find.bind(work.group).bind(user)).await?;
            Ok(Member {
                user,
                email,
                role,
                joined_at: found.get("joined_at")?,
            })
        });
        set.await
    }

    /// Takes a member out of a group, who acts for it no longer, on any instance, and notes that for the audit: an owner does that, or the
    /// member.
    ///
    /// # Errors
    /// [`GroupError`].
    pub async fn remove_member(
        &self,
        work: &GroupWork<'_>,
        named: &NamedMember,
    ) -> Result<UserId, GroupError> {
        let removed = self.engine.transaction(async |connection| {
            let own = member_of(connection, work).await?;
            let too_small = GroupError::RoleTooSmall(own, GroupRole::Owner);
            let user = match named_account(connection, work.group, named).await {
                // Only owners learn who has an account.
                Err(GroupError::NoMember) if own < GroupRole::Owner => return Err(too_small),
                found => found?.0,
            };
            if user != work.by.user && own < GroupRole::Owner {
                return Err(too_small);
            }
            let role = role_of(connection, work.group, user).await?;
            if role.ok_or(GroupError::NoMember)? == GroupRole::Owner {
                keep_an_owner(connection, work.group).await?;
            }
            let remove = query("DELETE FROM group_members WHERE group_id = $1 AND user_id = $2");
            connection
                .execute(remove.bind(work.group).bind(user))
                .await?;
            note_work(
                connection,
                work,
                "remove_member",
                &format!("user {}", user.0),
            )
            .await?;
            Ok(user)
        });
        removed.await
    }
}

/// Fails if the group has one owner only.
async fn keep_an_owner(connection: &mut Connection<'_>, group: UserId) -> Result<(), GroupError> {
    let count = query(
        "SELECT count(*) AS owners FROM group_members WHERE group_id = $1 AND role = 'owner'",
    );
    let owners: i64 = connection.one(count.bind(group)).await?.get("owners")?;
    if owners < 2 {
        return Err(GroupError::LastOwner);
    }
    Ok(())
}

/// The account of a member, by its number, or of any person, by the address: numbers of others tell no address.
async fn named_account(
    connection: &mut Connection<'_>,
    group: UserId,
    named: &NamedMember,
) -> Result<(UserId, EmailAddress), GroupError> {
    let found = match named {
        NamedMember::Numbered(user) => {
            let find = query(
                "SELECT users.id, email FROM group_members JOIN users ON users.id = group_members.user_id
                 WHERE group_id = $1 AND group_members.user_id = $2",
            );
            connection.optional(find.bind(group).bind(*user)).await?
        }
        NamedMember::WithAddress(address) => {
            let [first, second, third] = address.lookup_keys();
            let find = query(
                "SELECT id, email FROM users WHERE email_key IN ($1, $2, $3) AND group_name IS NULL
                 ORDER BY email_key = $1 DESC, email_key = $2 DESC LIMIT 1",
            );
            connection
                .optional(find.bind(first).bind(second).bind(third))
                .await?
        }
    };
    let found = found.ok_or(GroupError::NoMember)?;
    Ok((found.get("id")?, found.get("email")?))
}

async fn role_of(
    connection: &mut Connection<'_>,
    group: UserId,
    user: UserId,
) -> Result<Option<GroupRole>, StoreError> {
    let find = query("SELECT role FROM group_members WHERE group_id = $1 AND user_id = $2");
    let found = connection.optional(find.bind(group).bind(user)).await?;
    found.map(|row| row.get("role")).transpose()
}

fn a_member(row: &Row) -> Result<Member, StoreError> {
    Ok(Member {
        user: row.get("id")?,
        email: row.get("email")?,
        role: row.get("role")?,
        joined_at: row.get("joined_at")?,
    })
}
