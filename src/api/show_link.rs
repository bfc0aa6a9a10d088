//! `GET /urls/{short_code}`: one link, as its owner sees it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::authentication::TokenOwner;
use super::base_address::BaseAddress;
use super::entity_tags::{is_known, tag_of};
use super::link_body::{View, one_link};
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{CodeParameter, ErrorBody, NeedsDatabase, NeedsReadKey, NeedsToken};
use crate::http::{ApiError, PathCode, with_clicks_as_of};
use crate::links::LinkService;
#[cfg(test)]
use crate::wire::FullLinkBody;

/// Show one of your links.
///
/// With all its fields.
#[utoipa::path(
    get, path = "/urls/{short_code}", tag = "links", operation_id = "show",
    params(
        CodeParameter,
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of a response that you have"),
    ),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The link", body = FullLinkBody, headers(
            ("Link" = String, description = "`<…>; rel=\"shortlink\"`: the address that people share"),
            ("ETag" = String, description = "The state that is shown, for `If-None-Match`; for `If-Match`, in which clicks make no difference"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 304, description = "The link, its clicks included, is as in the response that you have", headers(
            ("ETag" = String, description = "The state that was shown"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let shown = match &code {
        Some(code) => links.show(owner, code).await?,
        None => None,
    };
    let Some(shown) = shown else {
        // A link would have shown that the account still exists.
        accounts.user(owner).await?;
        return Err(ApiError::url_not_found());
    };
    let now = links.clock.now();
    let tag = tag_of(&shown, now);
    if is_known(&headers, &tag) {
        let response = (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
        return Ok(with_clicks_as_of(response, shown.as_of));
    }
    Ok(one_link(&shown, View::Full, now, &base_address))
}
