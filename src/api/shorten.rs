//! `POST /urls/shorten`: creates a short link.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::authentication::LinkMaker;
use super::base_address::BaseAddress;
use super::idempotency_key::idempotency_key;
use super::link_body::{View, one_link};
use crate::accounts::Accounts;
use crate::domain::{LinkRequest, OwnHost};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsRoom, NeedsToken, TakesBody, TakesQuery,
};
use crate::http::paths::is_reserved;
use crate::http::{ApiError, ClientAddress, OptionalJsonBody, QueryOf};
use crate::links::{LinkService, RequestKey};
#[cfg(test)]
use crate::wire::LinkBody;
use crate::wire::{LinkObject, LinkQuery};

/// Create a short link.
///
/// It is yours, and active at once: share it as `/{short_code}` on this host. The same target may be
/// shortened any number of times; each link counts for itself. The parameters are in the query, or in a JSON object of
/// the same names.
#[utoipa::path(
    post, path = "/urls/shorten", tag = "links", operation_id = "shorten",
    params(
        LinkQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same link and response for a day, however often the request is sent",
            pattern = "^[ -~]{1,255}$"),
    ),
    request_body(content = Option<LinkObject>, description = "The parameters, if they are not in the query"),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The link is created", body = LinkBody, headers(
            ("Link" = String, description = "`<…>; rel=\"shortlink\"`: the address that people share"),
            ("ETag" = String, description = "The revision of the link, for `If-Match`"),
        ), links(
            ("statistics" = (operation_id = "stats", parameters(("short_code" = "$response.body#/short_code")))),
            ("visit" = (operation_id = "visit", parameters(("short_code" = "$response.body#/short_code")))),
            ("show" = (operation_id = "show", parameters(("short_code" = "$response.body#/short_code")))),
            ("delete" = (operation_id = "delete", parameters(("short_code" = "$response.body#/short_code")))),
        )),
        (status = 403, description = "The account has as many links as it may have, or the key may read alone", body = ErrorBody, examples(
            ("quota" = (value = json!({"detail": "This account has the maximum of 100000 links; delete links to make room"}))),
            ("key" = (value = json!({"detail": "This key is read-only"}))),
        )),
        (status = 409, description = "The code or an alias is taken, or was once", body = ErrorBody, examples(
            ("code" = (value = json!({"detail": "custom_code: is taken"}))),
            ("alias" = (value = json!({"detail": "aliases: spring is taken"}))),
        )),
        (status = 422, description = "A parameter is missing, given twice, unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("missing" = (value = json!({"detail": "target_url: query parameter is required"}))),
            ("no URL" = (value = json!({"detail": "target_url: must be an absolute http:// or https:// URL with a host"}))),
            ("loop" = (value = json!({"detail": "target_url: must not lead back to this service's own host"}))),
            ("zone" = (value = json!({"detail": "expires_at: must have a zone, such as 2027-01-31T18:00:00+01:00"}))),
            ("unknown" = (value = json!({"detail": "expire_at: is not known here; did you mean expires_at?"}))),
        )),
        TakesQuery, TakesBody, NeedsToken, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn shorten(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    LinkMaker(owner): LinkMaker,
    query: Result<QueryOf<LinkQuery>, ApiError>,
    (headers, client): (HeaderMap, ClientAddress),
    body: Result<OptionalJsonBody<LinkObject>, ApiError>,
) -> Result<Response, ApiError> {
    let asked = match ask(query, body, &headers, &links.own_host) {
        Ok(asked) => asked,
        Err(refusal) => {
            // Creating a link would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let form = format!("{:?}", asked.view);
    let key = asked
        .key
        .as_deref()
        .map(|key| RequestKey { key, form: &form });
    let created = links
        .shorten(owner, &asked.link, key, client.as_str())
        .await?;
    let now = links.clock.now();
    Ok(one_link(&created, asked.view, now, &base_address))
}

struct Asked {
    link: LinkRequest,
    view: View,
    key: Option<String>,
}

fn ask(
    query: Result<QueryOf<LinkQuery>, ApiError>,
    body: Result<OptionalJsonBody<LinkObject>, ApiError>,
    headers: &HeaderMap,
    own_host: &OwnHost,
) -> Result<Asked, ApiError> {
    let QueryOf(query) = query?;
    query.check().map_err(ApiError::invalid)?;
    let body = match body {
        Err(_) | Ok(OptionalJsonBody(Some(_))) if query.has_link() => {
            let detail = "body: must be left out if the query has the parameters";
            return Err(ApiError::invalid(detail));
        }
        body => body?.0,
    };
    let view = query.text("view").map(str::to_owned);
    let mut fields = match body {
        None => query.fields().map_err(ApiError::invalid)?,
        Some(body) => body.0,
    };
    let view = view.or(std::mem::take(&mut fields.view).given());
    let link = fields.request(own_host, is_reserved);
    Ok(Asked {
        link: link.map_err(ApiError::invalid)?,
        view: View::parse(view.as_deref())?,
        key: idempotency_key(headers)?,
    })
}
