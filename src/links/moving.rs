//! Moving links from one account to another: to a group, or from it.

use super::{CountedLink, Expected, LinkError, LinkService};
use crate::domain::{Link, Principal, ShortCode, UserId};
use crate::store::{Actor, LinkMove, Moved};

/// Who moves links, and where to.
#[derive(Clone, Copy, Debug)]
pub struct Mover<'a> {
    /// The person, who acts for both accounts.
    pub person: UserId,
    /// The new owner.
    pub to: Principal,
    /// The address of the client.
    pub address: &'a str,
}

impl LinkService {
    /// Moves a link of this owner to another one, and returns it as it is there; `None` if there is no such link. It keeps its number, codes,
    /// clicks and history. What the new owner may have in all holds.
    ///
    /// # Errors
    /// [`LinkError::NotAsExpected`], [`LinkError::QuotaReached`], [`LinkError::OwnerGone`], [`LinkError::TooMany`], [`LinkError::Count`],
    /// [`LinkError::Store`].
    pub async fn move_link(
        &self,
        from: Principal,
        code: &ShortCode,
        expected: &Expected,
        mover: &Mover<'_>,
    ) -> Result<Option<CountedLink>, LinkError> {
        if self.is_moved(from, code, expected, mover).await? {
            return self.show(mover.to, code).await;
        }
        Ok(None)
    }

    /// The same without reading the link again. `false` if there is no such link.
    ///
    /// # Errors
    /// As of [`LinkService::move_link`].
    pub async fn is_moved(
        &self,
        from: Principal,
        code: &ShortCode,
        expected: &Expected,
        mover: &Mover<'_>,
    ) -> Result<bool, LinkError> {
        if from.user == mover.to.user {
            let found = self.store.link_of(from, code).await?;
            return match found {
                Some(found) if !expected.is_met_by(&found.value) => Err(LinkError::NotAsExpected),
                found => Ok(found.is_some()),
            };
        }
        // As links that are made: each move is a row of the audit.
        self.limiter
            .count_bulk(&mover.person.0.to_string(), 1)
            .await?;
        let max_links = self.limits.get().links_per_account;
        let order = LinkMove {
            from,
            to: mover.to,
            max_links,
            by: Actor {
                user: Some(mover.person),
                address: mover.address,
            },
            at: self.clock.now(),
        };
        let is_expected = |link: &Link| expected.is_met_by(link);
        match self.store.move_link(&order, code, &is_expected).await? {
            Moved::Done(_) => {
                tracing::info!(
                    event = "link_moved",
                    user = mover.person.0,
                    address = mover.address,
                    from = from.user.0,
                    to = mover.to.user.0,
                    "a link belongs to another account"
                );
                Ok(true)
            }
            Moved::NotFound => Ok(false),
            Moved::Refused => Err(LinkError::NotAsExpected),
            Moved::NoNewOwner => Err(LinkError::OwnerGone),
            Moved::QuotaReached => Err(LinkError::quota_reached(max_links)),
        }
    }
}
