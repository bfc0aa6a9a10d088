//! Reports of links by visitors.

use ipnet::Ipv6Net;

use super::{LinkError, LinkService};
use crate::domain::{Reason, ShortCode};
use crate::limits::Action;

impl LinkService {
    /// Notes the report of a link by a client at an address, of which a keyed hash is kept. Too many reports make room for it.
    /// `false`: no link has the code.
    ///
    /// # Errors
    /// [`LinkError::TooMany`], [`LinkError::Store`].
    pub async fn report(
        &self,
        code: &ShortCode,
        reason: &Reason,
        address: &str,
    ) -> Result<bool, LinkError> {
        self.limiter.count(Action::Report, address).await?;
        self.misses.check(address)?;
        self.room.check()?;
        let reporter = self.limiter.hasher().hash("reporter", &[&network(address)]);
        let reporter = format!("{reporter:016x}");
        let now = self.clock.now();
        let is_known = self.store.report(code, reason, &reporter, now).await?;
        if !is_known {
            self.misses.count(address);
        } else if let Some(letter) = self.report_letter.get() {
            letter(code, reason);
        }
        Ok(is_known)
    }
}

/// A client, as the reports of a reporter are counted: a subscriber of IPv6 has up to a network of 48 bits.
fn network(address: &str) -> String {
    let whole = |own: Ipv6Net| Ipv6Net::new(own.addr(), 48).map(|site| site.trunc().to_string());
    let site = address.parse().ok().and_then(|own| whole(own).ok());
    site.unwrap_or_else(|| address.to_owned())
}
