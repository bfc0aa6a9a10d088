//! Groups: made, changed and ended by their members, and who acts for them.

use std::time::{Duration, Instant};

use super::events::Event;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{
    Group, GroupName, GroupRole, Member, NamedMember, NewOwner, Password, Principal, UserId,
};
use crate::limits::{Action, Daily};
use crate::store::{
    Actor, Change, DeletedUser, GroupError, GroupWork, LinkMove, Moved, NewGroup, committed,
};

/// How long an account's links are moved in one request before it is deleted; the same request goes on with the others.
const MOVE_FOR: Duration = Duration::from_secs(10);

impl From<GroupError> for AccountError {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Gone => Self::Gone,
            GroupError::Store(error) => error.into(),
            error => Self::Group(error),
        }
    }
}

impl Accounts {
    /// What names a group in place of an account, for a member who has at least this role there.
    ///
    /// # Errors
    /// [`AccountError::Group`]: no such group, or a role that is too small; [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn acting(
        &self,
        member: Principal,
        group: UserId,
        needed: GroupRole,
        address: &str,
    ) -> Result<Principal, AccountError> {
        let Some(role) = self.store.role_in(member, group).await? else {
            // A role would have shown that the account still exists.
            self.user(member).await?;
            return Err(GroupError::NoGroup.into());
        };
        if role < needed {
            Event::AccessDenied.log(Some(member.user), address);
            return Err(GroupError::RoleTooSmall(role, needed).into());
        }
        Ok(Principal {
            user: group,
            key: member.key,
        })
    }

    /// What names the account that a person wants to give links to: the person's own, or a group, in which it is at least an editor.
    ///
    /// # Errors
    /// As of [`Accounts::acting`].
    pub async fn new_owner(
        &self,
        person: Principal,
        owner: NewOwner,
        address: &str,
    ) -> Result<Principal, AccountError> {
        match owner {
            NewOwner::Numbered(group) if group != person.user => {
                self.acting(person, group, GroupRole::Editor, address).await
            }
            NewOwner::Me | NewOwner::Numbered(_) => Ok(person),
        }
    }

    /// Makes a group, of which the account is the owner. It counts as an account that this address makes today.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn create_group(
        &self,
        address: &str,
        by: Principal,
        name: &GroupName,
    ) -> Result<Group, AccountError> {
        self.store.room.check()?;
        self.limiter.count(Action::Register, address).await?;
        self.limiter.add_today(Daily::Accounts, address, 1).await?;
        let create = async {
            let new = NewGroup {
                by,
                name,
                key: new_key()?,
                mark: new_key()?,
                address,
                at: self.clock.now(),
            };
            Ok::<_, AccountError>(self.store.create_group(new).await?)
        };
        let created = create.await;
        match &created {
            Ok(group) => {
                committed();
                log(by, address, group.id, "made");
            }
            Err(_) => self.limiter.refund_today(Daily::Accounts, address, 1),
        }
        created
    }

    /// The groups of an account, by their names.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn groups(&self, member: Principal) -> Result<Vec<Group>, AccountError> {
        let groups = self.store.groups_of(member).await?;
        groups.ok_or(AccountError::Gone)
    }

    /// A group of an account.
    ///
    /// # Errors
    /// [`AccountError::Group`] without such a group; [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn group(&self, member: Principal, group: UserId) -> Result<Group, AccountError> {
        let mut groups = self.groups(member).await?.into_iter();
        let found = groups.find(|found| found.id == group);
        Ok(found.ok_or(GroupError::NoGroup)?)
    }

    /// The members of a group of an account.
    ///
    /// # Errors
    /// As of [`Accounts::group`].
    pub async fn members(
        &self,
        member: Principal,
        group: UserId,
    ) -> Result<Vec<Member>, AccountError> {
        if let Some(members) = self.store.members_of(member, group).await? {
            return Ok(members);
        }
        self.user(member).await?;
        Err(GroupError::NoGroup.into())
    }

    /// Gives a group another name.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn rename_group(
        &self,
        address: &str,
        by: Principal,
        group: UserId,
        name: &GroupName,
    ) -> Result<Group, AccountError> {
        let work = self.work(by, group, address);
        let renamed = self.store.rename_group(&work, name).await;
        self.checked(by, renamed).await?;
        log(by, address, group, "renamed");
        self.group(by, group).await
    }

    /// Makes an account a member of a group, or gives a member another role.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn set_member(
        &self,
        address: &str,
        by: Principal,
        group: UserId,
        (named, role): (&NamedMember, GroupRole),
    ) -> Result<Member, AccountError> {
        if matches!(named, NamedMember::WithAddress(_)) {
            // As a registration does, the response says whether the address has an account.
            self.limiter.count(Action::Register, address).await?;
        }
        let work = self.work(by, group, address);
        let set = self.store.set_member(&work, named, role).await;
        let member = self.checked(by, set).await?;
        log(
            by,
            address,
            group,
            &format!("user {} is {}", member.user.0, role.name()),
        );
        Ok(member)
    }

    /// Takes a member out of a group: from then on it can do nothing there, on any instance. An owner does that, or the member.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn remove_member(
        &self,
        address: &str,
        by: Principal,
        group: UserId,
        named: &NamedMember,
    ) -> Result<(), AccountError> {
        let work = self.work(by, group, address);
        let removed = self.store.remove_member(&work, named).await;
        let user = self.checked(by, removed).await?;
        log(by, address, group, &format!("user {} is no member", user.0));
        Ok(())
    }

    /// Deletes a group, with its links if it may have some. Returns the changes of links, which are to be announced; `None`: it has links,
    /// also in its bin, and nothing is changed.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn delete_group(
        &self,
        address: &str,
        by: Principal,
        group: UserId,
        may_have_links: bool,
    ) -> Result<Option<Vec<Change>>, AccountError> {
        let work = self.work(by, group, address);
        let deleted = self.store.delete_group(&work, may_have_links).await;
        let changes = self.checked(by, deleted).await?;
        if changes.is_some() {
            committed();
            log(by, address, group, "ended");
        }
        Ok(changes)
    }

    /// Lets the pages of a session show the links of a group of the account, or its own again. `false` without such a group.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn choose_group(
        &self,
        owner: Principal,
        session: i64,
        group: Option<UserId>,
    ) -> Result<bool, AccountError> {
        Ok(self.store.choose_group(owner, session, group).await?)
    }

    /// Deletes an account, as [`Accounts::delete`], once all of its links are moved to a group in which it is at least an editor, and which may
    /// have `max_links` links. Links are moved in short steps: what is moved stays so if a later step fails, and the same call goes on with the
    /// others. Links in the bin go with the account.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::LinksLeft`] if time ran out.
    pub async fn delete_handing_over(
        &self,
        client: &Client,
        principal: Principal,
        password: Password,
        group: UserId,
        max_links: u64,
    ) -> Result<Vec<Change>, AccountError> {
        let to = self
            .acting(principal, group, GroupRole::Editor, client.address())
            .await?;
        self.confirm(client, principal, password, Event::LoginFail)
            .await?;
        if let Some(group) = self.store.group_without_other_owner(principal).await? {
            return Err(AccountError::OnlyOwner(group));
        }
        let (began, mut moved) = (Instant::now(), 0_u64);
        loop {
            let order = LinkMove {
                from: principal,
                to,
                max_links,
                by: Actor {
                    user: Some(principal.user),
                    address: client.address(),
                },
                at: self.clock.now(),
            };
            match self.store.move_some(&order).await? {
                Moved::Done(0) => match self
                    .store
                    .delete_user(principal, false, self.clock.now())
                    .await?
                {
                    // One more was made meanwhile.
                    DeletedUser::HasLinks => {}
                    deleted => return Self::deleted(client, principal, deleted),
                },
                Moved::Done(links) => {
                    moved += u64::from(links);
                    log(
                        principal,
                        client.address(),
                        group,
                        &format!("{links} links are moved here"),
                    );
                }
                Moved::QuotaReached => return Err(AccountError::GroupFull(max_links)),
                Moved::NotFound | Moved::Refused => return Err(AccountError::Gone),
                Moved::NoNewOwner => return Err(GroupError::NoGroup.into()),
            }
            if began.elapsed() > MOVE_FOR {
                return Err(AccountError::LinksLeft(moved));
            }
        }
    }

    fn work<'a>(&self, by: Principal, group: UserId, address: &'a str) -> GroupWork<'a> {
        GroupWork {
            by,
            group,
            address,
            at: self.clock.now(),
        }
    }

    /// A refusal for want of a membership may be for want of the account.
    async fn checked<T>(
        &self,
        by: Principal,
        result: Result<T, GroupError>,
    ) -> Result<T, AccountError> {
        if matches!(result, Err(GroupError::NoGroup)) {
            self.user(by).await?;
        }
        Ok(result?)
    }
}

fn log(by: Principal, address: &str, group: UserId, done: &str) {
    let done = format!("group {}: {done}", group.0);
    Event::GroupChange.log_with(by.user, address, &done);
}
