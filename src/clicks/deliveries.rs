//! The deliveries of one recorder: one for every shard of Redis.

use futures_util::future::{join_all, select_all};

use super::Delivery;
use crate::domain::{Click, LinkId, Shard};

/// Splits batches by shard, and delivers the parts at the same time. A part has a number and a recorder ID of its shard's
/// own.
pub struct Deliveries(Vec<Delivery>);

/// Shards that must acknowledge although the batch may hold no click for them, as bits.
#[derive(Clone, Copy, Default)]
pub(super) struct Barriers(u32);

impl Barriers {
    pub(super) fn add(&mut self, shard: Shard) {
        self.0 |= 1 << shard.index();
    }

    fn has(self, index: usize) -> bool {
        self.0 & (1 << index) != 0
    }
}

impl Deliveries {
    /// One delivery per shard, in their order.
    #[must_use]
    pub fn new(deliveries: Vec<Delivery>) -> Self {
        Self(deliveries)
    }

    /// Delivers clicks, one entry per click, within the deadlines of the sinks.
    pub(super) async fn deliver(&mut self, clicks: Vec<Click>, barriers: Barriers) {
        if let [only] = self.0.as_mut_slice() {
            return only.deliver(links(clicks)).await;
        }
        let mut parts = vec![Vec::new(); self.0.len()];
        for click in clicks {
            parts[click.shard().index()].push(click.link());
        }
        let parts = self.0.iter_mut().zip(parts).enumerate();
        let concerned = parts.filter(|(index, (_, part))| !part.is_empty() || barriers.has(*index));
        join_all(concerned.map(|(_, (delivery, part))| delivery.deliver(part))).await;
    }

    /// Whether anything is in doubt or in memory.
    pub(super) fn needs_redelivery(&self) -> bool {
        self.0.iter().any(Delivery::needs_redelivery)
    }

    /// Whether clicks would be lost with this process.
    pub(super) fn is_at_risk(&self) -> bool {
        self.0.iter().any(Delivery::is_at_risk)
    }

    /// Makes one attempt to deliver what is in doubt or in memory, if there is anything. May be dropped at any time: the
    /// next call resumes the attempt.
    pub(super) async fn redeliver(&mut self) {
        let pending = self.0.iter_mut();
        let attempts: Vec<_> = pending
            .filter(|delivery| delivery.needs_redelivery())
            .map(|delivery| Box::pin(delivery.redeliver()))
            .collect();
        if !attempts.is_empty() {
            select_all(attempts).await;
        }
    }
}

fn links(clicks: Vec<Click>) -> Vec<LinkId> {
    clicks.into_iter().map(Click::link).collect()
}
