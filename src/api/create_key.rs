//! `POST /auth/keys`: makes an API key.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::authentication::KeyOwner;
use super::key_body::KeyFields;
#[cfg(test)]
use super::key_body::ScopeBody;
use crate::accounts::Accounts;
use crate::domain::{KeyName, Scope, Timestamp};
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsRoom, NeedsToken, TakesBody};
use crate::http::{ApiError, ClientAddress, Json, JsonBody};

/// A key to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKeyBody {
    /// Your name for it.
    #[schema(example = "backup script", min_length = 1, max_length = 100)]
    name: String,
    /// What it may do.
    #[schema(value_type = ScopeBody)]
    scope: String,
    /// RFC 3339 with a zone; without it the key does not end by itself.
    #[schema(example = "2099-01-31T18:00:00Z", format = DateTime)]
    expires_at: Option<String>,
}

/// A key that was made.
#[derive(Serialize, ToSchema)]
pub(super) struct NewKeyResponse {
    #[serde(flatten)]
    fields: KeyFields,
    /// The key itself: it is shown only once. To be sent as `Authorization: Bearer …`.
    #[schema(
        example = "shunt_r10b1f5f9e0c7d4a6b8e2f1a3c5d7e9f0b2d4f6a8c0e2d4f60719ab3c",
        pattern = "^shunt_[rwc][0-9]+[0-9a-f]{56}$"
    )]
    key: String,
}

/// Create an API key.
///
/// It is a bearer token on `/urls/*` and `GET /auth/me`, until you revoke it. A `read` key is read-only. A `create` key only
/// creates links (`POST /urls/shorten`, `POST /urls/bulk`), and reads nothing but `GET /auth/me`. Only its hash is kept.
#[utoipa::path(
    post, path = "/auth/keys", tag = "accounts", operation_id = "create_key", security(("bearer" = [])),
    request_body = NewKeyBody,
    responses(
        (status = 200, description = "The key", body = NewKeyResponse),
        (status = 403, description = "The account has as many keys as it may have", body = ErrorBody,
            example = json!({"detail": "This account has the maximum of 50 keys; delete a key to make room"})),
        TakesBody, NeedsToken, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn create_key(
    State(accounts): State<Arc<Accounts>>,
    KeyOwner(owner): KeyOwner,
    client: ClientAddress,
    body: Result<JsonBody<NewKeyBody>, ApiError>,
) -> Result<Json<NewKeyResponse>, ApiError> {
    let (name, scope, expires_at) = match body.and_then(|JsonBody(body)| body.parse()) {
        Ok(fields) => fields,
        Err(refusal) => {
            // The key would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let made = accounts.create_key(client.as_str(), owner, &name, scope, expires_at);
    let (key, text) = made.await?;
    Ok(Json(NewKeyResponse {
        fields: KeyFields::new(&key),
        key: text,
    }))
}

impl NewKeyBody {
    fn parse(self) -> Result<(KeyName, Scope, Option<Timestamp>), ApiError> {
        let name =
            KeyName::parse(&self.name).map_err(|error| ApiError::invalid(error.to_string()))?;
        let unknown = || ApiError::invalid(format!("scope: must be {}", Scope::NAMES));
        let scope = Scope::parse(&self.scope).ok_or_else(unknown)?;
        let end = |raw: String| {
            raw.parse()
                .map_err(|error| ApiError::invalid(format!("expires_at: {error}")))
        };
        Ok((name, scope, self.expires_at.map(end).transpose()?))
    }
}
