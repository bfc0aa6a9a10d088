//! The pool of a link, of which each counted visitor gets the next target.

use super::{LinkError, LinkService};
use crate::domain::{PoolId, PoolTargets, Principal, ShortCode, TargetUrl};
use crate::limits::Daily;
use crate::shared_redis::random_id;
use crate::store::{Added, Emptied, PoolState};

/// Targets that are compared with what is refused by one statement.
const CHECKED_AT_ONCE: usize = 1_000;

fn new_pool() -> Result<PoolId, LinkError> {
    let number = (random_id() >> 1).cast_signed();
    PoolId::parse(number).ok_or_else(|| LinkError::NoCode("no pool could be drawn".into()))
}

impl LinkService {
    /// Adds targets to the pool of a link of this owner, for a client at `address`, and announces the change: once this returns,
    /// visitors get targets of the pool. `None` if there is no such link, or it is another owner's.
    ///
    /// # Errors
    /// [`LinkError::PoolTargetRefused`], [`LinkError::PoolFull`], [`LinkError::Removed`], [`LinkError::TooMany`],
    /// [`LinkError::Store`]: nothing is added then, unless the database did not say so.
    pub async fn add_to_pool(
        &self,
        owner: Principal,
        code: &ShortCode,
        targets: &PoolTargets,
        address: &str,
    ) -> Result<Option<PoolState>, LinkError> {
        self.room.check()?;
        let bytes = targets.text_bytes();
        self.limiter
            .add_today(Daily::LinkBytes, address, bytes)
            .await?;
        let added = self.add_counted(owner, code, targets).await;
        if !matches!(added, Ok(Some(_))) {
            self.limiter.refund_today(Daily::LinkBytes, address, bytes);
        }
        added
    }

    async fn add_counted(
        &self,
        owner: Principal,
        code: &ShortCode,
        targets: &PoolTargets,
    ) -> Result<Option<PoolState>, LinkError> {
        // Before the work for so many targets.
        if self.store.pool_state(owner, code).await?.is_none() {
            return Ok(None);
        }
        for (slice, some) in targets.as_slice().chunks(CHECKED_AT_ONCE).enumerate() {
            let some: Vec<&TargetUrl> = some.iter().collect();
            let are_refused = self.refusals.of(&some).await?;
            if let Some(place) = are_refused.iter().position(|is_refused| *is_refused) {
                let line = targets.line(slice * CHECKED_AT_ONCE + place);
                return Err(LinkError::PoolTargetRefused(line));
            }
        }
        let new = new_pool()?;
        match self.store.add_to_pool(owner, code, targets, new).await? {
            Added::NotFound => Ok(None),
            Added::Removed => Err(LinkError::Removed),
            Added::NoRoom(room) => Err(LinkError::PoolFull(room)),
            Added::Done(state, changes) => {
                self.announce_all(&changes).await;
                Ok(Some(state))
            }
        }
    }

    /// How many targets the pool of a link of this owner has. `None` if there is no such link, or it is another owner's.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn pool(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<PoolState>, LinkError> {
        Ok(self.store.pool_state(owner, code).await?)
    }

    /// Empties the pool of a link of this owner, and announces the change: once this returns, no visitor gets a target of it. With
    /// `ends` the link leads to its own target again. `false` if there is no such link, or it is another owner's.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn empty_pool(
        &self,
        owner: Principal,
        code: &ShortCode,
        ends: bool,
    ) -> Result<bool, LinkError> {
        let new = new_pool()?;
        match self.store.empty_pool(owner, code, new, ends).await? {
            Emptied::NotFound => Ok(false),
            Emptied::Done(changes) => {
                self.announce_all(&changes).await;
                Ok(true)
            }
        }
    }
}
