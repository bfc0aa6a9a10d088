//! `/admin/domains`: the hosts beside the service's own.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;

#[cfg(test)]
use super::NeedsRole;
use super::domain_body::{DomainBody, DomainPatch, NewDomainBody};
use crate::abuse::{Abuse, AbuseError};
use crate::api::authentication::Admin;
use crate::domain::{DomainHost, InvalidDomain};
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesBody};
use crate::http::{ApiError, Json, JsonBody};
use crate::links::LinkService;

/// The host in a path.
fn host_in_path(raw: &str) -> Result<DomainHost, ApiError> {
    DomainHost::parse(raw).map_err(|_| AbuseError::NoDomain.into())
}

/// Add a host.
///
/// Links may be made there by the accounts that `owners` names. A request whose `Host` is this one, whatever its case and port, gets
/// the codes of this host. Every instance knows it within a second. There may be up to 10,000 hosts.
#[utoipa::path(
    post, path = "/admin/domains", tag = "administration", operation_id = "add_domain", security(("bearer" = [])),
    request_body = NewDomainBody,
    responses(
        (status = 200, description = "The host", body = DomainBody),
        (status = 409, description = "There is this host already, or there are as many as there may be", body = ErrorBody,
            example = json!({"detail": "host: there is this domain already"})),
        TakesBody, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn add_domain(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    Admin(administrator): Admin,
    JsonBody(body): JsonBody<NewDomainBody>,
) -> Result<Json<DomainBody>, ApiError> {
    let invalid = |error: InvalidDomain| ApiError::invalid(error.to_string());
    let host = DomainHost::parse(&body.host).map_err(invalid)?;
    if links.own_host.is_named(&host) {
        return Err(invalid(InvalidDomain::Own));
    }
    let edit = abuse.domain_edit(&host, body.rest().fields()?).await?;
    let (domain, changes) = abuse.add_domain(&administrator, &host, &edit).await?;
    links.announce_hosts(&changes).await?;
    Ok(Json(DomainBody::new(domain)))
}

/// List the hosts.
#[utoipa::path(
    get, path = "/admin/domains", tag = "administration", operation_id = "list_domains", security(("bearer" = [])),
    responses(
        (status = 200, description = "All hosts beside the service's own, without their files", body = Vec<DomainBody>),
        NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn list_domains(
    State(abuse): State<Arc<Abuse>>,
    _: Admin,
) -> Result<Json<Vec<DomainBody>>, ApiError> {
    let domains = abuse.domains().await?;
    Ok(Json(domains.into_iter().map(DomainBody::new).collect()))
}

/// Show a host.
#[utoipa::path(
    get, path = "/admin/domains/{host}", tag = "administration", operation_id = "show_domain", security(("bearer" = [])),
    params(("host" = String, Path, description = "The host", example = "go.example.org", min_length = 1)),
    responses(
        (status = 200, description = "The host", body = DomainBody),
        (status = 404, description = "There is no such host", body = ErrorBody, example = json!({"detail": "Not Found"})),
        NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn show_domain(
    State(abuse): State<Arc<Abuse>>,
    _: Admin,
    Path(host): Path<String>,
) -> Result<Json<DomainBody>, ApiError> {
    let domain = abuse.domain(&host_in_path(&host)?).await?;
    Ok(Json(DomainBody::new(domain)))
}

/// Change a host.
#[utoipa::path(
    patch, path = "/admin/domains/{host}", tag = "administration", operation_id = "edit_domain", security(("bearer" = [])),
    params(("host" = String, Path, description = "The host", example = "go.example.org", min_length = 1)),
    request_body = DomainPatch,
    responses(
        (status = 200, description = "The host as it is now", body = DomainBody),
        (status = 404, description = "There is no such host", body = ErrorBody, example = json!({"detail": "Not Found"})),
        TakesBody, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn edit_domain(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    Admin(administrator): Admin,
    Path(host): Path<String>,
    JsonBody(patch): JsonBody<DomainPatch>,
) -> Result<Json<DomainBody>, ApiError> {
    let host = host_in_path(&host)?;
    let edit = abuse.domain_edit(&host, patch.fields()?).await?;
    let (domain, changes) = abuse.edit_domain(&administrator, &host, &edit).await?;
    links.announce_hosts(&changes).await?;
    Ok(Json(DomainBody::new(domain)))
}

/// Remove a host.
#[utoipa::path(
    delete, path = "/admin/domains/{host}", tag = "administration", operation_id = "remove_domain", security(("bearer" = [])),
    params(("host" = String, Path, description = "The host", example = "go.example.org", min_length = 1)),
    responses(
        (status = 204, description = "The host is removed"),
        (status = 404, description = "There is no such host", body = ErrorBody, example = json!({"detail": "Not Found"})),
        (status = 409, description = "It has links", body = ErrorBody,
            example = json!({"detail": "host: the domain has links; delete them first, from bins, too"})),
        NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn remove_domain(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    Admin(administrator): Admin,
    Path(host): Path<String>,
) -> Result<StatusCode, ApiError> {
    let host = host_in_path(&host)?;
    let changes = abuse.remove_domain(&administrator, &host).await?;
    links.announce_hosts(&changes).await?;
    Ok(StatusCode::NO_CONTENT)
}
