//! The API's export of links, for the pages, which send the same documents.

use std::sync::Arc;

use axum::response::Response;

use super::base_address::BaseAddress;
use super::export;
use crate::domain::Principal;
use crate::http::{ApiError, ClientAddress};
use crate::links::LinkService;

/// All links of an owner as `GET /urls/export` sends them, as CSV.
///
/// # Errors
/// Where the first of them cannot be read, or too many lists are sent already.
pub async fn csv_of_links(
    links: Arc<LinkService>,
    owner: Principal,
    base_address: BaseAddress,
    client: &ClientAddress,
) -> Result<Response, ApiError> {
    let (_, response) = export::csv(links, owner, (base_address, false), client).await?;
    Ok(response)
}

/// The same as JSON, one link a line.
///
/// # Errors
/// Those of [`csv_of_links`].
pub async fn ndjson_of_links(
    links: Arc<LinkService>,
    owner: Principal,
    base_address: BaseAddress,
    client: &ClientAddress,
) -> Result<Response, ApiError> {
    let (_, response) = export::ndjson(links, owner, (base_address, false), client).await?;
    Ok(response)
}
