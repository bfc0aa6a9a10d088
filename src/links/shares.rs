//! Who reads the statistics of a link: everybody, or its owner and who has a share of them.

use super::{LinkError, LinkService};
use crate::domain::{OneTimeToken, Principal, ShortCode, StatsAudience};
use crate::store::{Shared, SharedStats, StatsShare, StoreError};

/// Shares of a link at most.
pub const MAX_SHARES: i64 = 20;

/// Who asks for the statistics of a link.
pub enum StatsReader {
    /// Somebody, who is not asked who it is.
    Anybody,
    /// The account with a token or a key.
    Account(Principal),
    /// Who has this secret of a share; `None`: a text that cannot be one.
    Holder(Option<OneTimeToken>),
}

/// The result of sharing.
pub enum ShareMade {
    /// The share, and its secret, which is shown only now.
    Done(StatsShare, OneTimeToken),
    /// The link has [`MAX_SHARES`].
    Full,
    /// The owner has no such link.
    NoLink,
}

impl LinkService {
    /// Whether everybody may read the statistics of links.
    #[must_use]
    pub fn stats_are_public(&self) -> bool {
        self.stats_audience == StatsAudience::Everybody
    }

    /// Whether a client at `address` may read the statistics of the link with this code. Who may not does not learn whether there
    /// is such a link.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if the client asked for too much that it may not see; [`LinkError::Store`].
    pub async fn may_read_stats(
        &self,
        reader: &StatsReader,
        code: &ShortCode,
        address: &str,
    ) -> Result<bool, LinkError> {
        if self.stats_are_public() {
            return Ok(true);
        }
        self.misses.check(address)?;
        let owner = match reader {
            StatsReader::Anybody => None,
            StatsReader::Account(owner) => Some((*owner, None)),
            StatsReader::Holder(token) => {
                let shared = self.shared_stats(token.as_ref()).await?;
                shared.map(|shared| (shared.owner, Some(shared.code)))
            }
        };
        let may_read = match owner {
            None => false,
            Some((owner, shared)) => {
                let link = self.store.link_of(owner, code).await?;
                let is_shared = |own: &ShortCode| shared.as_ref().is_none_or(|code| code == own);
                link.is_some_and(|link| is_shared(&link.value.code))
            }
        };
        if !may_read {
            self.misses.count(address);
        }
        Ok(may_read)
    }

    /// Shares the statistics of a link of this owner.
    ///
    /// # Errors
    /// [`LinkError::Store`]; [`LinkError::NoCode`] without randomness.
    pub async fn share_stats(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<ShareMade, LinkError> {
        let token = OneTimeToken::generate();
        let token = token.map_err(|error| LinkError::NoCode(error.to_string()))?;
        let (hash, now) = (token.hash(), self.clock.now());
        let shared = self.store.share_stats(owner, code, hash, now, MAX_SHARES);
        Ok(match shared.await? {
            Shared::Done(share) => ShareMade::Done(share, token),
            Shared::Full => ShareMade::Full,
            Shared::NoLink => ShareMade::NoLink,
        })
    }

    /// The shares of a link, the newest first; `None` if the owner has no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn stats_shares(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<Vec<StatsShare>>, StoreError> {
        self.store.stats_shares(owner, code).await
    }

    /// Ends a share: its secret is unknown from then on, to every instance. `false` if there is no such share.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_stats_share(
        &self,
        owner: Principal,
        code: &ShortCode,
        id: i64,
    ) -> Result<bool, StoreError> {
        self.store.end_stats_share(owner, code, id).await
    }

    /// What a client at `address` may read that has this secret; `None` without such a share.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if the client asked for too much that it may not see; [`LinkError::Store`].
    pub async fn shared_by(
        &self,
        token: Option<&OneTimeToken>,
        address: &str,
    ) -> Result<Option<SharedStats>, LinkError> {
        self.misses.check(address)?;
        let shared = self.shared_stats(token).await?;
        if shared.is_none() {
            self.misses.count(address);
        }
        Ok(shared)
    }

    async fn shared_stats(
        &self,
        token: Option<&OneTimeToken>,
    ) -> Result<Option<SharedStats>, StoreError> {
        match token {
            None => Ok(None),
            Some(token) => self.store.shared_stats(&token.hash()).await,
        }
    }
}
