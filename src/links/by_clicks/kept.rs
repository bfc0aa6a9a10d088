//! The orders that are kept, in a bounded space: those that were used last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::order::Order;
use crate::domain::UserId;

/// Memory of all orders; the order of one owner takes a quarter of it at most.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// An order that was not asked for is dropped.
const IDLE: Duration = Duration::from_mins(10);

#[derive(Default)]
pub(super) struct KeptOrders(HashMap<UserId, Kept>);

struct Kept {
    /// `None`: the owner has too many links.
    order: Option<Arc<Order>>,
    used: Instant,
}

impl Kept {
    fn bytes(&self) -> usize {
        Order::bytes(self.order.as_ref().map_or(0, |order| order.len()))
    }
}

impl KeptOrders {
    pub(super) fn get(&mut self, owner: UserId, now: Instant) -> Option<Option<Arc<Order>>> {
        self.0
            .retain(|_, kept| now.saturating_duration_since(kept.used) < IDLE);
        let kept = self.0.get_mut(&owner)?;
        kept.used = now;
        Some(kept.order.clone())
    }

    pub(super) fn insert(&mut self, owner: UserId, order: Option<Arc<Order>>, now: Instant) {
        self.0.insert(owner, Kept { order, used: now });
        while self.0.values().map(Kept::bytes).sum::<usize>() > MAX_BYTES {
            let oldest = self.0.iter().min_by_key(|(_, kept)| kept.used);
            let Some((&oldest, _)) = oldest else { break };
            self.0.remove(&oldest);
        }
    }
}
