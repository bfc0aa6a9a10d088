//! Protection against abuse: removals and bans by administrators, reports by visitors, and the audit log. Knows no HTTP.
//!
//! A removal of one link is done with its transaction. Any other one is noted at once, bans an account at once, and goes on
//! over the links in small steps (`work`), off the redirect's path; its request waits for them.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify};

use crate::domain::{
    AuditEntry, Clock, CurrentBlocklist, CurrentHosts, InvalidDomain, InvalidInvitation,
    InvalidRemoval, NamedUser, Newest, NewestWanted, Principal, Reason, Removal, RemovalId,
    RemovalStatus, RemovalTarget, ShortCode, TwoFactorRule, UserId,
};
use crate::limits::{Searches, TooMany};
use crate::store::{Actor, Change, NewRemoval, Removed, Store, StoreError};

mod blocklist;
mod domains;
mod events;
mod invitations;
mod operator;
mod overview;
mod roles;
mod searching;
mod seen;
mod work;

use events::Event;

pub use blocklist::{BlocklistError, read_blocklist};
pub use invitations::join_path;
pub use overview::{DayOfService, Reach, SHOWN_DAYS};
pub use work::{AT_ONCE, Work};

/// Removals, and what administrators see.
pub struct Abuse {
    store: Store,
    searches: Searches,
    blocklist: CurrentBlocklist,
    hosts: CurrentHosts,
    two_factors: TwoFactorRule,
    clock: Arc<dyn Clock>,
    begun: Notify,
    /// Held from a step's first look at the links until its changes are announced.
    at_work: Mutex<()>,
}

/// An administrator at work, whose role was just looked up; or the operator, who has no account.
#[derive(Clone, Debug)]
pub struct Administrator {
    user: Option<UserId>,
    address: String,
}

impl Administrator {
    /// The operator, on the command line.
    #[must_use]
    pub fn operator() -> Self {
        Self {
            user: None,
            address: "command line".to_owned(),
        }
    }

    fn actor(&self) -> Actor<'_> {
        Actor {
            user: self.user,
            address: &self.address,
        }
    }

    /// Writes what was done to the log; the operator sees it on the command line.
    fn log(&self, done: &str) {
        if let Some(user) = self.user {
            Event::Administration.log(user, &self.address, done);
        }
    }

    /// The address that the administrator works from.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Why an operation against abuse failed.
#[derive(Debug, thiserror::Error)]
pub enum AbuseError {
    /// The account of the token is gone, or its tokens have ended.
    #[error("the token or key was revoked, or its account was deleted")]
    Gone,
    /// The account does not administer the service.
    #[error("the account does not administer the service")]
    NoAdmin,
    /// Administrators need a second factor here, and the account has none.
    #[error("the account needs a second factor")]
    FactorMissing,
    /// The account has no second factor that could be taken away.
    #[error("the account has no second factor")]
    NoFactor,
    /// What is to be removed breaks a rule.
    #[error(transparent)]
    Invalid(#[from] InvalidRemoval),
    /// There is no such link or account.
    #[error("nothing of this kind has this value")]
    Unknown,
    /// An administrator would lose the own account, and the service perhaps its last administrator.
    #[error("must not be your own account: only the operator can ban it, with `shunt admin ban`")]
    OwnAccount,
    /// The account is banned, and gets nothing new.
    #[error("the account is banned; unban it first, with `shunt admin unban`")]
    Banned,
    /// No other account administers the service.
    #[error("is the only administrator; make another account an administrator first")]
    LastAdministrator,
    /// This removal is in force for it already.
    #[error("it was already removed")]
    Already(RemovalId),
    /// What is said of a host breaks a rule.
    #[error(transparent)]
    Domain(#[from] InvalidDomain),
    /// There is no such host beside the service's own.
    #[error("there is no such domain")]
    NoDomain,
    /// There is this host already.
    #[error("there is this domain already")]
    DomainExists,
    /// The host has links.
    #[error("the domain has links; delete them first, from bins, too")]
    DomainHasLinks,
    /// There are as many hosts as there may be.
    #[error("there are as many domains as there may be")]
    ManyDomains,
    /// What is said of an invitation breaks a rule.
    #[error(transparent)]
    Invitation(#[from] InvalidInvitation),
    /// Who is invited has an account.
    #[error("has an account already")]
    HasAccount,
    /// There are as many open invitations as there may be.
    #[error("there are as many open invitations as there may be; revoke some first")]
    ManyInvitations,
    /// No token could be drawn: the system has no randomness.
    #[error("no token could be drawn: {0}")]
    NoRandomness(String),
    /// The client reached a limit.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Abuse {
    /// Removals of what is in `store`.
    #[must_use]
    pub fn new(
        store: Store,
        searches: Searches,
        blocklist: CurrentBlocklist,
        hosts: CurrentHosts,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            searches,
            blocklist,
            hosts,
            two_factors: TwoFactorRule::default(),
            clock,
            begun: Notify::new(),
            at_work: Mutex::default(),
        }
    }

    /// The same, in which these accounts need a second factor.
    #[must_use]
    pub fn with_two_factors(self, two_factors: TwoFactorRule) -> Self {
        Self {
            two_factors,
            ..self
        }
    }

    /// The administrator that a token names, at an address. The role does nothing without a second factor that it needs.
    ///
    /// # Errors
    /// [`AbuseError::Gone`], [`AbuseError::NoAdmin`], [`AbuseError::FactorMissing`], [`AbuseError::Store`].
    pub async fn administrator(
        &self,
        principal: Principal,
        address: &str,
    ) -> Result<Administrator, AbuseError> {
        match self.store.is_admin(principal).await? {
            None => Err(AbuseError::Gone),
            Some(false) => {
                Event::AccessDenied.log(principal.user, address, "");
                Err(AbuseError::NoAdmin)
            }
            Some(true) => {
                let user = principal.user;
                if self.two_factors.binds(true) && !self.store.has_second_factor(user).await? {
                    Event::AccessDenied.log(user, address, "");
                    return Err(AbuseError::FactorMissing);
                }
                Ok(Administrator {
                    user: Some(user),
                    address: address.to_owned(),
                })
            }
        }
    }

    /// The number of the account that a person names. One that is named by its number is not looked up.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn user(&self, named: &NamedUser) -> Result<UserId, AbuseError> {
        match named {
            NamedUser::Number(user) => Ok(*user),
            NamedUser::Email(email) => {
                let credentials = self.store.credentials(email).await?;
                credentials
                    .map(|credentials| credentials.principal.user)
                    .ok_or(AbuseError::Unknown)
            }
        }
    }

    /// What a person wants to remove: as [`RemovalTarget::parse`], but an account may be named by its e-mail address, too.
    ///
    /// # Errors
    /// [`AbuseError::Invalid`], [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn target(&self, kind: &str, value: &str) -> Result<RemovalTarget, AbuseError> {
        match NamedUser::parse(value) {
            Some(named @ NamedUser::Email(_)) if kind == "user" => {
                Ok(RemovalTarget::User(self.user(&named).await?))
            }
            _ if kind == "link" => {
                let code = self.hosts.parse_code(value.trim());
                Ok(RemovalTarget::Link(code.ok_or(InvalidRemoval::Code)?))
            }
            _ => Ok(RemovalTarget::parse(kind, value)?),
        }
    }

