//! The redirect path of links with a pool: each counted visitor is sent to the next target.

use std::sync::Arc;

use super::pools::Taken;
use super::rules::{Led, Turn};
use super::{Redirect, RedirectError, Redirected, followable};
use crate::analytics::Visitor;
use crate::cache::{CachedLink, Source, UsedUp};
use crate::clicks::{ClickReceipt, Wanted};
use crate::domain::{NotFollowed, PoolId, ShortCode};

/// How often a visit is begun anew because links change.
const TRIES: usize = 16;

impl Redirect {
    /// Takes the next target of the code's pool, counts the click, and returns where it leads. What is taken and not sent is for
    /// the next visitor.
    pub(super) async fn pooled(
        &self,
        code: &ShortCode,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        let mut tries = 0;
        loop {
            // Afterwards this process knows every change that was answered before the request was sent.
            let now = self.recorders.barrier(self.cache.shard_of(code)).await;
            let version = self.cache.version();
            let (link, source) = self.resolve(code, now, visitor).await?;
            let link = followable(link, &*self.clock)?;
            self.check_password(code, &link, visitor).await?;
            let Some(pool) = link.pool() else {
                // The link leads to its target again.
                let led = self.led(&link, visitor, Turn::Taken);
                return if link.options.is_limited {
                    self.granted(code, visitor, led).await
                } else {
                    self.counted(code, link, source, version, visitor, led)
                        .await
                };
            };
            if !self.led(&link, visitor, Turn::Seen).is_none() {
                return self
                    .follow_rules(code, link, source, version, visitor)
                    .await;
            }
            if link.options.is_limited {
                // No target is taken for a visitor who is past the limit.
                self.ask(code, &link, Wanted::Preview, None).await?;
            }
            let target = self.next_target(&link, pool, visitor).await?;
            tries += 1;
            let version = (tries < TRIES).then_some(version);
            let Some(receipt) = self.click(code, &link, version, visitor).await? else {
                continue;
            };
            let (current, source_now) = self.resolve(code, receipt.at(), visitor).await?;
            let Some(current) = current.filter(|current| current.click() == link.click()) else {
                // It is deleted, and perhaps another link has its code.
                continue;
            };
            if current.pool() == Some(pool) || current.followable(&*self.clock).is_err() {
                return Ok(Redirected::by_click(link, source, receipt, target.used()));
            }
            return self.to_next(current, source_now, receipt, visitor).await;
        }
    }

    /// Where a counted click leads: to the next target if the link has a pool now.
    pub(super) async fn to_next(
        &self,
        link: Arc<CachedLink>,
        source: Source,
        receipt: ClickReceipt,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        let led = match link.pool() {
            Some(pool) => self.next_target(&link, pool, visitor).await?.used(),
            None => Led::default(),
        };
        Ok(Redirected::by_click(link, source, receipt, led))
    }

    /// The next target, for a visitor who is to get one.
    async fn next_target(
        &self,
        link: &Arc<CachedLink>,
        pool: PoolId,
        visitor: &Visitor<'_>,
    ) -> Result<Taken, RedirectError> {
        let none = || RedirectError::of(NotFollowed::UsedUp, link);
        // A visitor without an agent may be a person's own program.
        let has_agent = visitor.agent.is_some_and(|agent| !agent.is_empty());
        if has_agent && self.classifier.agent_of(visitor).is_bot == Some(true) {
            return Err(none());
        }
        let is_empty = link.pool_empty().is_some_and(UsedUp::is_known);
        if is_empty && !self.pools.has_unused(pool) {
            return Err(none());
        }
        let Some(taken) = self.pools.next(pool).await? else {
            if let Some(empty) = link.pool_empty() {
                empty.note();
            }
            return Err(none());
        };
        if let (Some(location), Some(query)) =
            (taken.location(), link.options.forwarded(visitor.query))
        {
            location.check_room_for(query)?;
        }
        Ok(taken)
    }

    /// Counts a click, whatever changes if no `version` is given. `None`: links changed meanwhile, and it is not counted.
    async fn click(
        &self,
        code: &ShortCode,
        link: &CachedLink,
        version: Option<u64>,
        visitor: &Visitor<'_>,
    ) -> Result<Option<ClickReceipt>, RedirectError> {
        let click = link.click();
        let class = self.class_of(code, link, &Led::default(), visitor);
        let alias = link.alias().map(|alias| alias.id);
        if link.options.is_limited {
            let receipt = self.ask(code, link, Wanted::Click, class).await?;
            return Ok(match (receipt, alias) {
                (Some(_), Some(alias)) => {
                    Some(self.recorders.record_alias(alias, link.shard).await)
                }
                (receipt, _) => receipt,
            });
        }
        let recorders = &self.recorders;
        Ok(match version {
            Some(version) => recorders.record(click, alias, class, version).await.ok(),
            None => Some(recorders.record_unconditionally(click, alias, class).await),
        })
    }
}
