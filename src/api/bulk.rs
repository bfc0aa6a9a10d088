//! `POST /urls/bulk`: creates many short links in one call.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::authentication::LinkMaker;
use super::bulk_document::Document;
#[cfg(test)]
use super::bulk_document::WRONG_KIND;
use super::idempotency_key::IDEMPOTENCY_KEY;
use crate::accounts::Accounts;
use crate::domain::{LinkRequest, Principal};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsRoom, NeedsToken, NeedsWriteKey, TakesQuery,
};
use crate::http::{ApiError, BodyLimits, ClientAddress, JSON, QueryOf, read_body};
use crate::limits::ClientShare;
use crate::links::LinkService;
#[cfg(test)]
use crate::wire::BulkObject;

/// 10,000 links with the longest targets need two thirds of this.
const LIMITS: BodyLimits = BodyLimits {
    bytes: 32 << 20,
    timeout: Duration::from_secs(25),
};

/// Links that are parsed and created at once: so many are in memory beside the body.
const SLICE: usize = 1_000;

/// Bytes of a result beside the target, which was in the body.
const RESULT_FIELDS: usize = 160;

/// The results of one call are too many to be kept for a day.
const NO_KEY: &str = "Idempotency-Key: must be left out here; give each link a custom_code instead, and a repetition makes none twice";

/// What a call with `dry_run` says of a link that would be created: these fields only, by which it differs from a created link.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PossibleLink<'a> {
    #[schema(example = 200)]
    status: u16,
    /// The code of your choice; `null`: it would be drawn.
    #[schema(example = "spring-sale")]
    short_code: Option<&'a str>,
    /// Where it would lead.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: &'a str,
}

/// The outcome for one link.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum BulkResult<'a> {
    /// It was created.
    Created {
        #[schema(example = 200)]
        status: u16,
        /// Identifier.
        #[schema(example = 1, minimum = 1)]
        id: i64,
        /// The link's path: it is followed at `/{short_code}`.
        #[schema(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
        short_code: &'a str,
        /// Where it leads, exactly as it was given.
        #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
        target_url: &'a str,
        /// Clicks that another service counted for it.
        #[schema(example = 0)]
        clicks: u64,
        /// An inactive link is not followed.
        is_active: bool,
    },
    /// It would be created, by a call without `dry_run`.
    Possible(PossibleLink<'a>),
    /// It was refused, as a single link would have been. 503: the database failed after other links of the call were created; send
    /// this link again.
    Refused {
        #[schema(example = 409)]
        status: u16,
        /// The problem, in a sentence for a person.
        #[schema(example = "custom_code: is taken")]
        detail: &'a str,
    },
}

/// How the links are taken.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkQuery {
    /// `true`: no link is made. The results say which links would be, and which of their codes are taken.
    #[serde(default)]
    dry_run: bool,
}