    /// Refuses what an administrator may not remove.
    ///
    /// # Errors
    /// [`AbuseError::OwnAccount`].
    pub fn check(&self, by: &Administrator, target: &RemovalTarget) -> Result<(), AbuseError> {
        if matches!(target, RemovalTarget::User(user) if by.user == Some(*user)) {
            return Err(AbuseError::OwnAccount);
        }
        Ok(())
    }

    /// Removes something. Returns the removal, and the changes of links, which are to be announced.
    ///
    /// # Errors
    /// [`AbuseError::OwnAccount`], [`AbuseError::Unknown`], [`AbuseError::Already`], [`AbuseError::Store`].
    pub async fn remove(
        &self,
        by: &Administrator,
        target: &RemovalTarget,
        reason: &Reason,
        status: RemovalStatus,
    ) -> Result<(Removal, Vec<Change>), AbuseError> {
        self.check(by, target)?;
        let removal = NewRemoval {
            target,
            reason,
            status,
            by: by.actor(),
            at: self.clock.now(),
        };
        match self.store.remove(removal).await? {
            Removed::Unknown => Err(AbuseError::Unknown),
            Removed::Already(id) => Err(AbuseError::Already(id)),
            Removed::Done(removal, changes) => {
                let done = format!("remove {} {}", removal.kind, self.shown_value(&removal));
                by.log(&done);
                if let (RemovalTarget::User(user), Some(_)) = (target, by.user) {
                    Event::TokenRevoked.log(*user, &by.address, "banned");
                }
                self.begun.notify_one();
                Ok((*removal, changes))
            }
        }
    }

    /// Revokes a removal. Returns it, and the changes of links, which are to be announced.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn revoke(
        &self,
        by: &Administrator,
        id: RemovalId,
    ) -> Result<(Removal, Vec<Change>), AbuseError> {
        let revoked = self.store.revoke(id, by.actor(), self.clock.now());
        let (removal, changes) = revoked.await?.ok_or(AbuseError::Unknown)?;
        let value = self.shown_value(&removal);
        let done = format!("revoke removal of {} {value}", removal.kind);
        by.log(&done);
        self.begun.notify_one();
        Ok((removal, changes))
    }

    /// Revokes the ban of an account, as [`Abuse::revoke`] does.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`] if the account is not banned; [`AbuseError::Store`].
    pub async fn revoke_ban(
        &self,
        by: &Administrator,
        user: UserId,
    ) -> Result<(Removal, Vec<Change>), AbuseError> {
        let ban = self
            .store
            .removal_in_force(&RemovalTarget::User(user))
            .await?;
        self.revoke(by, ban.ok_or(AbuseError::Unknown)?).await
    }

    /// Removals, newest first.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn removals(&self, wanted: &NewestWanted) -> Result<Newest<Removal>, AbuseError> {
        Ok(self.store.removals(wanted).await?)
    }

    /// Why the link with this code is removed, for its visitors; `None` if it is not removed.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn reason_of(&self, code: &ShortCode) -> Result<Option<String>, AbuseError> {
        Ok(self.store.removal_reason(code).await?)
    }

    /// What administrators did.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn audit(&self, wanted: &NewestWanted) -> Result<Newest<AuditEntry>, AbuseError> {
        Ok(self.store.audit(wanted).await?)
    }

    /// Closes a report, which makes room for another report; with `earlier` all open reports of its link that came before it, too.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn close_report(
        &self,
        by: &Administrator,
        report: i64,
        earlier: bool,
    ) -> Result<(), AbuseError> {
        let now = self.clock.now();
        let closed = self.store.close_report(report, earlier, by.actor(), now);
        if !closed.await? {
            return Err(AbuseError::Unknown);
        }
        let those_before = if earlier { " and those before it" } else { "" };
        by.log(&format!("close report {report}{those_before}"));
        Ok(())
    }

    /// A removal as it is now.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn removal(&self, id: RemovalId) -> Result<Removal, AbuseError> {
        self.store.removal(id).await?.ok_or(AbuseError::Unknown)
    }
}
