//! Lists of links, by page.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::answer::{answered, pagination, short_url};
use super::asked::{caller, domain, number, query};
use super::filter::{Filter, Order};
use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::services::Services;
use crate::domain::{LinkFilter, LinkId, LinkOrder, SearchTag, SearchText};
use crate::http::ApiError;
use crate::links::{Listing, MAX_NUMBERED_BY_CLICKS};

/// Links of a page, unless another number is asked for, and at most.
const SIZE: u64 = 10;
const MAX_SIZE: u64 = 1_000;

/// Links that are looked through where the database does not know the filter or the order.
const LOOKED_THROUGH: u32 = 10_000;
const AT_ONCE: u32 = 1_000;

pub(super) async fn list(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let listed = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        listed(&services, &caller, uri.query()).await
    };
    answered(listed.await)
}

async fn listed(services: &Services, caller: &Caller, raw: Option<&str>) -> Result<Value, Problem> {
    let query = query(services, raw)?;
    let page = number(&query, "page", 1)?;
    let size = match query.filled("itemsPerPage") {
        Some("-1") => MAX_SIZE,
        _ => number(&query, "itemsPerPage", SIZE)?.min(MAX_SIZE),
    };
    let skip = (page - 1).saturating_mul(size);
    let filter = Filter::parse(&query)?;
    let order = Order::parse(query.filled("orderBy"))?;
    let sentence = |why: String| Problem::of_sentence(&why);
    let text = query
        .filled("searchTerm")
        .map(SearchText::parse)
        .transpose();
    let tag = filter.one_tag().map(SearchTag::parse).transpose();
    let known = match order {
        Order::Known(order) => order,
        Order::By(..) => LinkOrder::Newest,
    };
    let listing = Listing {
        filter: LinkFilter {
            text: text.map_err(|why| sentence(why.to_string()))?.flatten(),
            tag: tag.map_err(|why| sentence(why.to_string()))?,
            domain: domain(services, &query)?,
            status: None,
        },
        order: known,
    };
    let (data, total) = if filter.is_plain() && order == Order::Known(known) {
        if known.is_by_clicks() && skip > MAX_NUMBERED_BY_CLICKS {
            let detail = "page: the first 10000 links are listed by visits; choose another order";
            return Err(Problem::invalid("page", detail));
        }
        let limit = u32::try_from(size).unwrap_or(AT_ONCE);
        let part = services
            .links
            .numbered(caller.principal, &listing, skip, limit)
            .await;
        let part = part.map_err(ApiError::from)?;
        let found = part.page.links();
        let found = found.map(|found| short_url(services, found.link, found.clicks));
        (found.collect::<Vec<_>>(), part.total)
    } else {
        looked_through(services, caller, &listing, (&filter, order), (skip, size)).await?
    };
    let pagination = pagination(page, size, data.len(), total);
    Ok(json!({"shortUrls": {"data": data, "pagination": pagination}}))
}

/// A page of the links that a filter lets through, in an order that the database does not know.
async fn looked_through(
    services: &Services,
    caller: &Caller,
    listing: &Listing,
    (filter, order): (&Filter, Order),
    (skip, size): (u64, u64),
) -> Result<(Vec<Value>, u64), Problem> {
    let (links, now) = (&services.links, services.links.clock.now());
    // Of each link only what it is sorted by: whole links may be large.
    let mut found: Vec<(String, LinkId)> = Vec::new();
    let (mut after, mut read) = (None, 0);
    loop {
        let page = links.page(caller.principal, listing, after, AT_ONCE).await;
        let page = page.map_err(ApiError::from)?;
        let listed = page
            .links()
            .filter(|listed| filter.lets_through(listed, now));
        found.extend(listed.map(|listed| (order.key(listed.link), listed.link.id)));
        after = page.next;
        read += AT_ONCE;
        if after.is_none() {
            break;
        }
        if read >= LOOKED_THROUGH {
            let detail = "tags: this filter or order looks through 10000 links at most; ask for one tag or a searchTerm with fewer";
            return Err(Problem::invalid("tags", detail));
        }
    }
    order.sort(&mut found);
    let total = found.len() as u64;
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let shown = found.iter().skip(skip).take(size).map(|(_, id)| *id);
    let shown: Vec<_> = shown.collect();
    let page = links.these(caller.principal, &listing.filter, &shown).await;
    let page = page.map_err(ApiError::from)?;
    let shown = page
        .links()
        .map(|found| short_url(services, found.link, found.clicks));
    Ok((shown.collect(), total))
}
