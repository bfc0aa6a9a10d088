//! Visits: their totals. Single visits are not kept, so lists of them are empty and say so.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::answer::{answered, pagination, visits};
use super::asked::{caller, domain_named, number, query};
use super::problem::Problem;
use super::short_urls::found;
use crate::accounts::Access;
use crate::compat::caller::Asking;
use crate::compat::parameters::Parameters;
use crate::compat::services::Services;
use crate::http::ApiError;

/// What an empty list says.
const NOT_KEPT: &str = "Single visits are not kept here; the totals are exact, and the statistics of a link are on its page";

pub(super) async fn totals(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    let told = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        let totals = services.links.totals(caller.principal).await;
        let totals = totals.map_err(ApiError::from)?;
        Ok(json!({"visits": {"nonOrphanVisits": visits(totals.clicks), "orphanVisits": visits(0)}}))
    };
    answered(told.await)
}

pub(super) async fn of_link(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let told = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        found(&services, &caller, &id, uri.query()).await?;
        nothing(&query(&services, uri.query())?)
    };
    answered(told.await)
}

pub(super) async fn of_domain(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let told = async {
        caller(&services, &asking, &headers, Access::Read).await?;
        domain_named(&services, &id).ok_or_else(|| Problem::no_domain(&id))?;
        nothing(&query(&services, uri.query())?)
    };
    answered(told.await)
}

pub(super) async fn none_kept(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let told = async {
        caller(&services, &asking, &headers, Access::Read).await?;
        nothing(&query(&services, uri.query())?)
    };
    answered(told.await)
}

fn nothing(query: &Parameters) -> Result<Value, Problem> {
    let page = number(query, "page", 1)?;
    let pagination = pagination(page, 10, 0, 0);
    Ok(json!({"visits": {"data": [], "pagination": pagination, "detail": NOT_KEPT}}))
}
