//! `POST /admin/removals`: removes a link, all links to a host, an account with its links, or all links from an address.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::removal_body::RemovalBody;
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
use crate::api::base_address::BaseAddress;
#[cfg(test)]
use crate::api::words::{RemovalKindWord, wanted_status};
use crate::domain::{InvalidRemoval, Reason, RemovalStatus};
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesBody};
use crate::http::removals::settle;
use crate::http::{ApiError, Json, JsonBody};
use crate::links::LinkService;

/// What is to be removed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewRemovalBody {
    /// `link`, `host`, `user` or `address`.
    #[schema(value_type = RemovalKindWord)]
    kind: String,
    /// A short code, of another host than the service's own as `HOST/CODE`; a host (`example.org`, or `*.example.org` with all below it); an account's number or e-mail address; an IP
    /// address, or a range of them. An address of IPv6 stands for its /64.
    #[schema(example = "K7mXq2R", min_length = 1)]
    value: String,
    /// Why, for people: the page of a removed link shows it to visitors.
    #[schema(example = "phishing", min_length = 1, max_length = 1000)]
    reason: String,
    /// How the links are answered: 410 (gone; without a status), or 451 (unavailable for legal reasons).
    #[schema(schema_with = wanted_status, required = false)]
    status: Option<Value>,
}

/// Remove something.
///
/// Once this is answered, no instance follows a removed link. If a host, an account or an address has more links than can
/// be removed within 5 s, the rest is removed in the background: `progress` says whether that is done. New links to a
/// removed host are refused; an account is banned: its tokens, sessions and keys are revoked, and it cannot log in.
/// Administrators cannot ban their own account: only the operator can, with `shunt admin ban`.
#[utoipa::path(
    post, path = "/admin/removals", tag = "administration", operation_id = "remove", security(("bearer" = [])),
    request_body = NewRemovalBody,
    responses(
        (status = 200, description = "The removal", body = RemovalBody),
        (status = 404, description = "There is no such link or account", body = ErrorBody,
            example = json!({"detail": "value: nothing of this kind has this value"})),
        (status = 409, description = "It was already removed", body = ErrorBody,
            example = json!({"detail": "value: was already removed, by removal 7"})),
        TakesBody, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn remove(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(base_address): State<BaseAddress>,
    Admin(administrator): Admin,
    JsonBody(body): JsonBody<NewRemovalBody>,
) -> Result<Json<RemovalBody>, ApiError> {
    let invalid = |error: InvalidRemoval| ApiError::invalid(error.to_string());
    let reason = Reason::parse(&body.reason).map_err(invalid)?;
    let status = status(body.status).map_err(invalid)?;
    let target = abuse.target(&body.kind, &body.value).await?;
    let removed = abuse.remove(&administrator, &target, &reason, status);
    let removal = settle(&abuse, &links, removed.await?).await;
    Ok(Json(RemovalBody::new(&removal, &base_address)))
}

/// The status by its code; what is no such number is no status.
fn status(given: Option<Value>) -> Result<RemovalStatus, InvalidRemoval> {
    let Some(given) = given else {
        return Ok(RemovalStatus::Gone);
    };
    let code = given.as_u64().and_then(|code| u16::try_from(code).ok());
    RemovalStatus::parse(code.ok_or(InvalidRemoval::Status)?)
}
