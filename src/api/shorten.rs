//! `POST /urls/shorten`: creates a short link.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::TokenOwner;
use super::link_body::LinkBody;
use crate::accounts::Accounts;
use crate::domain::{OwnHost, TargetUrl};
use crate::http::documented::{Limited, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, ErrorBody, Json, QueryOf};
use crate::links::LinkService;

/// The target of the new link.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ShortenQuery {
    /// Absolute `http` or `https` URL of at most 2048 bytes, percent-encoded as every parameter: without
    /// control characters, without user name or password, and not on this service's own host. It is stored
    /// and returned exactly as given.
    #[param(
        example = "https://example.org/a/long/path",
        format = "url",
        pattern = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\@]+([/?#]|$)",
        max_length = 2048
    )]
    target_url: String,
}

impl ShortenQuery {
    fn target(&self, own_host: &OwnHost) -> Result<TargetUrl, ApiError> {
        TargetUrl::parse(&self.target_url, own_host)
            .map_err(|error| ApiError::invalid(error.to_string()))
    }
}

/// Create a short link.
///
/// It is yours, and active at once: share it as `/{short_code}` on this host. The same target may be
/// shortened any number of times; each link counts for itself.
#[utoipa::path(
    post, path = "/urls/shorten", tag = "links", operation_id = "shorten", params(ShortenQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The link is created", body = LinkBody, links(
            ("statistics" = (operation_id = "stats", parameters(("short_code" = "$response.body#/short_code")))),
            ("visit" = (operation_id = "visit", parameters(("short_code" = "$response.body#/short_code")))),
            ("delete" = (operation_id = "delete", parameters(("short_code" = "$response.body#/short_code")))),
        )),
        (status = 403, description = "The account has as many links as it may have", body = ErrorBody,
            example = json!({"detail": "This account has 100000 links, and may not have more; delete some to make room"})),
        (status = 422, description = "`target_url` is missing, given twice or not acceptable", body = ErrorBody, examples(
            ("missing" = (value = json!({"detail": "target_url: query parameter is required"}))),
            ("no URL" = (value = json!({"detail": "target_url: must be an absolute http:// or https:// URL with a host"}))),
            ("loop" = (value = json!({"detail": "target_url: must not lead back to this service's own host"}))),
        )),
        TakesQuery, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn shorten(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    query: Result<QueryOf<ShortenQuery>, ApiError>,
) -> Result<Json<LinkBody>, ApiError> {
    let target = match query.and_then(|QueryOf(query)| query.target(&links.own_host)) {
        Ok(target) => target,
        Err(refusal) => {
            // Creating a link would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let link = links.shorten(owner, &target).await?;
    Ok(Json(LinkBody::new(&link, 0)))
}
