//! `DELETE /urls/{short_code}`

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use tokio::time::{sleep, timeout};

use super::LinksApi;
use crate::accounts::{Accounts, TokenOwner};
use crate::domain::{ShortCode, UserId};
use crate::http::documented::{NeedsDatabase, NeedsToken};
use crate::http::{ApiError, CodeParameter, ErrorBody, PathCode};

/// How long a deletion waits until Redis, and with it every instance, knows of it; and between two tries.
const TELLING_TIMEOUT: Duration = Duration::from_secs(1);
const TELLING_PAUSE: Duration = Duration::from_millis(50);

/// Delete a link of yours.
///
/// Once this is answered, the link is not followed any more, on no instance, and its statistics are gone.
/// Its code is never given to anybody else.
#[utoipa::path(
    delete, path = "/urls/{short_code}", tag = "links", operation_id = "delete", params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, description = "Nobody has this code, or somebody else; which of them is not told", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsDatabase,
    ),
)]
pub async fn delete(
    State(api): State<Arc<LinksApi>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
) -> Result<StatusCode, ApiError> {
    if let Some(code) = code
        && api.delete(owner, &code).await?
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    // A link would have told that the account is still there.
    accounts.user(owner).await?;
    Err(ApiError::url_not_found())
}

impl LinksApi {
    async fn delete(&self, owner: UserId, code: &ShortCode) -> Result<bool, ApiError> {
        if !self.links.delete_link(owner, code).await? {
            return Ok(false);
        }
        // Without Redis, or while the outbox cannot be emptied, whoever looks after the outbox makes up for it.
        if timeout(TELLING_TIMEOUT, self.tell(code)).await.is_err() {
            tracing::warn!(
                "a deletion is announced to other instances later: Redis did not confirm it in time"
            );
        } else if let Err(error) = self.links.deletion_published(code).await {
            tracing::warn!(%error, "a published change stays in the outbox for now");
        }
        Ok(true)
    }

    /// Until it is told: other instances may reach Redis when this one does not.
    async fn tell(&self, code: &ShortCode) {
        let (shard, codes) = (self.cache.shard_of(code), std::slice::from_ref(code));
        while self.cache.forget(shard, codes).await.is_err() {
            sleep(TELLING_PAUSE).await;
        }
    }
}
