//! Lists by clicks of an owner of many links: an index of clicks would make every write-back dearer, so the process keeps the
//! order of such an owner's links for a while. A page is a slice of it and a look-up of its links, whose numbers are exact.

mod kept;
mod order;
mod orders;

use std::collections::HashSet;

use super::{LinkError, LinkService};
use crate::domain::Principal;
use crate::store::{FoundLinks, LinkSearch, Position, ScannedLinks, Steps, ToCount};

use order::Order;
pub use orders::ClickOrders;

/// Links that are looked at for one page: one by one they cost more than those in the order in which they were made.
const MAX_LOOKED_UP: u32 = 2_500;

/// Positions by clicks, in the order of a list.
enum Sorted<'a> {
    /// Links of an order that is kept, and newer links.
    Kept(&'a Order, Vec<Position>),
    /// Links that the database has just sorted, with the wanted tag and status, and whether there may be more.
    Read(std::vec::IntoIter<Position>, Option<Position>),
}

impl LinkService {
    /// A page by the clicks that are written back.
    pub(super) async fn by_clicks(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ToCount<FoundLinks>, LinkError> {
        let order = self.click_orders.of(owner, search.filter).await?;
        let mut sorted = match &order {
            Some(order) => {
                let (since, count) = order.newer();
                let newer = self.store.clicks_of_links(owner.user, since, count).await?;
                Sorted::Kept(order, order.without_known(&newer))
            }
            None => self.sorted(owner, search).await?,
        };
        let is_matched = match sorted {
            Sorted::Kept(..) => search.filter.is_open(),
            Sorted::Read(..) => search.filter.text.is_none(),
        };
        let mut steps = Steps::new(search.limit, search.after).at_most(MAX_LOOKED_UP);
        while let Some((after, size)) = steps.next_step() {
            let (part, next) = sorted.next(after, search.order.is_falling(), size as usize);
            let found = if is_matched || part.is_empty() {
                ScannedLinks {
                    matches: part,
                    ..ScannedLinks::default()
                }
            } else {
                self.matches_among(owner, &part, search).await?
            };
            steps.add(ScannedLinks { next, ..found });
        }
        let (matches, next) = steps.found();
        let ids: Vec<_> = matches.iter().map(|position| position.id).collect();
        let links = self
            .store
            .links_among(owner, &ids, search.filter, search.now)
            .await?;
        Ok(ToCount {
            value: FoundLinks {
                links: links.value,
                next,
            },
            has_parked: links.has_parked,
        })
    }

    /// The positions of the links of an owner of few.
    async fn sorted(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<Sorted<'static>, LinkError> {
        // One link more than requested shows whether there is another page.
        let limit = match search.filter.text {
            Some(_) => MAX_LOOKED_UP,
            None => search.limit + 1,
        };
        let wanted = LinkSearch { limit, ..*search };
        let read = self.store.links_by_clicks(owner, &wanted).await?;
        Ok(Sorted::Read(read.matches.into_iter(), read.next))
    }

    /// The positions whose links match.
    async fn matches_among(
        &self,
        owner: Principal,
        positions: &[Position],
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, LinkError> {
        let ids: Vec<_> = positions.iter().map(|position| position.id).collect();
        let found = self
            .store
            .scan_links_among(owner, &ids, search.filter, search.now);
        let found = found.await?;
        let matches: HashSet<_> = found.matches.iter().map(|link| link.id).collect();
        let is_match = |position: &&Position| matches.contains(&position.id);
        Ok(ScannedLinks {
            matches: positions.iter().filter(is_match).copied().collect(),
            ..found
        })
    }
}

impl Sorted<'_> {
    /// The next positions, and whether there may be more.
    fn next(
        &mut self,
        after: Option<Position>,
        is_falling: bool,
        size: usize,
    ) -> (Vec<Position>, Option<Position>) {
        match self {
            Self::Kept(order, newer) => {
                let part = order.next(newer, after, is_falling, size);
                let next = part.last().copied().filter(|_| part.len() == size);
                (part, next)
            }
            Self::Read(rest, end) => {
                let part: Vec<_> = rest.by_ref().take(size).collect();
                let next = if rest.as_slice().is_empty() {
                    *end
                } else {
                    part.last().copied()
                };
                (part, next)
            }
        }
    }
}
