//! Tags: listed with their totals, renamed, deleted.

use std::collections::BTreeSet;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::answer::{answered, done, pagination, visits};
use super::asked::{body, caller, number, query};
use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::parameters::Parameters;
use crate::compat::services::Services;
use crate::domain::{DomainId, LinkEdit, LinkFilter, SearchTag, TagEdit, Tags};
use crate::http::ApiError;
use crate::links::{Expected, LinkError, Listing};
use crate::store::TagTotals;

/// Links that are changed in one call.
const MAX_CHANGED: u64 = 1_000;
const AT_ONCE: u32 = 100;

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
    let mut all = services
        .links
        .tag_totals(caller.principal)
        .await
        .map_err(ApiError::from)?;
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
        let old_tag = tag("oldName", old)?;
        tag("newName", new)?;
        if old == new {
            return Ok(());
        }
        let known = services
            .links
            .tag_totals(caller.principal)
            .await
            .map_err(ApiError::from)?;
        let is_known = |name: &str| known.iter().any(|totals| totals.tag == name);
        if !is_known(old) {
            return Err(Problem::no_tag(old));
        }
        if is_known(new) {
            return Err(Problem::tag_conflict(old, new));
        }
        let renamed = |known: &str| {
            Some(if known == old {
                new.to_owned()
            } else {
                known.to_owned()
            })
        };
        change(&services, &caller, &old_tag, renamed).await
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
            let without = |known: &str| (known != tag.as_str()).then(|| known.to_owned());
            change(&services, &caller, &tag, without).await?;
        }
        Ok(())
    };
    done(deleted.await)
}

fn tag(field: &str, name: &str) -> Result<SearchTag, Problem> {
    let tag = SearchTag::parse(name);
    tag.map_err(|why| Problem::invalid(field, why.to_string()))
}

/// Gives each tag of the links with a tag another name, or none.
async fn change(
    services: &Services,
    caller: &Caller,
    tag: &SearchTag,
    named: impl Fn(&str) -> Option<String>,
) -> Result<(), Problem> {
    let links = &services.links;
    let listing = Listing {
        filter: LinkFilter {
            tag: Some(tag.clone()),
            domain: Some(DomainId::OWN),
            ..LinkFilter::default()
        },
        ..Listing::default()
    };
    let part = links.numbered(caller.principal, &listing, 0, AT_ONCE).await;
    if part.map_err(ApiError::from)?.total > MAX_CHANGED {
        let detail = "More than 1000 links have this tag; change them on the page of your links, some at a time";
        return Err(Problem::plain(StatusCode::NOT_IMPLEMENTED, detail));
    }
    let mut after = None;
    loop {
        let page = links.page(caller.principal, &listing, after, AT_ONCE).await;
        let page = page.map_err(ApiError::from)?;
        for listed in page.links() {
            let tags = listed.link.properties.tags.as_slice().iter();
            let tags: Vec<_> = tags.filter_map(|known| named(known)).collect();
            let tags = Tags::parse(tags.iter().map(String::as_str));
            let tags = tags.map_err(|why| Problem::of_sentence(&why.to_string()))?;
            let edit = LinkEdit {
                tags: Some(TagEdit::Set(tags)),
                ..LinkEdit::default()
            };
            let code = &listed.link.code;
            let edited = links.edit(
                caller.principal,
                code,
                &edit,
                &Expected::Any,
                &caller.address,
            );
            match edited.await {
                // A link that administrators removed is not changed.
                Ok(_) | Err(LinkError::Removed) => {}
                Err(error) => return Err(ApiError::from(error).into()),
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
