//! The order of an owner's links by their clicks, as they were at one moment.

use std::time::Duration;

use crate::domain::{LinkId, Timestamp};
use crate::store::{Position, WrittenClicks};

/// How long before the reading of an order links may have been made that it does not have: their transactions ended later, or
/// the clocks of two instances differ.
const MADE_MEANWHILE: Duration = Duration::from_secs(5);

/// Links of that time that are remembered.
const MAX_NEWEST: usize = 2_000;

/// The most newer links on a page; more links come with the next order.
const MAX_NEWER: usize = 1_000;

/// The links of an owner, by clicks that were written back.
#[derive(Debug)]
pub(super) struct Order {
    /// Positions by clicks, rising.
    positions: Vec<Position>,
    /// Links after this position by moments may be newer than this order.
    newer_after: Option<Position>,
    /// Links after that position that this order has, rising.
    newest: Vec<LinkId>,
    /// When the reading of the links began.
    pub(super) read_at: Timestamp,
    /// How long it took.
    pub(super) took: Duration,
}

impl Order {
    /// Of all links of an owner, in the order in which they were made.
    pub(super) fn of(links: &[WrittenClicks], read_at: Timestamp, took: Duration) -> Self {
        let since = read_at.before(MADE_MEANWHILE).micros();
        let older = links.partition_point(|link| link.made.key <= since);
        let older = older.max(links.len().saturating_sub(MAX_NEWEST));
        let mut newest: Vec<_> = links[older..].iter().map(|link| link.made.id).collect();
        newest.sort_unstable();
        let mut positions: Vec<_> = links.iter().map(by_clicks).collect();
        positions.sort_unstable_by_key(key);
        Self {
            positions,
            newer_after: older.checked_sub(1).map(|before| links[before].made),
            newest,
            read_at,
            took,
        }
    }

    /// Bytes that an order of so many links takes.
    pub(super) fn bytes(links: usize) -> usize {
        links * size_of::<Position>() + MAX_NEWEST * size_of::<LinkId>() + size_of::<Self>()
    }

    /// How many links it has.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Which links, by moments, have those that were made since among them: after a position, at most so many.
    pub(super) fn newer(&self) -> (Option<Position>, u32) {
        let limit = self.newest.len() + MAX_NEWER;
        (self.newer_after, u32::try_from(limit).unwrap_or(u32::MAX))
    }

    /// The positions of links that this order does not have.
    pub(super) fn without_known(&self, newer: &[WrittenClicks]) -> Vec<Position> {
        let is_new = |link: &&WrittenClicks| self.newest.binary_search(&link.made.id).is_err();
        newer.iter().filter(is_new).map(by_clicks).collect()
    }

    /// The next `limit` positions just after `after`, including newer links.
    pub(super) fn next(
        &self,
        newer: &[Position],
        after: Option<Position>,
        is_falling: bool,
        limit: usize,
    ) -> Vec<Position> {
        let after = after.map(|after| key(&after));
        let comes = |position: &&Position| {
            after.is_none_or(|after| {
                if is_falling {
                    key(position) < after
                } else {
                    key(position) > after
                }
            })
        };
        let mut next: Vec<Position> = newer.iter().filter(comes).copied().collect();
        if is_falling {
            let end = after.map_or(self.positions.len(), |after| {
                self.positions
                    .partition_point(|position| key(position) < after)
            });
            next.extend(self.positions[..end].iter().rev().take(limit));
            next.sort_unstable_by_key(|position| std::cmp::Reverse(key(position)));
        } else {
            let begin = after.map_or(0, |after| {
                self.positions
                    .partition_point(|position| key(position) <= after)
            });
            next.extend(self.positions[begin..].iter().take(limit));
            next.sort_unstable_by_key(key);
        }
        next.truncate(limit);
        next
    }
}

fn by_clicks(link: &WrittenClicks) -> Position {
    Position {
        key: link.clicks,
        id: link.made.id,
    }
}

/// Links with as many clicks go by their number.
fn key(position: &Position) -> (i64, LinkId) {
    (position.key, position.id)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn link(number: usize, moment: i64, clicks: i64) -> WrittenClicks {
        let id = LinkId::parse(i64::try_from(number).unwrap()).unwrap();
        let made = Position { key: moment, id };
        WrittenClicks { made, clicks }
    }

    const SECOND: i64 = 1_000_000;

    /// Read at the 23rd second.
    fn order(links: &[WrittenClicks]) -> Order {
        let read_at = Timestamp::from_micros(23 * SECOND).unwrap();
        Order::of(links, read_at, Duration::ZERO)
    }

    proptest! {
        #[test]
        fn pages_of_an_order_have_each_link_once_in_its_place(
            clicks in vec(0..9_i64, 0..60), newer in vec(0..9_i64, 0..9), limit in 1..9_usize, is_falling: bool,
        ) {
            let links: Vec<_> = clicks.iter().enumerate().map(|(n, clicks)| link(n, 22 * SECOND, *clicks)).collect();
            let newer: Vec<_> = newer.iter().enumerate().map(|(n, clicks)| link(100 + n, 23 * SECOND, *clicks)).collect();
            let order = order(&links);
            let known: Vec<_> = links.iter().chain(&newer).copied().collect();
            let newer = order.without_known(&known);
            let mut expected: Vec<_> = known.iter().map(by_clicks).collect();
            expected.sort_by_key(key);
            if is_falling {
                expected.reverse();
            }
            let (mut walked, mut after) = (Vec::new(), None);
            loop {
                let page = order.next(&newer, after, is_falling, limit);
                walked.extend_from_slice(&page);
                after = page.last().copied();
                if page.len() < limit {
                    break;
                }
            }
            prop_assert_eq!(walked, expected);
        }
    }

    #[test]
    fn links_that_were_made_since_are_known_by_their_numbers() {
        let links = [
            link(1, SECOND, 5),
            link(2, 20 * SECOND, 0),
            link(4, 21 * SECOND, 0),
        ];
        let order = order(&links);
        let (after, limit) = order.newer();
        assert_eq!(after, Some(links[0].made));
        assert_eq!(limit, 2 + 1_000);
        let late = link(3, 20 * SECOND, 7);
        let read = [links[1], late, links[2], link(5, 22 * SECOND, 1)];
        let newer: Vec<_> = order.without_known(&read).iter().map(key).collect();
        let id = |number| LinkId::parse(number).unwrap();
        assert_eq!(newer, [(7, id(3)), (1, id(5))]);
    }

    #[test]
    fn of_many_links_that_were_made_at_once_the_last_are_remembered() {
        let links: Vec<_> = (0..5_000).map(|n| link(n, 22 * SECOND, 0)).collect();
        let order = order(&links);
        assert_eq!(order.newer(), (Some(links[2_999].made), 3_000));
        assert!(order.without_known(&links[3_000..]).is_empty());
    }
}
