//! Creating links.
//!
//! One link is created as many are: a call with one. A link in the owner's bin gives its code to a new link that is to have it.

use super::engine::Engine;
use super::{CreateLinkError, CreatedLink, NewLink, Outcome, Store, StoreError};

/// Links per transaction of SQLite: a batch of clicks waits for one transaction at most. Postgres creates all links of a call in
/// one transaction.
const TOGETHER_IN_SQLITE: usize = 250;

impl Store {
    /// Creates an active link of an owner who has fewer than `max_links` (0: any number), exactly so under concurrency, too. The
    /// code of a deleted link is refused as taken, unless its former owner chose it.
    ///
    /// # Errors
    /// [`CreateLinkError`]. Nothing is created then, unless the database did not say so.
    pub async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        let created = self.create_links(std::slice::from_ref(&link), max_links);
        let created = created.await?.pop().unwrap_or_else(|| Err(not_created()));
        created.map(|created| link.made(created))
    }

    /// Creates many links of one owner, each as [`Store::create_link`] does; returns the outcome for each, in their order.
    /// Either all codes were drawn, or all were chosen; of two that are the same the second is taken. `created_at` and the address
    /// are taken from the first link. A request that may be repeated creates one link. A link in the owner's bin ends if its code is
    /// chosen again.
    ///
    /// # Errors
    /// If the owner is gone, or the database failed: none of the links is created then, unless it did not say so. If it
    /// fails in the middle, that is the outcome of the links that are not created.
    pub async fn create_links(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let mut outcomes = self.create_with_free_codes(links, max_links).await?;
        let is_taken = |outcome: &Outcome| {
            let error = outcome.as_ref().err();
            error.is_some_and(|error| {
                matches!(
                    error,
                    CreateLinkError::CodeTaken | CreateLinkError::AliasTaken(_)
                )
            })
        };
        let mut refused = links.iter().zip(&mut outcomes).collect::<Vec<_>>();
        refused.retain(|(link, outcome)| (link.is_chosen || link.codes() > 1) && is_taken(outcome));
        let Some((first, _)) = refused.first() else {
            return Ok(outcomes);
        };
        let codes = refused.iter().flat_map(|(link, _)| {
            let aliases = link.properties.aliases.as_slice().iter();
            std::iter::once(link.code).chain(aliases)
        });
        let codes: Vec<_> = codes.collect();
        if self.free_codes(first.owner.user, &codes).await? {
            let again: Vec<_> = refused.iter().map(|(link, _)| (*link).clone()).collect();
            let made = self.create_with_free_codes(&again, max_links).await?;
            for ((_, outcome), made) in refused.into_iter().zip(made) {
                *outcome = made;
            }
        }
        Ok(outcomes)
    }

    async fn create_with_free_codes(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Outcome>, CreateLinkError> {
        let mut outcomes = Vec::with_capacity(links.len());
        let together = match self.engine {
            Engine::Postgres(_) => links.len().max(1),
            Engine::Sqlite(_) => TOGETHER_IN_SQLITE,
        };
        // A link with aliases is created or refused by itself, and they with it.
        let parts = links.chunk_by(|one, other| one.codes() == 1 && other.codes() == 1);
        for part in parts.flat_map(|part| part.chunks(together)) {
            if let Err(error) = self.create_part(part, max_links, &mut outcomes).await {
                if !outcomes.iter().any(Result::is_ok) {
                    return Err(error);
                }
                outcomes.resize_with(links.len(), || Err(error.clone()));
                break;
            }
        }
        Ok(outcomes)
    }

    async fn create_part(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), CreateLinkError> {
        match self.insert(links, max_links).await {
            Ok(created) => outcomes.extend(created),
            // Nothing was created: not all links fit, or the first code is taken, and so are most likely all.
            Err(CreateLinkError::CodeTaken)
                if links.len() > 1 && self.all_are_taken(links).await? =>
            {
                outcomes.extend(links.iter().map(|_| Err(CreateLinkError::CodeTaken)));
            }
            Err(CreateLinkError::CodeTaken | CreateLinkError::QuotaReached) if links.len() > 1 => {
                for link in links.chunks(1) {
                    if let Some(Err(full @ CreateLinkError::QuotaReached)) = outcomes.last() {
                        outcomes.push(Err(full.clone()));
                    } else {
                        Box::pin(self.create_part(link, max_links, outcomes)).await?;
                    }
                }
            }
            Err(
                refused @ (CreateLinkError::CodeTaken
                | CreateLinkError::AliasTaken(_)
                | CreateLinkError::QuotaReached),
            ) => outcomes.push(Err(refused)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn all_are_taken(&self, links: &[NewLink<'_>]) -> Result<bool, StoreError> {
        let codes: Vec<_> = links.iter().map(|link| link.code).collect();
        let Some(first) = links.first() else {
            return Ok(true);
        };
        let taken = self.taken_codes(first.owner.user, &codes).await?;
        Ok(codes.iter().all(|code| taken.contains(*code)))
    }
}

/// The most links and aliases that an account may have, as a number of the database; 0 is any number.
pub(super) fn quota(max_links: u64) -> i64 {
    match max_links {
        0 => i64::MAX,
        max_links => i64::try_from(max_links).unwrap_or(i64::MAX),
    }
}

fn not_created() -> CreateLinkError {
    StoreError::Unexpected("a link has no outcome".into()).into()
}
