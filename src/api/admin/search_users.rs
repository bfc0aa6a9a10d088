//! `GET /admin/users`: accounts.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::SearchQuery;
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
use crate::domain::SeenUser;
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};

/// An account as administrators see it.
#[derive(Serialize, ToSchema)]
struct SeenUserBody {
    /// Identifier.
    #[schema(example = 3, minimum = 1)]
    id: i64,
    /// Its address; of a group, what stands for one.
    #[schema(example = "ada@example.org")]
    email: String,
    /// The name of a group.
    #[schema(required = true, example = "Marketing")]
    group: Option<String>,
    /// When it was made, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    created_at: String,
    /// How many links it has.
    #[schema(example = 12)]
    links: u64,
    /// Whether it administers this service.
    is_admin: bool,
    /// Whether it is banned.
    is_banned: bool,
}

impl SeenUserBody {
    fn new(user: &SeenUser) -> Self {
        Self {
            id: user.id.0,
            email: user.email.as_str().to_owned(),
            group: user.group.as_ref().map(|name| name.as_str().to_owned()),
            created_at: user.created_at.with_micros(),
            links: user.links,
            is_admin: user.is_admin,
            is_banned: user.is_banned,
        }
    }
}

/// A page of accounts.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct SeenUsersBody {
    /// The accounts, newest first: a page may have fewer than asked for, although others follow.
    users: Vec<SeenUserBody>,
    /// `before` of the next page, if there is a next page.
    #[schema(required = true, example = 3)]
    next: Option<i64>,
}

/// Search accounts.
#[utoipa::path(
    get, path = "/admin/users", tag = "administration", operation_id = "search_users", params(SearchQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The accounts", body = SeenUsersBody),
        (status = 404, description = "No account has this e-mail address", body = ErrorBody,
            example = json!({"detail": "value: nothing of this kind has this value"})),
        (status = 422, description = "A parameter breaks its rule", body = ErrorBody, example = json!({"detail": "limit: must be from 1 to 200"})),
        TakesQuery, NeedsToken, NeedsRole, Limited, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn search_users(
    State(abuse): State<Arc<Abuse>>,
    Admin(administrator): Admin,
    QueryOf(query): QueryOf<SearchQuery>,
) -> Result<Json<SeenUsersBody>, ApiError> {
    let wanted = query.wanted(&abuse).await?;
    let found = abuse.accounts(&administrator, &wanted).await?;
    Ok(Json(SeenUsersBody {
        users: found.entries.iter().map(SeenUserBody::new).collect(),
        next: found.next,
    }))
}
