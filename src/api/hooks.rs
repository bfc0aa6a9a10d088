//! `/hooks`: receivers that get events as they happen.

use std::sync::Arc;

use axum::extract::{RawPathParams, State};
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::WritingOwner;
use super::hook_bodies::{
    DeliveryBody, HookBody, HookPatch, HookWithSecret, NewHookBody, ReplayBody,
};
use crate::accounts::Accounts;
use crate::events::Hooks;
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, NeedsDatabase, NeedsRoom, NeedsToken, NeedsWriteKey, TakesBody, TakesQuery,
};
use crate::http::{ApiError, Json, JsonBody, QueryOf};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 100;

/// Which hook.
#[cfg(test)]
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct HookId {
    /// Identifier of a hook.
    #[param(example = 1, minimum = 1)]
    #[expect(
        dead_code,
        reason = "it only describes a parameter in the OpenAPI document"
    )]
    id: i64,
}

/// Which deliveries.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveriesQuery {
    /// Only deliveries before the one with this `id`.
    #[param(value_type = Option<i64>, example = 12, minimum = 1)]
    before: Option<String>,
    /// How many: 1 to 100.
    #[param(value_type = Option<u32>, default = 50, minimum = 1, maximum = 100)]
    limit: Option<String>,
}

impl DeliveriesQuery {
    fn parse(&self) -> Result<(Option<i64>, u32), ApiError> {
        let before = self.before.as_deref().map(|raw| {
            let number = raw.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| ApiError::invalid("before: must be the id of a delivery"))
        });
        let limit = self.limit.as_deref().map_or(Some(DEFAULT_LIMIT), |raw| {
            let number = raw.parse().ok();
            number.filter(|number| (1..=MAX_LIMIT).contains(number))
        });
        let invalid =
            || ApiError::invalid(format!("limit: must be a number from 1 to {MAX_LIMIT}"));
        Ok((before.transpose()?, limit.ok_or_else(invalid)?))
    }
}

/// The hook that the path names; no hook has the number 0.
fn id(parameters: &RawPathParams) -> i64 {
    let id = parameters.iter().find(|(name, _)| *name == "id");
    id.and_then(|(_, id)| id.parse().ok()).unwrap_or_default()
}

