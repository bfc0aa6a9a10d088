//! `GET /urls/my/events`: what happened to the links of the caller, in one order.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{once, unfold};
use serde::Deserialize;
use tokio::time::{Instant, sleep};
use utoipa::IntoParams;

use super::authentication::ListeningOwner;
use super::base_address::BaseAddress;
use crate::accounts::Accounts;
use crate::events::{FeedError, FeedStart, Feeds, Reader, event_body};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsToken, TakesQuery,
};
use crate::http::{ApiError, ClientAddress, MayListen, QueryOf, UNBUFFERED, Unending};
use crate::store::EventPage;
use crate::wire::EventBody;

/// Where a client goes on that has read a response, also if no event came.
const CURSOR: HeaderName = HeaderName::from_static("shunt-cursor");

/// The header by which browsers go on after a connection broke.
const LAST_EVENT_ID: &str = "last-event-id";

const DEFAULT_LIMIT: u32 = 1_000;
const MAX_LIMIT: u32 = 10_000;

/// The longest that a request waits for events.
const MAX_WAIT: u32 = 30;

/// Browsers connect again after so many milliseconds.
const RETRY: u32 = 3_000;

/// After so long without events a comment is sent: a proxy closes a connection on which nothing comes.
const QUIET: Duration = Duration::from_secs(15);

/// Which events, and how long to wait for them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// The `id` of the last event that you have; `now`: only what happens from now on. Without it, from the oldest event that is kept.
    #[param(example = "5f0c8d0212.3", max_length = 64)]
    after: Option<String>,
    /// For how many seconds to wait if there are no events: 0 to 30.
    #[param(value_type = Option<u32>, default = 0, maximum = 30)]
    wait: Option<String>,
    /// The most events of a response: 1 to 10,000.
    #[param(value_type = Option<u32>, default = 1000, minimum = 1, maximum = 10000)]
    limit: Option<String>,
}

/// What was asked for.
struct Asked {
    start: FeedStart,
    wait: Duration,
    limit: usize,
}

impl EventsQuery {
    fn parse(&self, last_event_id: Option<&HeaderValue>) -> Result<Asked, ApiError> {
        let after = match last_event_id.filter(|id| !id.is_empty()) {
            None => self.after.as_deref(),
            // Browsers keep the address and add the header.
            Some(id) => Some(id.to_str().unwrap_or_default()),
        };
        let start = match after {
            None => FeedStart::Oldest,
            Some("now") => FeedStart::Now,
            Some(cursor) => {
                let cursor = cursor.parse();
                FeedStart::After(
                    cursor.map_err(|error| ApiError::invalid(format!("after: {error}")))?,
                )
            }
        };
        let number = |name: &str, value: Option<&str>, least: u32, most: u32, usual: u32| {
            let Some(value) = value else { return Ok(usual) };
            let number = value.parse().ok();
            let number = number.filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| {
                ApiError::invalid(format!("{name}: must be a number from {least} to {most}"))
            })
        };
        let wait = number("wait", self.wait.as_deref(), 0, MAX_WAIT, 0)?;
        let limit = number("limit", self.limit.as_deref(), 1, MAX_LIMIT, DEFAULT_LIMIT)?;
        Ok(Asked {
            start,
            wait: Duration::from_secs(wait.into()),
            limit: limit as usize,
        })
    }
}

