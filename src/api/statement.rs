//! `GET /urls/{short_code}/statement` and `GET /.well-known/shunt-keys.json`: the clicks of a month, signed, and the keys that confirm it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::TokenOwner;
use crate::accounts::Accounts;
use crate::domain::{InvalidMonth, InvalidRange, Month, Zone};
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsRoom, NeedsToken,
    TakesQuery,
};
use crate::http::{ApiError, ClientAddress, JSON, Json, PathCode, QueryOf};
#[cfg(test)]
use crate::statements::Statement;
use crate::statements::{StatementKeySet, Statements};

/// Which month, in which zone.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementQuery {
    /// A month that has ended: a year and a month.
    #[param(
        required = true,
        nullable = false,
        example = "2026-10",
        pattern = "^[0-9]{4}-[0-9]{2}$"
    )]
    month: Option<String>,
    /// The time zone in which days begin: a name of the IANA database.
    #[param(example = "Europe/Berlin", default = "UTC")]
    tz: Option<String>,
}

impl StatementQuery {
    fn parsed(&self) -> Result<(Month, Zone), ApiError> {
        let month = self.month.as_deref().ok_or(InvalidMonth);
        let month = month.and_then(Month::parse);
        let month = month.map_err(|error| ApiError::invalid(error.to_string()))?;
        let zone = self.tz.as_deref().map_or(Some(Zone::UTC), Zone::parse);
        let zone = zone.ok_or_else(|| ApiError::invalid(InvalidRange::Zone.to_string()))?;
        Ok((month, zone))
    }
}

/// The clicks of one of your links in a month, signed.
///
/// A document that is checked without this service: by `shunt verify`, or by any implementation of Ed25519 and RFC 8785. It is
/// issued when it is first asked for, from 15 minutes after the end of the month on, and is the same, byte by byte, from then on. It
/// is answered in its canonical form, so its SHA-256 is the digest that the statement of the next month has as `previous`. Statements
/// of earlier months are issued with it, from the month on in which the link was made; a month before that has none. A link has
/// statements in at most 4 time zones. They go with the link, also to another owner, and end with it.
#[utoipa::path(
    get, path = "/urls/{short_code}/statement", tag = "links", operation_id = "statement",
    params(CodeParameter, StatementQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The statement", body = Statement),
        (status = 404, description = "No link of yours has this code", body = ErrorBody, example = json!({"detail": "URL not found"})),
        (status = 409, description = "The month has not ended, or the link has statements in other time zones", body = ErrorBody, examples(
            ("month" = (value = json!({"detail": "month: has its statement from 2026-11-01T00:15:00Z on"}))),
            ("tz" = (value = json!({"detail": "tz: this link has statements in Asia/Tokyo, Europe/Berlin, Europe/Paris, UTC, and in at most 4 time zones; ask for one of these"}))),
        )),
        (status = 422, description = "A parameter is missing, unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("month" = (value = json!({"detail": "month: must be a month of the years 1970 to 9998, such as 2026-10"}))),
            ("link" = (value = json!({"detail": "month: must not be before 2026-09, in which the link was made"}))),
            ("tz" = (value = json!({"detail": "tz: must be an IANA time zone, such as Europe/Berlin"}))),
        )),
        (status = 501, description = "The service has no key to sign with, and this statement was not issued before", body = ErrorBody,
            example = json!({"detail": "This service signs no statements; its operator has to set STATEMENT_KEY"})),
        TakesQuery, NeedsToken, NeedsReadKey, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn statement(
    State(statements): State<Arc<Statements>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    client: ClientAddress,
    query: Result<QueryOf<StatementQuery>, ApiError>,
) -> Result<Response, ApiError> {
    // Of an account that is gone nothing is said.
    accounts.user(owner).await?;
    let QueryOf(query) = query?;
    let (month, zone) = query.parsed()?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let statement = statements.of_month(owner, &code, (month, &zone), client.as_str());
    let statement = statement.await?.ok_or_else(ApiError::url_not_found)?;
    // Without a newline at its end: the digest is of these bytes.
    Ok(([(CONTENT_TYPE, JSON)], statement).into_response())
}

/// The keys by which statements are checked.
///
/// The key that signs comes first, then the keys that signed earlier statements: none of them ever leaves. Save this document beside your
/// statements, and they can be checked without the service.
#[utoipa::path(
    get, path = "/.well-known/shunt-keys.json", tag = "links", operation_id = "statement_keys",
    responses(
        (status = 200, description = "A JWK Set (RFC 7517)", body = StatementKeySet),
        NeedsDatabase,
    ),
)]
pub(super) async fn keys(
    State(statements): State<Arc<Statements>>,
) -> Result<Json<StatementKeySet>, ApiError> {
    Ok(Json(StatementKeySet::new(&statements.keys().await?)))
}
