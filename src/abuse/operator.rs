//! What the operator does on the command line, on the database itself. Running instances learn of it from the outbox.

use std::sync::Arc;

use tokio::time::{sleep, timeout};

use super::AbuseError;
use super::work::{AT_ONCE, PAUSE, covers};
use crate::domain::{
    AuditEntry, Clock, EmailAddress, NamedUser, Newest, NewestWanted, Reason, Removal, RemovalId,
    RemovalStatus, RemovalTarget, SeenUser, TokenKey, UserId,
};
use crate::store::{Actor, NewRemoval, Removed, Store, StoreError};

/// Administration without an account.
pub struct Operator {
    store: Store,
    clock: Arc<dyn Clock>,
}

const BY: Actor<'static> = Actor {
    user: None,
    address: "command line",
};

impl Operator {
    /// The operator of the service whose database `store` is.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// What a person wants to remove: as [`RemovalTarget::parse`], but an account may be named by its e-mail address, too.
    async fn target(&self, kind: &str, value: &str) -> Result<RemovalTarget, AbuseError> {
        match NamedUser::parse(value) {
            Some(NamedUser::Email(email)) if kind == "user" => {
                Ok(RemovalTarget::User(self.user(&email).await?))
            }
            _ => Ok(RemovalTarget::parse(kind, value)?),
        }
    }

    async fn user(&self, email: &EmailAddress) -> Result<UserId, AbuseError> {
        let found = self.store.credentials(email).await?;
        let found = found.map(|credentials| credentials.principal.user);
        found.ok_or(AbuseError::Unknown)
    }

    /// Gives an account the role of an administrator.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Banned`], [`AbuseError::Store`].
    pub async fn set_role(&self, email: &EmailAddress) -> Result<(), AbuseError> {
        let user = self.user(email).await?;
        let is_set = self
            .store
            .administration
            .set_role(user, BY, self.clock.now());
        is_set.await?.then_some(()).ok_or(AbuseError::Banned)
    }

    /// Gives an account a new password, by its hash; all its tokens are revoked.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Banned`], [`AbuseError::Store`].
    pub async fn reset_password(
        &self,
        email: &EmailAddress,
        hash: &str,
        key: TokenKey,
    ) -> Result<(), AbuseError> {
        let user = self.user(email).await?;
        let administration = &self.store.administration;
        let reset = administration.reset_password(user, hash, key, BY, self.clock.now());
        reset.await?.then_some(()).ok_or(AbuseError::Banned)
    }

    /// Accounts, newest first.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn users(&self, wanted: &NewestWanted) -> Result<Newest<SeenUser>, AbuseError> {
        Ok(super::searching::accounts(&*self.store.administration, wanted).await?)
    }

    /// What administrators did, newest first.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn audit(&self, wanted: &NewestWanted) -> Result<Newest<AuditEntry>, AbuseError> {
        Ok(self.store.administration.audit(wanted).await?)
    }

    /// Bans an account, and removes its links.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Already`], [`AbuseError::Store`].
    pub async fn ban(&self, email: &EmailAddress, reason: &Reason) -> Result<Removal, AbuseError> {
        let target = RemovalTarget::User(self.user(email).await?);
        self.removed(&target, reason, RemovalStatus::Gone).await
    }

    /// Removes something, and its links.
    ///
    /// # Errors
    /// [`AbuseError::Invalid`], [`AbuseError::Unknown`], [`AbuseError::Already`], [`AbuseError::Store`].
    pub async fn remove(
        &self,
        kind: &str,
        value: &str,
        reason: &Reason,
        status: RemovalStatus,
    ) -> Result<Removal, AbuseError> {
        let target = self.target(kind, value).await?;
        self.removed(&target, reason, status).await
    }

    async fn removed(
        &self,
        target: &RemovalTarget,
        reason: &Reason,
        status: RemovalStatus,
    ) -> Result<Removal, AbuseError> {
        let removal = NewRemoval {
            target,
            reason,
            status,
            by: BY,
            at: self.clock.now(),
        };
        match self.store.removals.remove(removal).await? {
            Removed::Unknown => Err(AbuseError::Unknown),
            Removed::Already(id) => Err(AbuseError::Already(id)),
            Removed::Done(removal, _) => {
                self.settle(removal.id).await;
                Ok(*removal)
            }
        }
    }

    /// Goes over the links of a removal, and waits until running instances have learned of them: [`AT_ONCE`] at most. They do
    /// the rest, even if the database fails: the removal itself is committed.
    async fn settle(&self, id: RemovalId) {
        let settled = async {
            while !self.store.removals.is_scanned(id).await? {
                let step = self.store.removals.step(&covers, self.clock.now()).await?;
                if step.is_none() {
                    sleep(PAUSE).await;
                }
            }
            while !self.store.outbox.is_alone()
                && !self
                    .store
                    .outbox
                    .unpublished_changes(0, 1)
                    .await?
                    .is_empty()
            {
                sleep(PAUSE).await;
            }
            Ok::<_, StoreError>(())
        };
        if let Ok(Err(error)) = timeout(AT_ONCE, settled).await {
            tracing::warn!(%error, "the removal is saved, but not all its links are done yet; running instances finish it");
        }
    }

    /// Revokes the ban of an account, whose links work again.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`] if the account is not banned; [`AbuseError::Store`].
    pub async fn revoke_ban(&self, email: &EmailAddress) -> Result<(), AbuseError> {
        let target = RemovalTarget::User(self.user(email).await?);
        let ban = self.store.removals.in_force(&target).await?;
        let id = ban.ok_or(AbuseError::Unknown)?;
        self.revoke(id).await
    }

    /// Revokes a removal, whose links work again.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`] if no removal in force has this number; [`AbuseError::Store`].
    pub async fn revoke(&self, id: RemovalId) -> Result<(), AbuseError> {
        let revoked = self.store.removals.revoke(id, BY, self.clock.now());
        revoked.await?.ok_or(AbuseError::Unknown)?;
        self.settle(id).await;
        Ok(())
    }

    /// Removals, newest first.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn removals(&self, limit: u32) -> Result<Vec<Removal>, AbuseError> {
        Ok(self.store.removals.removals(None, limit).await?)
    }

    /// Leaves the database in order.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn close(self) -> Result<(), AbuseError> {
        Ok(self.store.close().await?)
    }
}
