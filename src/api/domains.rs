//! `GET /domains` and `GET /domains/ask`, and the files of hosts for apps.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::authentication::TokenOwner;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, CodesOf, JSON, Json, QueryOf};
use crate::links::LinkService;

/// A host on which links may be made.
#[derive(Serialize, ToSchema)]
pub(super) struct UsableDomain {
    /// The host: the value of `domain`.
    #[schema(example = "go.example.org")]
    host: String,
}

/// List the hosts that you may use.
///
/// Beside the service's own: `domain` of a new link is one of these.
#[utoipa::path(
    get, path = "/domains", tag = "links", operation_id = "domains", security(("bearer" = [])),
    responses(
        (status = 200, description = "The hosts", body = Vec<UsableDomain>),
        NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn domains(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
) -> Result<Json<Vec<UsableDomain>>, ApiError> {
    let hosts = links.store.domains_of(owner).await?;
    if hosts.is_empty() {
        // Hosts would have shown that the account still exists.
        accounts.user(owner).await?;
    }
    let usable = hosts.into_iter().map(|host| UsableDomain { host });
    Ok(Json(usable.collect()))
}

/// Which host is asked about.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct AskQuery {
    /// The host.
    #[param(max_length = 260)]
    domain: String,
}

/// Ask whether a host is one of this service.
///
/// For proxies that fetch certificates on demand.
#[utoipa::path(
    get, path = "/domains/ask", tag = "operations", operation_id = "ask_domain", params(AskQuery),
    responses(
        (status = 200, description = "It is one of this service's hosts", body = UsableDomain),
        (status = 404, description = "The service has no such host", body = ErrorBody, example = json!({"detail": "Not Found"})),
        (status = 422, description = "The parameter is missing, or another one is there", body = ErrorBody,
            example = json!({"detail": "domain: query parameter is required"})),
        TakesQuery,
    ),
)]
pub(super) async fn ask(
    State(links): State<Arc<LinkService>>,
    QueryOf(AskQuery { domain }): QueryOf<AskQuery>,
) -> Result<Json<UsableDomain>, ApiError> {
    let found = links.domain_named(&domain).is_some();
    let host = found.then_some(domain).ok_or_else(ApiError::not_found)?;
    Ok(Json(UsableDomain { host }))
}

/// Digital Asset Links of the host.
///
/// As its administrators gave it; the service's own host has none.
#[utoipa::path(
    get, path = "/.well-known/assetlinks.json", tag = "operations", operation_id = "assetlinks",
    responses(
        (status = 200, description = "The file", body = String, content_type = "application/json"),
        (status = 404, description = "The host has no such file", body = ErrorBody, example = json!({"detail": "Not Found"})),
        NeedsDatabase,
    ),
)]
pub(super) async fn assetlinks(
    State(links): State<Arc<LinkService>>,
    codes: Option<Extension<CodesOf>>,
) -> Result<Response, ApiError> {
    file(&links, codes, false).await
}

/// Apple's association file of the host.
///
/// As its administrators gave it; the service's own host has none.
#[utoipa::path(
    get, path = "/.well-known/apple-app-site-association", tag = "operations", operation_id = "apple_app_site_association",
    responses(
        (status = 200, description = "The file", body = String, content_type = "application/json"),
        (status = 404, description = "The host has no such file", body = ErrorBody, example = json!({"detail": "Not Found"})),
        NeedsDatabase,
    ),
)]
pub(super) async fn apple_app_site_association(
    State(links): State<Arc<LinkService>>,
    codes: Option<Extension<CodesOf>>,
) -> Result<Response, ApiError> {
    file(&links, codes, true).await
}

async fn file(
    links: &LinkService,
    codes: Option<Extension<CodesOf>>,
    of_apple: bool,
) -> Result<Response, ApiError> {
    let Some(Extension(CodesOf::Host(host))) = codes else {
        return Err(ApiError::not_found());
    };
    let file = links.store.domain_file(host.id, of_apple).await?;
    let file = file.ok_or_else(ApiError::not_found)?;
    Ok(([(CONTENT_TYPE, JSON)], file).into_response())
}
