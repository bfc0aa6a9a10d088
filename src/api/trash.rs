//! The bin: `GET /urls/trash`, `POST /urls/{short_code}/restore` and `DELETE /urls/trash/{short_code}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::LINK;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::TokenOwner;
use super::base_address::BaseAddress;
use super::link_body::{View, one_link};
use crate::accounts::Accounts;
use crate::domain::{LinkOrder, Principal};
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsToken, NeedsWriteKey,
    TakesQuery,
};
use crate::http::{
    ApiError, ClientAddress, Json, PathCode, QueryOf, cursor, parse_cursor, with_clicks_as_of,
};
use crate::links::LinkService;
use crate::wire::{FullLinkBody, TrashedLinkBody};

/// Links on a page, unless the client asks for fewer.
const DEFAULT_LIMIT: u32 = 100;

/// Which part of the bin.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct TrashQuery {
    /// Links on this page, 1 to 100.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, example = 50)]
    limit: Option<String>,
    /// Where the page begins: from the `Link` header of the page before.
    #[param(value_type = Option<String>, pattern = "^0[0-2][0-9a-f]{14}00[0-9a-f]{14}$")]
    cursor: Option<String>,
}

/// That no link in the bin of this owner has the code; a link would have shown that the account still exists.
async fn no_link(accounts: &Accounts, owner: Principal) -> ApiError {
    match accounts.user(owner).await {
        Ok(_) => ApiError::url_not_found(),
        Err(error) => error.into(),
    }
}

/// List the links that you deleted and can restore.
///
/// Page by page, what was deleted last first; the `Link` header leads to the next page. A link stays in the bin for as many days as the
/// service says, 30 by default.
#[utoipa::path(
    get, path = "/urls/trash", tag = "links", operation_id = "list_trash", params(TrashQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The links", body = Vec<TrashedLinkBody>, headers(
            ("Link" = String, description = "`<…>; rel=\"next\"`, where the page may have another one after it"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody,
            example = json!({"detail": "limit: must be a whole number from 1 to 100"})),
        TakesQuery, NeedsToken, NeedsReadKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn list(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    TokenOwner(owner): TokenOwner,
    QueryOf(query): QueryOf<TrashQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.as_deref().map_or(Some(DEFAULT_LIMIT), |raw| {
        let limit = raw.parse().ok();
        limit.filter(|limit| (1..=DEFAULT_LIMIT).contains(limit))
    });
    let limit =
        limit.ok_or_else(|| ApiError::invalid("limit: must be a whole number from 1 to 100"))?;
    let parsed = |raw| parse_cursor(LinkOrder::Newest, raw);
    let after = query.cursor.as_deref().map(parsed).transpose()?;
    let page = links.trash(owner, after, limit).await?;
    if page.is_empty() {
        accounts.user(owner).await?;
    }
    let body = page.links().map(|trashed| {
        let link = &trashed.counted.link;
        let status = trashed.counted.status(page.read_at());
        let short_url = base_address.short_url(&link.code);
        let full = FullLinkBody::new(link, short_url, trashed.counted.clicks, status);
        TrashedLinkBody {
            link: full.at(base_address.host_of(&link.code)),
            deleted_at: trashed.deleted_at.with_micros(),
            ends_at: trashed.ends_at.with_micros(),
        }
    });
    let mut response = Json(body.collect::<Vec<_>>()).into_response();
    if let Some(next) = page.next {
        let (base, cursor) = (base_address.as_str(), cursor(LinkOrder::Newest, next));
        let next = format!("<{base}/urls/trash?limit={limit}&cursor={cursor}>; rel=\"next\"");
        let next =
            HeaderValue::try_from(next).map_err(|error| ApiError::internal(&error.to_string()))?;
        response.headers_mut().insert(LINK, next);
    }
    Ok(with_clicks_as_of(response, page.as_of))
}

/// Restore a link that you deleted.
///
/// It is followed again by its code and its aliases, as it was, with its clicks.
#[utoipa::path(
    post, path = "/urls/{short_code}/restore", tag = "links", operation_id = "restore", params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "Restored: the link with all of its fields", body = FullLinkBody),
        (status = 403, description = "The account has as many links as it may have", body = ErrorBody,
            example = json!({"detail": "This account has 1000 links, as many as an account may have"})),
        (status = 404, description = "No link in your bin has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsWriteKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn restore(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    TokenOwner(owner): TokenOwner,
    client: ClientAddress,
    PathCode(code): PathCode,
) -> Result<Response, ApiError> {
    if let Some(code) = code
        && let Some(restored) = links.restore(owner, &code, client.as_str()).await?
    {
        let now = links.clock.now();
        return Ok(one_link(&restored, View::Full, now, &base_address));
    }
    Err(no_link(&accounts, owner).await)
}

/// End a link that you deleted.
///
/// Nothing brings it back, and its statistics are deleted. Its code is never given to another account.
#[utoipa::path(
    delete, path = "/urls/trash/{short_code}", tag = "links", operation_id = "end_trashed", params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "Ended"),
        (status = 404, description = "No link in your bin has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn end(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
) -> Result<StatusCode, ApiError> {
    if let Some(code) = code
        && links.end_trashed(owner, &code).await?
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(no_link(&accounts, owner).await)
}
