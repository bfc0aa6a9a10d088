//! The orders that are kept, in a bounded space: the least recently used make room.

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
pub(super) struct KeptOrders(HashMap<UserId, (Kept, Instant)>);

/// What is known of the links of an owner.
#[derive(Clone)]
pub(super) enum Kept {
    Order(Arc<Order>),
    /// There are too many for an order.
    TooMany,
}

impl Kept {
    fn bytes(&self) -> usize {
        match self {
            Self::Order(order) => Order::bytes(order.len()),
            Self::TooMany => Order::bytes(0),
        }
    }
}

impl KeptOrders {
    pub(super) fn get(&mut self, owner: UserId, now: Instant) -> Option<Kept> {
        self.0
            .retain(|_, (_, used)| now.saturating_duration_since(*used) < IDLE);
        let (kept, used) = self.0.get_mut(&owner)?;
        *used = now;
        Some(kept.clone())
    }

    pub(super) fn insert(&mut self, owner: UserId, kept: Kept, now: Instant) {
        self.0.insert(owner, (kept, now));
        while self.0.values().map(|(kept, _)| kept.bytes()).sum::<usize>() > MAX_BYTES {
            let oldest = self.0.iter().min_by_key(|(_, (_, used))| used);
            let Some((&oldest, _)) = oldest else { break };
            self.0.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn order() -> Kept {
        let read_at: Timestamp = "2027-01-31T18:00:00Z".parse().unwrap();
        Kept::Order(Arc::new(Order::of(&[], read_at, Duration::ZERO)))
    }

    #[test]
    fn an_order_is_kept_while_it_is_used() {
        let (mut kept, start) = (KeptOrders::default(), Instant::now());
        kept.insert(UserId(1), order(), start);
        kept.insert(UserId(2), Kept::TooMany, start);
        let before_idle = start + IDLE / 2;
        assert!(matches!(
            kept.get(UserId(1), before_idle),
            Some(Kept::Order(_))
        ));
        assert!(matches!(
            kept.get(UserId(1), start + IDLE),
            Some(Kept::Order(_))
        ));
        assert!(kept.get(UserId(2), start + IDLE).is_none());
    }

    #[test]
    fn the_order_that_was_not_used_for_longest_makes_room() {
        let (mut kept, start) = (KeptOrders::default(), Instant::now());
        let owners = i64::try_from(MAX_BYTES / order().bytes()).unwrap();
        for owner in 0..=owners {
            kept.insert(
                UserId(owner),
                Kept::TooMany,
                start + Duration::from_nanos(owner.unsigned_abs()),
            );
            kept.get(UserId(0), start + Duration::from_secs(1));
        }
        assert!(kept.get(UserId(0), start).is_some());
        assert!(kept.get(UserId(1), start).is_none());
        assert!(kept.get(UserId(2), start).is_some());
    }
}
