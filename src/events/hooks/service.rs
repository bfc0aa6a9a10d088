//! Hooks as their owners make and change them.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Clock, EventCursor, HookFilter, HookSecret, HookTargets, HookUrl, MAX_HOOKS, Principal,
};
use crate::events::{FeedError, FeedStart, Feeds};
use crate::store::{CreateHookError, Delivery, Hook, HookEdit, NewHook, Store, StoreError};

/// How long a former secret signs beside its successor.
const BOTH_SIGN: Duration = Duration::from_hours(24);

/// Hooks of accounts.
pub struct Hooks {
    store: Store,
    feeds: Arc<Feeds>,
    clock: Arc<dyn Clock>,
    /// Where receivers may be.
    pub targets: HookTargets,
}

/// Why a hook is not made, changed or replayed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The account is gone.
    #[error("the account does not exist")]
    Gone,
    /// The account has [`MAX_HOOKS`].
    #[error("the account has as many hooks as it may have")]
    TooMany,
    /// The system gave no random numbers.
    #[error("no secret can be drawn: {0}")]
    NoSecret(getrandom::Error),
    /// The feed does not go on from there.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A hook after a change.
pub struct ChangedHook {
    /// The hook.
    pub hook: Hook,
    /// The new secret, if it was made anew.
    pub secret: Option<HookSecret>,
}

impl Hooks {
    /// Hooks whose receivers may be at these addresses.
    #[must_use]
    pub fn new(
        store: Store,
        feeds: Arc<Feeds>,
        clock: Arc<dyn Clock>,
        targets: HookTargets,
    ) -> Self {
        Self {
            store,
            feeds,
            clock,
            targets,
        }
    }

    /// Makes a hook. It is sent what gets its place in the feed from now on.
    ///
    /// # Errors
    /// [`HookError::Gone`], [`HookError::TooMany`], [`HookError::NoSecret`], [`HookError::Store`].
    pub async fn create(
        &self,
        owner: Principal,
        url: &HookUrl,
        filter: &HookFilter,
    ) -> Result<(Hook, HookSecret), HookError> {
        self.store.room.check()?;
        let secret = HookSecret::generate().map_err(HookError::NoSecret)?;
        let new = NewHook {
            url,
            filter,
            secret: &secret,
            at: self.clock.now(),
        };
        match self.store.create_hook(owner, new, MAX_HOOKS).await {
            Ok(hook) => Ok((hook, secret)),
            Err(CreateHookError::OwnerGone) => Err(HookError::Gone),
            Err(CreateHookError::TooMany) => Err(HookError::TooMany),
            Err(CreateHookError::Store(error)) => Err(error.into()),
        }
    }

    /// An owner's hooks, the oldest first.
    ///
    /// # Errors
    /// [`HookError::Gone`], [`HookError::Store`].
    pub async fn list(&self, owner: Principal) -> Result<Vec<Hook>, HookError> {
        self.store.hooks_of(owner).await?.ok_or(HookError::Gone)
    }

    /// A hook of this owner.
    ///
    /// # Errors
    /// [`HookError::Store`].
    pub async fn show(&self, owner: Principal, id: i64) -> Result<Option<Hook>, HookError> {
        Ok(self.store.hook_of(owner, id).await?)
    }

    /// Changes a hook of this owner. The former secret signs for a day beside a new one.
    ///
    /// # Errors
    /// [`HookError::NoSecret`], [`HookError::Store`].
    pub async fn edit(
        &self,
        owner: Principal,
        id: i64,
        mut edit: HookEdit,
        has_new_secret: bool,
    ) -> Result<Option<ChangedHook>, HookError> {
        let mut secret = None;
        if has_new_secret {
            let new = HookSecret::generate().map_err(HookError::NoSecret)?;
            edit.secret = Some((new.clone(), self.clock.now().after(BOTH_SIGN)));
            secret = Some(new);
        }
        let changed = self.store.edit_hook(owner, id, &edit).await?;
        Ok(changed.map(|hook| ChangedHook { hook, secret }))
    }

    /// Ends a hook of this owner. `false` without such a hook.
    ///
    /// # Errors
    /// [`HookError::Store`].
    pub async fn delete(&self, owner: Principal, id: i64) -> Result<bool, HookError> {
        Ok(self.store.delete_hook(owner, id).await?)
    }

    /// Deliveries before this one, the newest first; `None` if the owner has no such hook.
    ///
    /// # Errors
    /// [`HookError::Store`].
    pub async fn deliveries(
        &self,
        owner: Principal,
        id: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Option<Vec<Delivery>>, HookError> {
        let before = before.unwrap_or(i64::MAX);
        let found = self.store.hook_deliveries(owner, id, before, limit);
        Ok(found.await?)
    }

    /// Sends again what happened after an event. `false` without such a hook.
    ///
    /// # Errors
    /// [`HookError::Feed`] if the feed does not go on from there.
    pub async fn replay(
        &self,
        owner: Principal,
        id: i64,
        after: EventCursor,
    ) -> Result<bool, HookError> {
        if self.store.hook_of(owner, id).await?.is_none() {
            return Ok(false);
        }
        let place = self.feeds.place(owner, &FeedStart::After(after)).await?;
        Ok(self.store.replay_hook(owner, id, place).await?)
    }
}
