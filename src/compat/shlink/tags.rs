//! Tags: listed with their totals, renamed, deleted.

use std::collections::BTreeSet;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::answer::{answered, done, pagination, visits};
use super::asked::{body, caller, number, query};
use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::parameters::Parameters;
use crate::compat::services::Services;
use crate::domain::SearchTag;
use crate::http::ApiError;
use crate::links::TagListing;
use crate::store::TagTotals;

/// Tags of an account that are looked at.
const MAX_TAGS: u32 = 10_000;

pub(super) async fn list(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let listed = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        let query = query(&services, uri.query())?;
        let (page, pagination) = page(all(&services, &caller, &query).await?, &query)?;
        let data: Vec<_> = page.iter().map(|totals| totals.tag.as_str()).collect();
        Ok(json!({"tags": {"data": data, "pagination": pagination}}))
    };
    answered(listed.await)
}

pub(super) async fn stats(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let listed = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        let query = query(&services, uri.query())?;
        let (page, pagination) = page(all(&services, &caller, &query).await?, &query)?;
        let told = page.iter().map(|totals| {
            json!({
                "tag": totals.tag,
                "shortUrlsCount": totals.links,
                "visitsSummary": visits(totals.clicks),
            })
        });
        let data: Vec<_> = told.collect();
        Ok(json!({"tags": {"data": data, "pagination": pagination}}))
    };
    answered(listed.await)
}

/// The tags that are asked for, in their order.
async fn all(
    services: &Services,
    caller: &Caller,
    query: &Parameters,
) -> Result<Vec<TagTotals>, Problem> {
    let listing = TagListing {
        after: None,
        domain: None,
        limit: MAX_TAGS,
    };
    let listed = services.links.tags(caller.principal, &listing).await;
    let mut all = listed.map_err(ApiError::from)?.value.tags;
    if let Some(term) = query.filled("searchTerm") {
        let term = term.to_lowercase();
        all.retain(|totals| totals.tag.to_lowercase().contains(&term));
    }
    let order = query.filled("orderBy").unwrap_or("tag-ASC");
    let (field, direction) = order.split_once('-').unwrap_or((order, "ASC"));
    match field {
        "tag" => all.sort_by(|one, other| one.tag.cmp(&other.tag)),
        "shortUrlsCount" => all.sort_by_key(|totals| totals.links),
        "visits" | "visitsCount" | "nonBotVisits" => all.sort_by_key(|totals| totals.clicks),
        _ => {
            let detail =
                "orderBy: must be tag, shortUrlsCount, visits or nonBotVisits, with -ASC or -DESC";
            return Err(Problem::invalid("orderBy", detail));
        }
    }
    if direction.eq_ignore_ascii_case("DESC") {
        all.reverse();
    }
    Ok(all)
}

/// The wanted page of a list; all of it unless a number of items is given.
fn page(all: Vec<TagTotals>, query: &Parameters) -> Result<(Vec<TagTotals>, Value), Problem> {
    let page = number(query, "page", 1)?;
    let total = all.len() as u64;
    let size = match query.filled("itemsPerPage") {
        Some("-1") | None => total.max(1),
        Some(_) => number(query, "itemsPerPage", 1)?,
    };
    let skip = usize::try_from((page - 1).saturating_mul(size)).unwrap_or(usize::MAX);
    let take = usize::try_from(size).unwrap_or(usize::MAX);
    let shown: Vec<_> = all.into_iter().skip(skip).take(take).collect();
    let pagination = pagination(page, size, shown.len(), total);
    Ok((shown, pagination))
}

pub(super) async fn rename(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let renamed = async {
        let caller = caller(&services, &asking, &headers, Access::Change).await?;
        let body = body(request).await?;
        let name = |field: &'static str| {
            let name = body.get(field).and_then(Value::as_str).map(str::trim);
            let name = name.filter(|name| !name.is_empty());
            name.ok_or_else(|| Problem::invalid(field, format!("{field}: is required")))
        };
        let (old, new) = (name("oldName")?, name("newName")?);
        let (old_tag, new_tag) = (tag("oldName", old)?, tag("newName", new)?);
        if old == new {
            return Ok(());
        }
        let links = &services.links;
        let (owner, address) = (caller.principal, &caller.address);
        let has_tag = async |tag| {
            links
                .store
                .has_tag(owner, tag)
                .await
                .map_err(ApiError::from)
        };
        if !has_tag(&old_tag).await? {
            return Err(Problem::no_tag(old));
        }
        if has_tag(&new_tag).await? {
            return Err(Problem::tag_conflict(old, new));
        }
        let renamed = links.rename_tag(owner, &old_tag, &new_tag, address).await;
        renamed.map_err(ApiError::from)?;
        Ok(())
    };
    done(renamed.await)
}

pub(super) async fn delete(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let deleted = async {
        let caller = caller(&services, &asking, &headers, Access::Change).await?;
        let query = query(&services, uri.query())?;
        let wanted: BTreeSet<_> = query.all("tags").collect();
        for name in wanted {
            let tag = tag("tags", name)?;
            let links = &services.links;
            let deleted = links.delete_tag(caller.principal, &tag, &caller.address);
            deleted.await.map_err(ApiError::from)?;
        }
        Ok(())
    };
    done(deleted.await)
}

fn tag(field: &str, name: &str) -> Result<SearchTag, Problem> {
    let tag = SearchTag::parse(name);
    tag.map_err(|why| Problem::invalid(field, why.to_string()))
}