/// What happened to your links?
///
/// One order of all that happened: a JSON object a line, or server-sent events if `Accept` is `text/event-stream`. At each event, the
/// sum of `clicks` of all events of a link, from `link.created` on, is the number of its clicks that were counted by then. An event may be
/// sent again, and has the same `id` then.
#[utoipa::path(
    get, path = "/urls/my/events", tag = "links", operation_id = "events",
    params(
        EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "In the place of `after`: browsers send it when they connect again"),
    ),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "Events, the oldest first; empty if none came in time", content((EventBody = "application/x-ndjson"), (String = "text/event-stream")), headers(
            ("Shunt-Cursor" = String, description = "A cursor after all that was read before the response began: go on from the `id` of its last event, or from here if it has none"),
        )),
        (status = 410, description = "Events after this cursor are not kept any more, or the database went back to a state before it: `detail` says which", body = ErrorBody, examples(
            ("old" = (value = json!({"detail": "Events after this one are not kept any more; begin again without `after`"}))),
            ("restored" = (value = json!({"detail": "The database went back to a state before this event; begin again without `after`"}))),
        )),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody,
            example = json!({"detail": "wait: must be a number from 0 to 30"})),
        TakesQuery, NeedsToken, NeedsReadKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn events(
    State(feeds): State<Arc<Feeds>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    ListeningOwner { principal, bearer }: ListeningOwner,
    query: Result<QueryOf<EventsQuery>, ApiError>,
    headers: HeaderMap,
    client: ClientAddress,
) -> Result<Response, ApiError> {
    // An account that is gone has no events.
    accounts.user(principal).await?;
    let QueryOf(query) = query?;
    let asked = query.parse(headers.get(LAST_EVENT_ID))?;
    let place = feeds.place(principal, &asked.start).await?;
    let is_stream = wants_stream(&headers);
    let page = if is_stream || asked.start == FeedStart::Now {
        None
    } else {
        Some(feeds.read(principal, place, asked.limit).await?)
    };
    let next = page.as_ref().map_or(place, |page| page.next);
    let cursor = feeds.cursor(next).await?.to_string();
    let header =
        HeaderValue::try_from(&cursor).map_err(|error| ApiError::internal(&error.to_string()))?;
    let written = page.as_ref().map(|page| lines(page, &base_address));
    let mut response = match written {
        Some(lines) if !lines.is_empty() || asked.wait.is_zero() => {
            Body::from(lines).into_response()
        }
        _ => {
            let reader = feeds.reader(principal, next, client.as_str())?;
            let body = if is_stream {
                let head = format!("retry: {RETRY}\nid: {cursor}\n\n");
                let may_listen: MayListen = Box::new(move || {
                    let (accounts, bearer) = (Arc::clone(&accounts), bearer.clone());
                    Box::pin(async move {
                        accounts.has_time_left(&bearer) && accounts.user(principal).await.is_ok()
                    })
                });
                stream(head, reader, base_address, may_listen)
            } else {
                waiting(reader, base_address, asked.wait, asked.limit)
            };
            let mut response = body.into_response();
            response.extensions_mut().insert(Unending);
            response
        }
    };
    let content_type = if is_stream {
        "text/event-stream"
    } else {
        "application/x-ndjson"
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CURSOR, header);
    let (name, value) = UNBUFFERED;
    headers.insert(name, value);
    Ok(response)
}

/// Whether a client asks for server-sent events.
fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    let mut ranges = accepted.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_stream = parts
            .next()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"));
        is_stream && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn bodies<'a>(
    page: &'a EventPage,
    base_address: &'a BaseAddress,
) -> impl Iterator<Item = EventBody> + 'a {
    let events = page.events.iter();
    events.map(|event| {
        let code = event.code.as_ref();
        event_body(event, code.and_then(|code| base_address.host_of(code)))
    })
}

fn lines(page: &EventPage, base_address: &BaseAddress) -> Vec<u8> {
    let mut lines = Vec::new();
    for body in bodies(page, base_address) {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut lines, &body);
        lines.push(b'\n');
    }
    lines
}

/// The next events, or nothing when the time is over.
fn waiting(mut reader: Reader, base_address: BaseAddress, wait: Duration, limit: usize) -> Body {
    let deadline = Instant::now() + wait;
    Body::from_stream(once(async move {
        let page = reader.next(limit, deadline).await.ok().flatten();
        let lines = page.map(|page| lines(&page, &base_address));
        Ok::<_, Infallible>(Bytes::from(lines.unwrap_or_default()))
    }))
}

/// Server-sent events for as long as the client may listen.
fn stream(head: String, reader: Reader, base_address: BaseAddress, may_listen: MayListen) -> Body {
    let head = once(async { Ok::<_, Infallible>(Bytes::from(head)) });
    let events = unfold(
        (reader, base_address, may_listen),
        async |(mut reader, base_address, mut may_listen)| {
            let page = loop {
                match reader
                    .next(DEFAULT_LIMIT as usize, Instant::now() + QUIET)
                    .await
                {
                    Ok(page) => break page?,
                    Err(FeedError::End(_)) => return None,
                    // What cannot be read now is read a moment later.
                    Err(_) => sleep(Duration::from_secs(1)).await,
                }
            };
            // Of a key that ended, nothing is read any more.
            if page.events.is_empty() && !may_listen().await {
                return None;
            }
            let mut piece = Vec::new();
            for body in bodies(&page, &base_address) {
                let head = format!("id: {}\nevent: {}\ndata: ", body.id, body.of);
                piece.extend_from_slice(head.as_bytes());
                // Writing to memory does not fail.
                let _ = serde_json::to_writer(&mut piece, &body);
                piece.extend_from_slice(b"\n\n");
            }
            if piece.is_empty() {
                piece.extend_from_slice(b":\n\n");
            }
            let piece = Ok::<_, Infallible>(Bytes::from(piece));
            Some((piece, (reader, base_address, may_listen)))
        },
    );
    Body::from_stream(head.chain(events))
}
