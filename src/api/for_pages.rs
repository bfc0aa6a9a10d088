//! Documents of links for the pages, which have no forms of their own: an import and an export are those of the API.

use std::sync::Arc;

use axum::response::Response;

use super::base_address::BaseAddress;
use super::bulk_document::Document;
use super::export;
use crate::domain::{OwnHost, Principal};
use crate::http::{ApiError, ClientAddress};
use crate::links::{LinkRequest, LinkService};

/// The links of a table as `POST /urls/bulk` takes it, in order; one that is refused has the reason.
///
/// # Errors
/// Where the text is no such table.
pub fn links_of_csv(
    text: &str,
    own_host: &OwnHost,
) -> Result<Vec<Result<LinkRequest, ApiError>>, ApiError> {
    let mut document = Document::of("text/csv", text.as_bytes())?;
    Ok(document.read_next(document.len(), own_host))
}

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
    let (_, response) = export::csv(links, owner, base_address, client).await?;
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
    let (_, response) = export::ndjson(links, owner, base_address, client).await?;
    Ok(response)
}
