//! The redirect path of links without a limit: the click is counted while the link is known to be as it was looked up.

use std::sync::Arc;
use std::time::Instant;

use super::{AddressOf, Redirect, RedirectError, Redirected, followable};
use crate::cache::{CachedLink, Source};
use crate::clicks::{ClickReceipt, Overtaken};
use crate::domain::{Click, ShortCode};

/// How often a click is sent anew because links change, before it is counted whatever changes.
const TRIES: usize = 16;

impl Redirect {
    /// Counts the click of a link that was resolved at this version of the cache.
    pub(super) async fn counted(
        &self,
        code: &ShortCode,
        link: Arc<CachedLink>,
        source: Source,
        version: u64,
        client: AddressOf<'_>,
    ) -> Result<Redirected, RedirectError> {
        match self.recorders.record(link.click(), version).await {
            Ok(receipt) if self.cache.version() == version => {
                Ok(Redirected::by_click(link, source, receipt))
            }
            Ok(receipt) => Box::pin(self.confirmed(code, link, source, receipt, client)).await,
            Err(Overtaken { at }) => Box::pin(self.counted_again(code, at, client)).await,
        }
    }

    /// Counts a click that was not counted because some link changed, perhaps its own.
    async fn counted_again(
        &self,
        code: &ShortCode,
        mut now: Instant,
        client: AddressOf<'_>,
    ) -> Result<Redirected, RedirectError> {
        let mut tries = 1;
        loop {
            let version = self.cache.version();
            let (link, source) = self.resolve(code, now, client).await?;
            let link = followable(link, &*self.clock)?;
            if link.is_limited {
                return self.granted(code, client).await;
            }
            tries += 1;
            let recorded = if tries < TRIES {
                self.recorders.record(link.click(), version).await
            } else {
                Ok(self.recorders.record_unconditionally(link.click()).await)
            };
            match recorded {
                Ok(receipt) => return self.confirmed(code, link, source, receipt, client).await,
                Err(Overtaken { at }) => now = at,
            }
        }
    }

    /// Where a click leads that is counted, if its link has changed since the click was sent.
    async fn confirmed(
        &self,
        code: &ShortCode,
        link: Arc<CachedLink>,
        source: Source,
        receipt: ClickReceipt,
        client: AddressOf<'_>,
    ) -> Result<Redirected, RedirectError> {
        let click = link.click();
        let (now, source_now) = self.resolve(code, receipt.at(), client).await?;
        if let Some(now) = now.as_ref().filter(|now| now.is_limited) {
            if now.click() != click {
                return Box::pin(self.granted(code, client)).await;
            }
            Box::pin(self.admitted(click.link())).await?;
        }
        let has_ended =
            |now: &Arc<CachedLink>| now.click() == click && now.followable(&*self.clock).is_err();
        if now.as_ref().is_some_and(has_ended) {
            // The click came before that: it is counted already, and the count stays.
            return Ok(Redirected::by_click(link, source, receipt));
        }
        let now = followable(now, &*self.clock)?;
        let receipt = self.recounted(receipt, click, now.click()).await;
        Ok(Redirected::by_click(now, source_now, receipt))
    }

    /// Where the code is another link's meanwhile, the click is counted for that link, too.
    async fn recounted(&self, receipt: ClickReceipt, counted: Click, now: Click) -> ClickReceipt {
        if counted == now {
            return receipt;
        }
        self.recorders.record_unconditionally(now).await
    }
}