/// Make a hook.
///
/// Events of your links are sent to it as they happen, by `POST` with the body that `GET /urls/my/events` has, as
/// [Standard Webhooks](https://www.standardwebhooks.com/) say: signed over id, time and body. Events of one link come one after the other,
/// those of different links side by side, and each at least once: the same `webhook-id` is the same event. An answer of 2xx within 10
/// seconds takes an event; anything else is tried again after 5 seconds, 30 seconds, 2, 10 and 30 minutes, 1 and 3 hours, and then every 6
/// hours. After 3 days, or upon 410, the hook is switched off. An account has at most 10 hooks.
#[utoipa::path(
    post, path = "/hooks", tag = "hooks", operation_id = "create_hook", security(("bearer" = [])),
    request_body = NewHookBody,
    responses(
        (status = 200, description = "The hook, with its secret", body = HookWithSecret),
        (status = 403, description = "The key may not write, or the account has as many hooks as it may have", body = ErrorBody,
            example = json!({"detail": "This account has the maximum of 10 hooks; delete a hook to make room"})),
        TakesBody, NeedsToken, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn make(
    State(hooks): State<Arc<Hooks>>,
    State(accounts): State<Arc<Accounts>>,
    WritingOwner(owner): WritingOwner,
    body: Result<JsonBody<NewHookBody>, ApiError>,
) -> Result<Json<HookWithSecret>, ApiError> {
    let (url, filter) = match body.and_then(|JsonBody(body)| body.parse(hooks.targets)) {
        Ok(hook) => hook,
        Err(refusal) => {
            // The hook would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let (hook, secret) = hooks.create(owner, &url, &filter).await?;
    Ok(Json(HookWithSecret::new(&hook, Some(&secret))))
}

/// List your hooks.
///
/// The oldest first, without their secrets.
#[utoipa::path(
    get, path = "/hooks", tag = "hooks", operation_id = "list_hooks", security(("bearer" = [])),
    responses((status = 200, description = "The hooks", body = Vec<HookBody>), NeedsToken, NeedsWriteKey, NeedsDatabase),
)]
pub(super) async fn list(
    State(hooks): State<Arc<Hooks>>,
    WritingOwner(owner): WritingOwner,
) -> Result<Json<Vec<HookBody>>, ApiError> {
    let found = hooks.list(owner).await?;
    Ok(Json(found.iter().map(HookBody::from).collect()))
}

/// Show a hook.
#[utoipa::path(
    get, path = "/hooks/{id}", tag = "hooks", operation_id = "show_hook", params(HookId), security(("bearer" = [])),
    responses(
        (status = 200, description = "The hook", body = HookBody),
        (status = 404, description = "No hook of yours has this identifier", body = ErrorBody, example = json!({"detail": "Hook not found"})),
        NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn show(
    State(hooks): State<Arc<Hooks>>,
    State(accounts): State<Arc<Accounts>>,
    WritingOwner(owner): WritingOwner,
    parameters: RawPathParams,
) -> Result<Json<HookBody>, ApiError> {
    let Some(hook) = hooks.show(owner, id(&parameters)).await? else {
        accounts.user(owner).await?;
        return Err(ApiError::hook_not_found());
    };
    Ok(Json((&hook).into()))
}

/// Change a hook.
///
/// Fields that are named change, all others stay. A hook that is switched on sends at once what waits.
#[utoipa::path(
    patch, path = "/hooks/{id}", tag = "hooks", operation_id = "edit_hook", params(HookId), security(("bearer" = [])),
    request_body(content = HookPatch, content_type = "application/merge-patch+json"),
    responses(
        (status = 200, description = "The hook as it is now, with a new secret if one was asked for", body = HookWithSecret),
        (status = 404, description = "No hook of yours has this identifier", body = ErrorBody, example = json!({"detail": "Hook not found"})),
        TakesBody, NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn edit(
    State(hooks): State<Arc<Hooks>>,
    State(accounts): State<Arc<Accounts>>,
    WritingOwner(owner): WritingOwner,
    parameters: RawPathParams,
    patch: Result<JsonBody<HookPatch>, ApiError>,
) -> Result<Json<HookWithSecret>, ApiError> {
    let edit = patch.and_then(|JsonBody(patch)| patch.parse(hooks.targets));
    let (edit, rotates) = match edit {
        Ok(edit) => edit,
        Err(refusal) => {
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let changed = hooks.edit(owner, id(&parameters), edit, rotates).await?;
    let Some(changed) = changed else {
        accounts.user(owner).await?;
        return Err(ApiError::hook_not_found());
    };
    let secret = changed.secret.as_ref();
    Ok(Json(HookWithSecret::new(&changed.hook, secret)))
}

/// Delete a hook.
///
/// Nothing is sent any more, also not what waits.
#[utoipa::path(
    delete, path = "/hooks/{id}", tag = "hooks", operation_id = "delete_hook", params(HookId), security(("bearer" = [])),
    responses(
        (status = 204, description = "The hook has ended"),
        (status = 404, description = "No hook of yours has this identifier", body = ErrorBody, example = json!({"detail": "Hook not found"})),
        NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn delete(
    State(hooks): State<Arc<Hooks>>,
    State(accounts): State<Arc<Accounts>>,
    WritingOwner(owner): WritingOwner,
    parameters: RawPathParams,
) -> Result<StatusCode, ApiError> {
    if hooks.delete(owner, id(&parameters)).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    accounts.user(owner).await?;
    Err(ApiError::hook_not_found())
}

/// What was sent to a hook, and what waits?
///
/// The newest first. Deliveries that the receiver took are kept for 7 days, and the newest 10,000 of them.
#[utoipa::path(
    get, path = "/hooks/{id}/deliveries", tag = "hooks", operation_id = "deliveries", params(HookId, DeliveriesQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "Deliveries", body = Vec<DeliveryBody>),
        (status = 404, description = "No hook of yours has this identifier", body = ErrorBody, example = json!({"detail": "Hook not found"})),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody,
            example = json!({"detail": "limit: must be a number from 1 to 100"})),
        TakesQuery, NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn deliveries(
    State(hooks): State<Arc<Hooks>>,
    State(accounts): State<Arc<Accounts>>,
    WritingOwner(owner): WritingOwner,
    parameters: RawPathParams,
    query: Result<QueryOf<DeliveriesQuery>, ApiError>,
) -> Result<Json<Vec<DeliveryBody>>, ApiError> {
    let asked = query.and_then(|QueryOf(query)| query.parse());
    let (before, limit) = match asked {
        Ok(asked) => asked,
        Err(refusal) => {
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let found = hooks
        .deliveries(owner, id(&parameters), before, limit)
        .await?;
    let Some(found) = found else {
        accounts.user(owner).await?;
        return Err(ApiError::hook_not_found());
    };
    Ok(Json(found.into_iter().map(DeliveryBody::from).collect()))
}

/// Send events again.
///
/// All events after one that you name, with the identifiers that they have.
#[utoipa::path(
    post, path = "/hooks/{id}/replay", tag = "hooks", operation_id = "replay_hook", params(HookId), security(("bearer" = [])),
    request_body = ReplayBody,
    responses(
        (status = 202, description = "The events are sent again"),
        (status = 404, description = "No hook of yours has this identifier", body = ErrorBody, example = json!({"detail": "Hook not found"})),
        (status = 410, description = "Events after this cursor are not kept any more, or the database went back to a state before it: `detail` says which", body = ErrorBody,
            example = json!({"detail": "Events after this one are not kept any more; begin again without `after`"})),
        TakesBody, NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn replay(
    State(hooks): State<Arc<Hooks>>,
    State(accounts): State<Arc<Accounts>>,
    WritingOwner(owner): WritingOwner,
    parameters: RawPathParams,
    body: Result<JsonBody<ReplayBody>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let after = body.and_then(|JsonBody(body)| {
        let after = body.after.parse();
        after.map_err(|error| ApiError::invalid(format!("after: {error}")))
    });
    let after = match after {
        Ok(after) => after,
        Err(refusal) => {
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    if hooks.replay(owner, id(&parameters), after).await? {
        return Ok(StatusCode::ACCEPTED);
    }
    accounts.user(owner).await?;
    Err(ApiError::hook_not_found())
}
