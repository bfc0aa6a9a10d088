//! Links: made, listed, changed, deleted.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::answer::{Refusal, caller, link};
use super::fields::{NewLink, body, edit as edit_of, new_link, query as parameters};
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::parameters::Parameters;
use crate::compat::said::said;
use crate::compat::services::Services;
use crate::domain::{LinkFilter, SearchText, ShortCode};
use crate::http::paths::parse_placed_code;
use crate::http::{ApiError, Json};
use crate::links::{Expected, LinkError, Listing};

/// Links of a page, unless another number is asked for, and at most.
const LIMIT: u32 = 10;
const MAX_LIMIT: u32 = 50;

pub(super) fn answered(status: StatusCode, answer: Result<Value, Refusal>) -> Response {
    match answer {
        Ok(body) => said((status, Json(body)).into_response()),
        Err(refusal) => refusal.response(),
    }
}

/// The code in the place of an id.
pub(super) fn code_of(id: &str) -> Result<ShortCode, Refusal> {
    parse_placed_code(id).ok_or_else(not_found)
}

pub(super) fn not_found() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "Link was not found.")
}

pub(super) async fn list(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let answer = listed(&services, &asking, &headers, uri.query()).await;
    answered(StatusCode::OK, answer)
}

async fn listed(
    services: &Services,
    asking: &Asking,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<Value, Refusal> {
    let caller = caller(services, asking, headers, Access::Read).await?;
    let query = parameters(query)?;
    let limit = number(&query, "limit")?.filter(|limit| *limit > 0);
    let limit = limit.unwrap_or(LIMIT.into()).min(MAX_LIMIT.into());
    let skip = number(&query, "skip")?.unwrap_or_default();
    let text = query.filled("search").map(SearchText::parse).transpose();
    let text = text.map_err(|_| Refusal::invalid("search query is not valid."))?;
    let listing = Listing {
        filter: LinkFilter {
            text: text.flatten(),
            ..LinkFilter::default()
        },
        ..Listing::default()
    };
    let size = u32::try_from(limit).unwrap_or(MAX_LIMIT);
    let part = services
        .links
        .numbered(caller.principal, &listing, skip, size);
    let part = part.await.map_err(ApiError::from)?;
    let found = part.page.links();
    let data: Vec<_> = found
        .map(|found| link(services, found.link, found.clicks))
        .collect();
    Ok(json!({"total": part.total, "limit": limit, "skip": skip, "data": data}))
}

fn number(query: &Parameters, name: &str) -> Result<Option<u64>, Refusal> {
    let raw = query.filled(name).map(str::parse);
    raw.transpose()
        .map_err(|_| Refusal::invalid(format!("{name} query is not valid.")))
}

pub(super) async fn make(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    request: Request,
) -> Response {
    match made(&services, &asking, &headers, request).await {
        Ok((status, body)) => answered(status, Ok(body)),
        Err(refusal) => refusal.response(),
    }
}

async fn made(
    services: &Services,
    asking: &Asking,
    headers: &HeaderMap,
    request: Request,
) -> Result<(StatusCode, Value), Refusal> {
    let caller = caller(services, asking, headers, Access::Create).await?;
    let body = body(request).await?;
    let NewLink {
        link: wanted,
        domain,
        may_be_reused,
    } = new_link(services, &body)?;
    if may_be_reused {
        let target = wanted.properties.target.as_str();
        if let Some(found) = services.existing(&caller, target, domain, |_| true).await? {
            return Ok((StatusCode::OK, link(services, &found.link, found.clicks)));
        }
    }
    let made = services
        .links
        .shorten(caller.principal, &wanted, None, &caller.address);
    let made = made.await.map_err(|error| match error {
        LinkError::DomainRefused => Refusal::no_domain(),
        LinkError::CodeTaken => Refusal::invalid("Custom URL is already in use."),
        error => ApiError::from(error).into(),
    })?;
    Ok((StatusCode::CREATED, link(services, &made.link, made.clicks)))
}

pub(super) async fn edit(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let answer = match caller(&services, &asking, &headers, Access::Change).await {
        Ok(caller) => edited(&services, &id, &caller, request).await,
        Err(refusal) => Err(refusal),
    };
    answered(StatusCode::OK, answer)
}

async fn edited(
    services: &Services,
    id: &str,
    caller: &Caller,
    request: Request,
) -> Result<Value, Refusal> {
    let body = body(request).await?;
    let code = code_of(id)?;
    let edit = edit_of(services, &code, &body)?;
    let links = &services.links;
    let edited = links.edit(
        caller.principal,
        &code,
        &edit,
        &Expected::Any,
        &caller.address,
    );
    let edited = edited
        .await
        .map_err(ApiError::from)?
        .ok_or_else(not_found)?;
    Ok(link(services, &edited.link, edited.clicks))
}

pub(super) async fn delete(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    answered(
        StatusCode::OK,
        deleted(&services, &id, &asking, &headers).await,
    )
}

async fn deleted(
    services: &Services,
    id: &str,
    asking: &Asking,
    headers: &HeaderMap,
) -> Result<Value, Refusal> {
    let caller = caller(services, asking, headers, Access::Change).await?;
    let code = code_of(id)?;
    let deleted = services
        .links
        .delete(caller.principal, &code, &Expected::Any);
    if !deleted.await.map_err(ApiError::from)? {
        return Err(not_found());
    }
    Ok(json!({"message": "Link has been deleted successfully."}))
}
