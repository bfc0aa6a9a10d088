//! Reading a link's statistics.

use super::{LinkError, LinkService};
use crate::clicks::counts::AsOf;
use crate::domain::{
    LinkState, LinkTarget, LinkTime, NotFollowed, RemovalStatus, Rules, ShortCode, TargetUrl,
    Timestamp,
};

/// A link's statistics at one moment.
#[derive(Debug)]
pub struct LinkStats {
    /// Its target; `None` if the link is removed or scheduled or needs a password, and the target is hidden.
    pub target: Option<TargetUrl>,
    /// How many rules it has, if its target is shown.
    pub rules: usize,
    /// Its own code.
    pub code: ShortCode,
    /// Exact number of answered redirects.
    pub clicks: u64,
}

/// Where a link leads, as far as everybody may know.
#[derive(Debug)]
pub enum ShownLeads {
    /// To its target or its fallback, unless one of so many rules leads elsewhere.
    To(TargetUrl, usize),
    /// Each visitor to the next target of its pool.
    ToPool,
    /// To its target, for visitors who have its password.
    Locked,
    /// Nowhere before its start.
    Later,
    /// Nowhere.
    Nowhere,
}

/// What a visitor is shown of a link before it is followed.
#[derive(Debug)]
pub enum LinkPreview {
    /// It is removed.
    Removed(RemovalStatus),
    /// It is made, and not removed.
    Made {
        /// Its own code.
        code: ShortCode,
        /// Where it leads now.
        leads: ShownLeads,
        /// When it was made.
        made_at: Timestamp,
        /// Number of answered redirects.
        clicks: u64,
        /// As [`AsOf`] says.
        as_of: Option<Timestamp>,
    },
}

fn rule_count(rules: Option<&Rules>) -> usize {
    rules.map_or(0, |rules| rules.as_slice().len())
}

impl LinkService {
    /// The statistics of the link with this code, active or not, for a client at `address`; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if the client asked for too many unknown codes; [`LinkError::Count`] if the exact number cannot be
    /// read, [`LinkError::Store`].
    pub async fn stats(
        &self,
        code: &ShortCode,
        address: &str,
    ) -> Result<Option<LinkStats>, LinkError> {
        let counting = self.counts.begin();
        let Some(found) = self.public_link(code, address).await? else {
            return Ok(None);
        };
        let (link, has_parked) = (found.value, found.has_parked);
        let code = link.own_code(code).clone();
        let click = self.click_of(link.id, link.made_by, &code);
        let counted = counting.of(&[click], has_parked).await?;
        // A link that was deleted meanwhile has no clicks.
        let clicks = counted.get(&link.id).copied();
        let is_shown = link.removed.is_none()
            && link.password.is_none()
            && link.time(self.clock.now()) != LinkTime::Before;
        Ok(clicks.map(|clicks| LinkStats {
            rules: rule_count(link.rules.as_ref().filter(|_| is_shown)),
            target: is_shown.then_some(link.target),
            code,
            clicks,
        }))
    }

    /// What a client at `address` is shown of the link with this code; `None` if there is no such link.
    ///
    /// # Errors
    /// As of [`LinkService::stats`].
    pub async fn preview(
        &self,
        code: &ShortCode,
        address: &str,
    ) -> Result<Option<LinkPreview>, LinkError> {
        let counting = self.counts.begin();
        let Some(found) = self.public_link(code, address).await? else {
            return Ok(None);
        };
        let (link, has_parked) = (found.value, found.has_parked);
        let own_code = link.own_code(code).clone();
        let click = self.click_of(link.id, link.made_by, &own_code);
        let AsOf { value, as_of } = counting.of_or_written(&[click], has_parked).await?;
        let Some(clicks) = value.get(&link.id).copied() else {
            return Ok(None);
        };
        // It may be deleted meanwhile.
        let Some(made) = self.store.link_made(code).await? else {
            return Ok(None);
        };
        let now = self.clock.now();
        let state = LinkState {
            is_active: link.is_active,
            time: link.time(now),
            is_used_up: made.max_clicks.is_some_and(|max| max.number() <= clicks),
            removed: link.removed,
        };
        Ok(Some(match state.followable() {
            Err(NotFollowed::Removed(status)) => LinkPreview::Removed(status),
            followed => LinkPreview::Made {
                code: own_code,
                leads: shown_leads(link, followed),
                made_at: made.at,
                clicks,
                as_of,
            },
        }))
    }
}

fn shown_leads(link: LinkTarget, followed: Result<(), NotFollowed>) -> ShownLeads {
    match followed {
        Ok(()) if link.password.is_some() => ShownLeads::Locked,
        Ok(()) if link.pool.is_some() => ShownLeads::ToPool,
        Ok(()) => ShownLeads::To(link.target, rule_count(link.rules.as_ref())),
        Err(why) => match link.fallback.filter(|_| why.foreseen().is_some()) {
            Some(fallback) => ShownLeads::To(fallback, 0),
            None if why == NotFollowed::Scheduled => ShownLeads::Later,
            None => ShownLeads::Nowhere,
        },
    }
}
