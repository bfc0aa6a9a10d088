//! `POST /urls/bulk`: creates many short links in one call.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use super::authentication::TokenOwner;
use super::bulk_document::{Document, WRONG_KIND};
use super::idempotency_key::IDEMPOTENCY_KEY;
use super::link_json::BulkObject;
use crate::accounts::Accounts;
use crate::domain::Principal;
use crate::http::documented::{Limited, NeedsDatabase, NeedsToken, NeedsWriteKey};
use crate::http::{ApiError, BodyLimits, ClientAddress, ErrorBody, JSON, read_body};
use crate::links::{LinkRequest, LinkService};

/// Largest body: 10,000 links with the longest targets need a third of it.
const MAX_BYTES: u32 = 64 << 20;

const LIMITS: BodyLimits = BodyLimits {
    bytes: MAX_BYTES as usize,
    timeout: Duration::from_secs(25),
};

/// Links that are parsed and created at once: so many are in memory beside the body.
const SLICE: usize = 1_000;

/// The results of one call are too many to be kept for a day.
const NO_KEY: &str = "Idempotency-Key: must be left out here; give each link a custom_code instead, and a repetition makes none twice";

/// Memory for bodies in this process.
static BODIES: Semaphore = Semaphore::const_new(2 * LIMITS.bytes);

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
    /// It was refused, as a single link would have been.
    Refused {
        #[schema(example = 409)]
        status: u16,
        /// The problem, in a sentence for a person.
        #[schema(example = "custom_code: is taken")]
        detail: &'a str,
    },
}

/// Create many short links.
///
/// Up to 10,000: a JSON array of objects as `POST /urls/shorten` takes them, one such object a line
/// (`application/x-ndjson`), or `text/csv` with a header line of the same names. What `GET /urls/export` sends can be posted as
/// it is: `short_code` is the code then, `clicks` the number to start with; `id`, `short_url`, `status`, `created_at` and
/// `updated_at` are read over.
///
/// The response has one result for each link, in their order. A link that is refused stops no other. An account may
/// create in this way as many links per minute as one by one (`LIMIT_CREATE`), counted over the minutes that 10,000 links
/// take: at 600 per minute, 10,200 in 17 minutes.
///
/// A call may be repeated if its links have codes of your choice: those that are there already get 409. An
/// `Idempotency-Key` is refused.
#[utoipa::path(
    post, path = "/urls/bulk", tag = "links", operation_id = "bulk",
    request_body(content(
        (Vec<BulkObject> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"),
    )),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "One result for each link, in their order", body = Vec<BulkResult<'static>>),
        (status = 408, description = "The body did not arrive within 25 seconds", body = ErrorBody),
        (status = 413, description = "The body is larger than 64 MiB", body = ErrorBody),
        (status = 422, description = "The body is no such document, or has more than 10,000 links: none is created", body = ErrorBody, examples(
            ("no array" = (value = json!({"detail": "body: must be a JSON array of objects"}))),
            ("kind" = (value = json!({"detail": WRONG_KIND}))),
            ("too many" = (value = json!({"detail": "body: must have at most 10000 links; send the others in another call"}))),
            ("unknown column" = (value = json!({"detail": "titel: is not known here; did you mean title?"}))),
            ("key" = (value = json!({"detail": NO_KEY}))),
        )),
        NeedsToken, NeedsWriteKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn bulk(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    client: ClientAddress,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let calls = &links.bulk_calls_at_once;
    let _place = calls.begin(owner.user, client.as_str())?;
    // Links would have shown that the account still exists.
    accounts.user(owner).await?;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        return Err(ApiError::invalid(NO_KEY));
    }
    let announced = request.body().size_hint().upper();
    let announced = announced.and_then(|bytes| u32::try_from(bytes).ok());
    let bytes = announced.unwrap_or(MAX_BYTES).min(MAX_BYTES);
    let _memory = BODIES
        .try_acquire_many(bytes)
        .map_err(|_| ApiError::overloaded())?;
    let body = read_body(request, LIMITS).await?;
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let mut document = Document::of(kind.unwrap_or_default(), &body)?;
    links.begin_bulk(owner, document.len()).await?;
    let mut results = Results::new();
    loop {
        let slice = document.read_next(SLICE, &links.own_host);
        if slice.is_empty() {
            return Ok(results.response());
        }
        create(&links, (owner, client.as_str()), &slice, &mut results).await?;
    }
}

/// Creates those of a slice that can be, and adds the result of each.
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

/// The JSON array of results.
struct Results(Vec<u8>);

impl Results {
    fn new() -> Self {
        Self(vec![b'['])
    }

    fn refused(&mut self, refusal: &ApiError) {
        self.add(&BulkResult::Refused {
            status: refusal.status().as_u16(),
            detail: refusal.detail(),
        });
    }

    fn add(&mut self, result: &BulkResult<'_>) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, result).expect("results are made of JSON's own types");
    }

    fn response(mut self) -> Response {
        self.0.extend_from_slice(b"]\n");
        ([(CONTENT_TYPE, JSON)], Bytes::from(self.0)).into_response()
    }
}
