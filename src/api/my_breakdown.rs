//! `GET /urls/my/breakdown`: who followed the links of the token's owner.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::authentication::TokenOwner;
#[cfg(test)]
use super::breakdown_body::ParametersOfAllLinks;
use super::breakdown_body::{BreakdownBody, BreakdownParameters};
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsReadKey, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};
use crate::links::LinkService;

/// Who followed your links?
///
/// As for a single link, over all your links or the links with a tag or of a host. Deleted links are not included.
#[utoipa::path(
    get, path = "/urls/my/breakdown", tag = "links", operation_id = "my_breakdown",
    params(ParametersOfAllLinks), security(("bearer" = [])),
    responses(
        (status = 200, description = "The breakdown", body = BreakdownBody),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("by" = (value = json!({"detail": "by: must be referrer, country, browser, os, device, rule or bot, or code of a single link, such as by=country"}))),
            ("limit" = (value = json!({"detail": "limit: must be 1 to 1000, such as limit=10"}))),
        )),
        TakesQuery, NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn my_breakdown(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    query: Result<QueryOf<BreakdownParameters>, ApiError>,
) -> Result<Response, ApiError> {
    accounts.user(owner).await?;
    let QueryOf(mut query) = query?;
    let (tag, domain) = (query.tag.take(), query.domain.take());
    let group = links.group(tag.as_deref(), domain.as_deref());
    let group = group.map_err(|error| ApiError::invalid(error.to_string()))?;
    let (by, wanted) = query.wanted_of_all(links.clock.now())?;
    let found = links.breakdown_of_owner(owner, group, by, wanted).await?;
    Ok(Json(BreakdownBody::new(by, found)).into_response())
}
