//! The deliveries of one recorder: one for every shard of Redis.

use futures_util::future::{join_all, select_all};

use super::Delivery;
use crate::domain::{Click, LinkId, Shard};

/// Delivers batches; each shard's part with a number and a recorder's id of that shard's own, all at once.
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
    /// Of each shard, in their order.
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

    /// Whether anything is in doubt or held in memory.
    pub(super) fn needs_repair(&self) -> bool {
        self.0.iter().any(Delivery::needs_repair)
    }

    /// Whether anything would be lost with this process.
    pub(super) fn is_at_risk(&self) -> bool {
        self.0.iter().any(Delivery::is_at_risk)
    }

    /// Does one step towards delivering what is in doubt or held in memory, if anything is. May be dropped
    /// at any time: the step goes on at the next call.
    pub(super) async fn repaired(&mut self) {
        let wanting = self.0.iter_mut().filter(|delivery| delivery.needs_repair());
        let steps: Vec<_> = wanting
            .map(|delivery| Box::pin(delivery.repaired()))
            .collect();
        if !steps.is_empty() {
            select_all(steps).await;
        }
    }
}

fn links(clicks: Vec<Click>) -> Vec<LinkId> {
    clicks.into_iter().map(Click::link).collect()
}