/// Create many short links.
///
/// Up to 10,000: a JSON array of objects as `POST /urls/shorten` takes them, one such object a line
/// (`application/x-ndjson`), or `text/csv` with a header line of the same names. What `GET /urls/export` sends can be posted as
/// it is: `short_code` is the code then, `clicks` the number to start with; `id`, `short_url`, `status`, `created_at` and
/// `updated_at` are ignored.
///
/// Tables may have commas, semicolons or tabs between their cells, a first line `sep=;`, names of columns in any case, fewer cells
/// in a row than in the header line, and UTF-8, UTF-16 or Windows-1252. If a quote is never closed, nothing is created.
///
/// The response has one result for each link, in their order. A link that is refused stops no other. An account may
/// create in this way as many links per minute as one by one (`LIMIT_CREATE`), counted over the minutes that 10,000 links
/// take: at 600 per minute, 10,200 in 17 minutes.
///
/// A call may be repeated if its links have codes of your choice: those that are there already get 409. An
/// `Idempotency-Key` is refused.
#[utoipa::path(
    post, path = "/urls/bulk", tag = "links", operation_id = "bulk", params(BulkQuery),
    request_body(content(
        (Vec<BulkObject> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"),
    )),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "One result for each link, in their order", body = Vec<BulkResult<'static>>),
        (status = 408, description = "The body did not arrive within 25 seconds", body = ErrorBody),
        (status = 413, description = "The body is larger than 32 MiB", body = ErrorBody),
        (status = 422, description = "The body is not such a document, or has more than 10,000 links: no link is created", body = ErrorBody, examples(
            ("no array" = (value = json!({"detail": "body: must be a JSON array of objects"}))),
            ("kind" = (value = json!({"detail": WRONG_KIND}))),
            ("too many" = (value = json!({"detail": "body: must have at most 10000 links; send the others in another call"}))),
            ("unknown column" = (value = json!({"detail": "titel: is not known here; did you mean title?"}))),
            ("key" = (value = json!({"detail": NO_KEY}))),
        )),
        TakesQuery, NeedsToken, NeedsWriteKey, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn bulk(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    LinkMaker(owner): LinkMaker,
    client: ClientAddress,
    headers: HeaderMap,
    query: Result<QueryOf<BulkQuery>, ApiError>,
    request: Request,
) -> Result<Response, ApiError> {
    let calls = &links.bulk_calls_at_once;
    let _place = calls.begin(owner.user, client.as_str())?;
    // Links would have shown that the account still exists.
    accounts.user(owner).await?;
    let QueryOf(BulkQuery { dry_run }) = query?;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        return Err(ApiError::invalid(NO_KEY));
    }
    let body = read_body(request, LIMITS).await?;
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let mut document = Document::of(kind.unwrap_or_default(), &body)?;
    // Before anything is made: what is committed has to be answered.
    let mut room = (links.bulk_results).of(Some(owner.user), Some(client.as_str()));
    room.add(body.len() + RESULT_FIELDS * document.len())?;
    links.begin_bulk(owner, document.len(), !dry_run).await?;
    let mut results = Results::new(room);
    // Why the links from some place on are not created.
    let mut failure: Option<ApiError> = None;
    loop {
        let slice = document.read_next(SLICE, &links.own_host);
        if slice.is_empty() {
            return Ok(results.response());
        }
        if dry_run {
            check(&links, owner, &slice, &mut results).await?;
            continue;
        }
        if failure.is_none() {
            let created = create(&links, (owner, client.as_str()), &slice, &mut results);
            match created.await {
                Ok(()) => continue,
                // What is committed is answered so.
                Err(error) if results.has_created => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        for link in &slice {
            if let Some(refusal) = link.as_ref().err().or(failure.as_ref()) {
                results.refused(refusal);
            }
        }
    }
}

/// Creates those of a slice that can be, and adds the result of each; none where it fails.
async fn create(
    links: &LinkService,
    (owner, address): (Principal, &str),
    slice: &[Result<LinkRequest, ApiError>],
    results: &mut Results,
) -> Result<(), ApiError> {
    let requests: Vec<_> = slice.iter().filter_map(|link| link.as_ref().ok()).collect();
    let mut outcomes = links
        .shorten_many(owner, &requests, address)
        .await?
        .into_iter();
    for link in slice {
        let outcome = match link {
            Ok(request) => outcomes.next().map(|outcome| (request, outcome)),
            Err(refusal) => {
                results.refused(refusal);
                continue;
            }
        };
        match outcome {
            Some((request, Ok(created))) => results.add(&BulkResult::Created {
                status: 200,
                id: created.id.number(),
                short_code: created.code.as_str(),
                target_url: request.properties.target.as_str(),
                clicks: request.clicks,
                is_active: request.properties.is_active,
            }),
            Some((_, Err(error))) => results.refused(&error.into()),
            None => return Err(ApiError::internal("a link of many has no outcome")),
        }
    }
    Ok(())
}

/// Adds the result that each link of a slice would have.
async fn check(
    links: &LinkService,
    owner: Principal,
    slice: &[Result<LinkRequest, ApiError>],
    results: &mut Results,
) -> Result<(), ApiError> {
    let requests: Vec<_> = slice.iter().filter_map(|link| link.as_ref().ok()).collect();
    let mut outcomes = links.check_many(owner, &requests).await?.into_iter();
    for link in slice {
        let outcome = match link {
            Ok(request) => outcomes.next().map(|outcome| (request, outcome)),
            Err(refusal) => {
                results.refused(refusal);
                continue;
            }
        };
        match outcome {
            Some((request, Ok(()))) => results.add(&BulkResult::Possible(PossibleLink {
                status: 200,
                short_code: request
                    .custom_code
                    .as_ref()
                    .map(|code| code.as_code().as_str()),
                target_url: request.properties.target.as_str(),
            })),
            Some((_, Err(error))) => results.refused(&error.into()),
            None => return Err(ApiError::internal("a link of many has no outcome")),
        }
    }
    Ok(())
}

/// The JSON array of results.
struct Results {
    json: Vec<u8>,
    /// Whether a link is created.
    has_created: bool,
    /// Given back once the client has read them.
    _room: ClientShare,
}

impl AsRef<[u8]> for Results {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

impl Results {
    fn new(room: ClientShare) -> Self {
        Self {
            json: vec![b'['],
            has_created: false,
            _room: room,
        }
    }

    fn refused(&mut self, refusal: &ApiError) {
        self.add(&BulkResult::Refused {
            status: refusal.status().as_u16(),
            detail: refusal.detail(),
        });
    }

    fn add(&mut self, result: &BulkResult<'_>) {
        self.has_created |= matches!(result, BulkResult::Created { .. });
        if self.json.len() > 1 {
            self.json.push(b',');
        }
        serde_json::to_writer(&mut self.json, result)
            .expect("results are made of JSON's own types");
    }

    fn response(mut self) -> Response {
        self.json.extend_from_slice(b"]\n");
        ([(CONTENT_TYPE, JSON)], Bytes::from_owner(self)).into_response()
    }
}
