//! Lists by clicks of an owner of many links: an index of clicks would make every write-back dearer, so the process keeps the
//! order of such an owner's links for a while. A page is a slice of it and a look-up of its links, whose numbers are exact.

mod order;
mod orders;

use std::cmp::min;

use super::{LinkError, LinkService};
use crate::domain::{Link, Principal};
use crate::store::{FoundLinks, LinkSearch, Position, ToCount};

use order::Order;
pub use orders::ClickOrders;

/// Links that are looked up for one page: one by one they cost more than those in the order in which they were made.
pub(super) const MAX_LOOKED_UP: u32 = 2_500;

/// Links that are looked up at first where not all of them match.
const FIRST_LOOK: usize = 500;

impl LinkService {
    /// A page by the clicks that are written back.
    pub(super) async fn by_clicks(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ToCount<FoundLinks>, LinkError> {
        match self.click_orders.of(owner, search.filter).await? {
            Some(order) => self.in_order(owner, &order, search).await,
            None => Ok(self.links.search_links(owner, search).await?),
        }
    }

    async fn in_order(
        &self,
        owner: Principal,
        order: &Order,
        search: &LinkSearch<'_>,
    ) -> Result<ToCount<FoundLinks>, LinkError> {
        let (since, count) = order.newer();
        let newer = self.links.clicks_of_links(owner.user, since, count).await?;
        let newer = order.without_known(&newer);
        let (limit, max_looked_up) = (search.limit as usize, MAX_LOOKED_UP as usize);
        let is_falling = search.order.is_falling();
        // One more than asked for shows whether there is another page.
        let mut size = if search.filter.is_open() {
            limit + 1
        } else {
            (limit + 1).max(FIRST_LOOK)
        };
        let mut looked_at: Vec<Position> = Vec::new();
        let mut found: Vec<Link> = Vec::new();
        let mut has_parked = false;
        let next = loop {
            let after = looked_at.last().copied().or(search.after);
            let part = order.next(&newer, after, is_falling, size);
            let ids: Vec<_> = part.iter().map(|position| position.id).collect();
            let is_last = part.len() < size;
            looked_at.extend(part);
            let links = self
                .links
                .links_among(owner, &ids, search.filter, search.now);
            let links = links.await?;
            has_parked |= links.has_parked;
            found.extend(links.value);
            if found.len() > limit {
                found.truncate(limit);
                let end = found.last().map(|link| link.id);
                break looked_at.iter().find(|position| Some(position.id) == end);
            }
            if is_last {
                break None;
            }
            if looked_at.len() >= max_looked_up {
                break looked_at.last();
            }
            size = min(4 * size, max_looked_up - looked_at.len());
        };
        Ok(ToCount {
            value: FoundLinks {
                next: next.copied(),
                links: found,
            },
            has_parked,
        })
    }
}
