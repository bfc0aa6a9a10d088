//! The redirect path of links with `max_clicks`: the database grants each click (rule 9 in [`crate::clicks`]).

use std::sync::Arc;

use super::rules::Led;
use super::{Redirect, RedirectError, Redirected, followable};
use crate::analytics::Visitor;
use crate::cache::CachedLink;
use crate::clicks::{ClickReceipt, GrantAnswer, Wanted};
use crate::domain::{ClickClass, LinkState, NotFollowed, ShortCode};

/// How often a click is asked for: a link may lose its limit and get it again.
const TRIES: usize = 3;

impl Redirect {
    /// Asks for a click of the code's link, and returns where it leads.
    pub(super) async fn granted(
        &self,
        code: &ShortCode,
        visitor: &Visitor<'_>,
        led: Led,
    ) -> Result<Redirected, RedirectError> {
        // Afterwards this process knows every change that was answered before the request was sent.
        let now = self.recorders.barrier(self.cache.shard_of(code)).await;
        let version = self.cache.version();
        let (link, source) = self.resolve(code, now, visitor).await?;
        let link = followable(link, &*self.clock)?;
        self.check_password(code, &link, visitor).await?;
        let led = self.led_still(led, &link, visitor);
        if led.is_none() && link.pool().is_some() {
            return Box::pin(self.pooled(code, visitor)).await;
        }
        let receipt = if link.options.is_limited {
            let class = self.class_of(code, &link, &led, visitor);
            self.ask(code, &link, Wanted::Click, class).await?
        } else {
            None
        };
        match receipt {
            // A grant whose visitor left is for the next one, so the alias is counted by itself, once the visitor has one.
            Some(receipt) => {
                let receipt = match link.alias() {
                    Some(alias) => self.recorders.record_alias(alias.id, link.shard).await,
                    None => receipt,
                };
                Ok(Redirected::by_click(link, source, receipt, led))
            }
            // The link no longer has a limit.
            None => {
                self.counted(code, link, source, version, visitor, led)
                    .await
            }
        }
    }

    /// Asks for a click of a link, or whether a click is left. `None` if no click is needed.
    pub(super) async fn ask(
        &self,
        code: &ShortCode,
        link: &CachedLink,
        wanted: Wanted,
        class: Option<Arc<ClickClass>>,
    ) -> Result<Option<ClickReceipt>, RedirectError> {
        if link.used_up.is_known() && !self.grants.has_unused(link.id) {
            return Err(RedirectError::of(NotFollowed::UsedUp, link));
        }
        for _ in 0..TRIES {
            match self.grants.ask(link.click(), wanted, class.clone()).await {
                Some(GrantAnswer::Click(receipt)) => return Ok(Some(receipt)),
                Some(GrantAnswer::Left | GrantAnswer::Unlimited) => return Ok(None),
                Some(GrantAnswer::UsedUp) => return Err(self.not_granted(code, link).await),
                Some(GrantAnswer::Uncounted) => {
                    self.before_limit.count(link.click()).await?;
                }
                None => break,
            }
        }
        let why = "the database did not grant a click in time";
        Err(RedirectError::Unavailable(why.into()))
    }

    /// Why the database granted no click. It grants none of a link that was deleted, switched off or removed at this moment, either, and
    /// such a link has no fallback.
    async fn not_granted(&self, code: &ShortCode, link: &CachedLink) -> RedirectError {
        let mut why = NotFollowed::UsedUp;
        if link.fallback().is_some() {
            let now = match self.lookups.read(code, None).await {
                Ok(Some(now)) if now.id == link.id => now,
                Ok(_) => return RedirectError::Unknown,
                Err(error) => return error,
            };
            let state = LinkState {
                is_active: now.is_active,
                time: now.time(self.clock.now()),
                is_used_up: true,
                removed: now.removed,
            };
            why = state.followable().err().unwrap_or(why);
        }
        if why == NotFollowed::UsedUp {
            link.used_up.note();
        }
        RedirectError::of(why, link)
    }

    /// Fails unless a click may be answered that was counted without a grant, because its link got a limit meanwhile. A link that was
    /// switched off or removed at the same time has no fallback.
    pub(super) async fn admitted(&self, link: &CachedLink) -> Result<(), RedirectError> {
        if self.before_limit.admits(link.id).await? {
            Ok(())
        } else {
            let why = link.followable(&*self.clock).err();
            Err(RedirectError::of(why.unwrap_or(NotFollowed::UsedUp), link))
        }
    }
}
