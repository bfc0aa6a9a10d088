//! `GET /admin/removals`: what was removed.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::PageQuery;
use super::removal_body::RemovalBody;
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
use crate::api::base_address::BaseAddress;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};

/// A page of removals.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct RemovalsBody {
    /// The removals, newest first.
    removals: Vec<RemovalBody>,
    /// `before` of the next page, if there is a next page.
    #[schema(required = true, example = 7)]
    next: Option<i64>,
}

/// List removals, newest first.
#[utoipa::path(
    get, path = "/admin/removals", tag = "administration", operation_id = "list_removals", params(PageQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The removals", body = RemovalsBody),
        (status = 422, description = "A parameter breaks its rule", body = ErrorBody, example = json!({"detail": "limit: must be from 1 to 200"})),
        TakesQuery, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn list_removals(
    State(abuse): State<Arc<Abuse>>,
    State(base_address): State<BaseAddress>,
    _: Admin,
    QueryOf(query): QueryOf<PageQuery>,
) -> Result<Json<RemovalsBody>, ApiError> {
    let wanted = query.wanted()?;
    let found = abuse.removals(&wanted).await?;
    Ok(Json(RemovalsBody {
        removals: (found.entries.iter())
            .map(|removal| RemovalBody::new(removal, &base_address))
            .collect(),
        next: found.next,
    }))
}
