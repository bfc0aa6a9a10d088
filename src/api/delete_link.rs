//! `DELETE /urls/{short_code}`: deletes a link of the token's owner.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};

use super::authentication::TokenOwner;
use super::entity_tags::expected;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{CodeParameter, ErrorBody, NeedsDatabase, NeedsToken, NeedsWriteKey};
use crate::http::{ApiError, PathCode};
use crate::links::LinkService;

/// Delete a link of yours.
///
/// Once this request is answered, no instance follows the link. For some days, 30 by default, it is in the bin, from which
/// `POST /urls/{short_code}/restore` brings it back with its clicks; then
/// its statistics are deleted. Its code is never given to another account.
#[utoipa::path(
    delete, path = "/urls/{short_code}", tag = "links", operation_id = "delete",
    params(
        CodeParameter,
        ("If-Match" = Option<String>, Header, description = "Revisions from an `ETag`: the link is deleted in one of these states alone"),
    ),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, description = "No link has this code, or it is another user's; the response is the same", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        (status = 412, description = "The link is in none of the states of `If-Match`", body = ErrorBody,
            example = json!({"detail": "If-Match: the link was changed meanwhile; read it again"})),
        NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn delete(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    if let Some(code) = code
        && links.delete(owner, &code, &expected(&headers)).await?
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    // A link would have shown that the account still exists.
    accounts.user(owner).await?;
    Err(ApiError::url_not_found())
}
