//! `GET /auth/me`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::CurrentUser;
use crate::domain::UserId;
use crate::http::ErrorBody;

/// Who a token belongs to.
#[derive(Serialize, ToSchema)]
pub struct MeAnswer {
    /// Identifier.
    #[schema(value_type = i64, example = 1)]
    id: UserId,
    /// E-mail address, as it was given.
    #[schema(example = "ada@example.org")]
    email: String,
}

/// Says whose token this is.
#[utoipa::path(
    get, path = "/auth/me", tag = "accounts", security(("bearer" = [])),
    responses(
        (status = 200, description = "The account", body = MeAnswer),
        (status = 401, description = "`Not authenticated`", body = ErrorBody),
        (status = 503, description = "Not now; try again after `Retry-After` seconds", body = ErrorBody),
    ),
)]
pub async fn me(CurrentUser(user): CurrentUser) -> Json<MeAnswer> {
    Json(MeAnswer {
        id: user.id,
        email: user.email.as_str().to_owned(),
    })
}
