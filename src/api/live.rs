//! `GET /urls/{short_code}/stats/live`: the live click count of a link.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::authentication::ListeningOwner;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsToken,
};
use crate::http::{ApiError, ClientAddress, MayListen, PathCode, live_events};
use crate::links::LiveCounts;

/// Watch a link's clicks.
///
/// Server-sent events for the owner: `{"clicks", "last_minute"}`, the exact count and the clicks of the last minute, whenever they
/// change, at most once a second. The first event comes at once. The stream ends when the token does, when the link is deleted,
/// and when the service is restarted.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats/live", tag = "links", operation_id = "live", params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The events", content((String = "text/event-stream",
            example = "data: {\"clicks\":42,\"last_minute\":3}\n\n"))),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsReadKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn live(
    State(live): State<Arc<LiveCounts>>,
    State(accounts): State<Arc<Accounts>>,
    ListeningOwner { principal, bearer }: ListeningOwner,
    PathCode(code): PathCode,
    client: ClientAddress,
) -> Result<Response, ApiError> {
    let listener = match &code {
        Some(code) => live.listen(principal, code, client.as_str()).await?,
        None => None,
    };
    let Some(listener) = listener else {
        // A link would have shown that the account still exists.
        accounts.user(principal).await?;
        return Err(ApiError::url_not_found());
    };
    let bearer: Arc<str> = bearer.into();
    let may_listen: MayListen = Box::new(move || {
        let has_time_left = accounts.has_time_left(&bearer);
        Box::pin(async move { has_time_left })
    });
    Ok(live_events(listener, may_listen))
}
