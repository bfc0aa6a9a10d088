//! The redirect path of links without a limit: a click is counted only if its link has not changed since the look-up.

use std::sync::Arc;
use std::time::Instant;

use super::rules::Led;
use super::{Redirect, RedirectError, Redirected, followable};
use crate::analytics::Visitor;
use crate::cache::{CachedLink, Source};
use crate::clicks::{ClickReceipt, Overtaken};
use crate::domain::{ClickClass, Dimension, ShortCode};

/// How often a click is sent anew because links change, before it is counted whatever changes.
const TRIES: usize = 16;

impl Redirect {
    /// What is kept of a visitor, the rule and the alias included; of a visitor who opts out nothing more is kept.
    pub(super) fn class_of(
        &self,
        code: &ShortCode,
        link: &CachedLink,
        led: &Led,
        visitor: &Visitor<'_>,
    ) -> Option<Arc<ClickClass>> {
        let class = self.classifier.class_of(visitor)?;
        if visitor.opts_out {
            return Some(class);
        }
        let class = led.class(class);
        Some(match link.alias() {
            Some(_) => Arc::new(class.with(Dimension::Code, Some(code.as_str()))),
            None => class,
        })
    }

    /// Counts the click of a link that was resolved at this version of the cache.
    pub(super) async fn counted(
        &self,
        code: &ShortCode,
        link: Arc<CachedLink>,
        source: Source,
        version: u64,
        visitor: &Visitor<'_>,
        led: Led,
    ) -> Result<Redirected, RedirectError> {
        let class = self.class_of(code, &link, &led, visitor);
        let alias = link.alias().map(|alias| alias.id);
        let recording = self.recorders.record(link.click(), alias, class, version);
        match recording.await {
            Ok(receipt) if self.cache.version() == version => {
                Ok(Redirected::by_click(link, source, receipt, led))
            }
            Ok(receipt) => {
                Box::pin(self.confirmed(code, link, source, receipt, visitor, led)).await
            }
            Err(Overtaken { at }) => Box::pin(self.counted_again(code, at, visitor, led)).await,
        }
    }

    /// Counts a click that was not counted because some link changed, perhaps its own.
    async fn counted_again(
        &self,
        code: &ShortCode,
        mut now: Instant,
        visitor: &Visitor<'_>,
        mut led: Led,
    ) -> Result<Redirected, RedirectError> {
        let mut tries = 1;
        loop {
            let version = self.cache.version();
            let (link, source) = self.resolve(code, now, visitor).await?;
            let link = followable(link, &*self.clock)?;
            self.check_password(code, &link, visitor).await?;
            led = self.led_still(led, &link, visitor);
            if led.is_none() && link.pool().is_some() {
                return Box::pin(self.pooled(code, visitor)).await;
            }
            if link.options.is_limited {
                return self.granted(code, visitor, led).await;
            }
            tries += 1;
            let class = self.class_of(code, &link, &led, visitor);
            let click = link.click();
            let (recorders, alias) = (&self.recorders, link.alias().map(|alias| alias.id));
            let recorded = if tries < TRIES {
                recorders.record(click, alias, class, version).await
            } else {
                Ok(recorders.record_unconditionally(click, alias, class).await)
            };
            match recorded {
                Ok(receipt) => {
                    return self
                        .confirmed(code, link, source, receipt, visitor, led)
                        .await;
                }
                Err(Overtaken { at }) => now = at,
            }
        }
    }

    /// Where a counted click leads if its link has changed since the click was sent.
    async fn confirmed(
        &self,
        code: &ShortCode,
        link: Arc<CachedLink>,
        source: Source,
        receipt: ClickReceipt,
        visitor: &Visitor<'_>,
        led: Led,
    ) -> Result<Redirected, RedirectError> {
        let click = link.click();
        let (now, source_now) = self.resolve(code, receipt.at(), visitor).await?;
        if let Some(now) = now.as_ref().filter(|now| now.options.is_limited) {
            if now.click() != click {
                return Box::pin(self.granted(code, visitor, led)).await;
            }
            Box::pin(self.admitted(now)).await?;
        }
        let has_ended = |now: &Arc<CachedLink>| {
            let is_closed = !now.is_open_with(visitor.unlocked);
            now.click() == click && (is_closed || now.followable(&*self.clock).is_err())
        };
        if now.as_ref().is_some_and(has_ended) {
            // The click came before that: it is counted already, and the count stays.
            return Ok(Redirected::by_click(link, source, receipt, led));
        }
        let now = followable(now, &*self.clock)?;
        let led = self.led_still(led, &now, visitor);
        if click == now.click() {
            if led.is_none() && now.pool().is_some() {
                return Box::pin(self.to_next(now, source_now, receipt, visitor)).await;
            }
            return Ok(Redirected::by_click(now, source_now, receipt, led));
        }
        self.check_password(code, &now, visitor).await?;
        // The code now belongs to another link: the click is counted for that link, too.
        let class = self.class_of(code, &now, &led, visitor);
        let alias = now.alias().map(|alias| alias.id);
        let recorded = (self.recorders).record_unconditionally(now.click(), alias, class);
        let receipt = recorded.await;
        Ok(Redirected::by_click(now, source_now, receipt, led))
    }
}
