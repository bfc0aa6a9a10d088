//! `GET /auth/me`: the account of the token.

use serde::Serialize;
use utoipa::ToSchema;

use super::authentication::CurrentUser;
use crate::domain::UserId;
use crate::http::Json;
#[cfg(test)]
use crate::http::documented::{NeedsDatabase, NeedsToken};

/// The account that a token belongs to.
#[derive(Serialize, ToSchema)]
pub(super) struct MeBody {
    /// Identifier.
    #[schema(value_type = i64, example = 1, minimum = 1)]
    id: UserId,
    /// E-mail address, as it was given.
    #[schema(example = "ada@example.org", format = "email", max_length = 254)]
    email: String,
    /// Of the key of a group, its name. The address is no real address then.
    #[schema(example = "Marketing")]
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
}

/// Whose token is this?
#[utoipa::path(
    get, path = "/auth/me", tag = "accounts", operation_id = "me", security(("bearer" = [])),
    responses((status = 200, description = "The account", body = MeBody), NeedsToken, NeedsDatabase),
)]
pub(super) async fn me(CurrentUser(user): CurrentUser) -> Json<MeBody> {
    Json(MeBody {
        id: user.id,
        email: user.email.as_str().to_owned(),
        group: user.group.map(|name| name.as_str().to_owned()),
    })
}
