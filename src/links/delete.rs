//! `DELETE /urls/{short_code}`

use axum::extract::State;
use axum::http::StatusCode;

use super::LinksApi;
use crate::accounts::CurrentUser;
use crate::domain::{ShortCode, Timestamp, UserId};
use crate::http::{ApiError, ErrorBody, PathCode};

/// Deletes a link of one's own. Once this is answered, no instance serves it.
#[utoipa::path(
    delete, path = "/urls/{short_code}", tag = "links", security(("bearer" = [])),
    params(("short_code" = String, Path, description = "Code of the link", example = "K7mXq2R")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 401, description = "`Not authenticated`", body = ErrorBody),
        (status = 404, description = "`URL not found`: there is none, or it is another's", body = ErrorBody),
        (status = 503, description = "Not now; try again after `Retry-After` seconds", body = ErrorBody),
    ),
)]
pub async fn delete(
    State(api): State<LinksApi>,
    CurrentUser(user): CurrentUser,
    PathCode(code): PathCode,
) -> Result<StatusCode, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if api.delete(user.id, &code).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::url_not_found())
    }
}

impl LinksApi {
    async fn delete(&self, owner: UserId, code: &ShortCode) -> Result<bool, ApiError> {
        let Some(change) = self
            .links
            .delete_link(owner, code, Timestamp::now())
            .await?
        else {
            return Ok(false);
        };
        // Without Redis, or while the outbox cannot be emptied, the sweep makes up for it.
        match self.cache.forget(&change.code).await {
            Ok(()) => {
                if let Err(error) = self.links.changes_published(&[change.number]).await {
                    tracing::warn!(%error, "a published change stays in the outbox for now");
                }
            }
            Err(error) => tracing::warn!(%error, "a deletion is told to other instances later"),
        }
        Ok(true)
    }
}
