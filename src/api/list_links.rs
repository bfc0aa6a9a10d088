//! `GET /urls/my`: the links of the token's owner, as a stream or page by page.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, LINK};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::TokenOwner;
use super::base_address::BaseAddress;
use super::link_body::LinkBody;
use crate::accounts::Accounts;
use crate::domain::{LinkId, Principal, Timestamp};
use crate::http::documented::{Limited, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, ClientAddress, ErrorBody, JSON, QueryOf};
use crate::links::{LinkError, LinkService, Page};
use crate::store::Position;

/// Links per page of the whole list: so many are in memory at once.
const PAGE: u32 = 250;

/// Links at most on a page that a client asks for.
const MAX_PER_PAGE: u32 = 1_000;

/// The end of a list, with the newline of every JSON body.
const LIST_END: &[u8] = b"]\n";

/// Which part of the list; without both, all of it.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Links on this page, 1 to 1000.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000, example = 50)]
    limit: Option<String>,
    /// Where the page begins: from the `Link` header of the page before.
    #[param(value_type = Option<String>, pattern = "^0[0-2][0-9a-f]{14}00[0-9a-f]{14}$")]
    cursor: Option<String>,
}

/// List your links.
///
/// Newest first. Without parameters it is the whole list, however long, as a stream; with `limit` or
/// `cursor` it is one page, and the `Link` header leads to the next one.
#[utoipa::path(
    get, path = "/urls/my", tag = "links", operation_id = "list", params(ListQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The links", body = Vec<LinkBody>, headers(
            ("Link" = String, description = "`<…>; rel=\"next\"`, where the page has another one after it"),
        )),
        (status = 422, description = "`limit` or `cursor` is not acceptable", body = ErrorBody, examples(
            ("limit" = (value = json!({"detail": "limit: must be a whole number from 1 to 1000"}))),
            ("cursor" = (value = json!({"detail": "cursor: must be that of a page's Link header"}))),
        )),
        TakesQuery, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn list(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    TokenOwner(owner): TokenOwner,
    client: ClientAddress,
    query: Result<QueryOf<ListQuery>, ApiError>,
) -> Result<Response, ApiError> {
    let part = query.and_then(|QueryOf(query)| query.parse());
    let first = match &part {
        Ok(Part::Whole) => links.page(owner, None, PAGE).await?,
        Ok(Part::Page { after, limit }) => links.page(owner, *after, *limit).await?,
        Err(_) => Page::default(),
    };
    if first.is_empty() {
        // Links would have shown that the account still exists.
        accounts.user(owner).await?;
    }
    match part? {
        Part::Whole => whole_list(links, owner, &client, &first),
        Part::Page { limit, .. } => one_page(&first, limit, &base_address),
    }
}

/// The part of a whole list that is still to be sent.
struct Rest {
    after: Position,
    /// No link was sent yet: the next one comes without a comma.
    is_first: bool,
}

enum Part {
    Whole,
    Page { after: Option<Position>, limit: u32 },
}

impl ListQuery {
    fn parse(self) -> Result<Part, ApiError> {
        if self.limit.is_none() && self.cursor.is_none() {
            return Ok(Part::Whole);
        }
        let limit = match self.limit {
            None => PAGE,
            Some(raw) => raw
                .parse()
                .ok()
                .filter(|limit| (1..=MAX_PER_PAGE).contains(limit))
                .ok_or_else(|| ApiError::invalid("limit: must be a whole number from 1 to 1000"))?,
        };
        let after = self
            .cursor
            .map(|raw| {
                parse_cursor(&raw).ok_or_else(|| {
                    ApiError::invalid("cursor: must be that of a page's Link header")
                })
            })
            .transpose()?;
        Ok(Part::Page { after, limit })
    }
}

/// Times of cursors end here, in the year 8815: far beyond, numbers are no timestamps for the database.
const CURSORS_END: i64 = 0x0300_0000_0000_0000;

/// A position as 32 hexadecimal digits.
fn cursor(position: Position) -> String {
    format!(
        "{:016x}{:016x}",
        position.created_at.micros(),
        position.id.number()
    )
}

fn parse_cursor(raw: &str) -> Option<Position> {
    let digits = raw.len() == 32
        && raw
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (created_at, id) = digits.then(|| raw.split_at(16))?;
    let parse = |digits| i64::from_str_radix(digits, 16).ok();
    let created_at = parse(created_at).filter(|micros| *micros < CURSORS_END)?;
    Some(Position {
        created_at: Timestamp::from_micros(created_at)?,
        id: LinkId::parse(parse(id)?)?,
    })
}

fn one_page(page: &Page, limit: u32, base: &BaseAddress) -> Result<Response, ApiError> {
    let mut body = vec![b'['];
    write_links(page, true, &mut body)?;
    body.extend_from_slice(LIST_END);
    let mut response = json(body);
    if let Some(next) = page.next {
        let next = format!(
            "<{}/urls/my?limit={limit}&cursor={}>; rel=\"next\"",
            base.as_str(),
            cursor(next)
        );
        let next =
            HeaderValue::from_str(&next).map_err(|error| ApiError::internal(&error.to_string()))?;
        response.headers_mut().insert(LINK, next);
    }
    Ok(response)
}

/// The first page was read before the response begins, so that an early failure is a proper error. A later failure
/// breaks the connection, so that half a list never looks whole.
fn whole_list(
    links: Arc<LinkService>,
    owner: Principal,
    client: &ClientAddress,
    first: &Page,
) -> Result<Response, ApiError> {
    let mut head = vec![b'['];
    write_links(first, true, &mut head)?;
    let Some(after) = first.next else {
        head.extend_from_slice(LIST_END);
        return Ok(json(head));
    };
    let rest = Rest {
        after,
        is_first: head.len() == 1,
    };
    let stream = links
        .begin_list(owner, client.as_str())
        .map_err(LinkError::from)?;
    let pieces = try_unfold(Some(rest), move |rest| {
        // Reserved until the response is dropped.
        let _ = &stream;
        let links = Arc::clone(&links);
        async move {
            match rest {
                Some(rest) => next_piece(&links, owner, rest).await.map(Some),
                None => Ok(None),
            }
        }
    });
    let head = futures_util::stream::iter([Ok(Bytes::from(head))]);
    Ok(json(Body::from_stream(futures_util::StreamExt::chain(
        head, pieces,
    ))))
}

async fn next_piece(
    links: &LinkService,
    owner: Principal,
    rest: Rest,
) -> Result<(Bytes, Option<Rest>), ApiError> {
    let page = links.page(owner, Some(rest.after), PAGE).await?;
    let mut piece = Vec::new();
    write_links(&page, rest.is_first, &mut piece)?;
    let is_first = rest.is_first && piece.is_empty();
    let rest = page.next.map(|after| Rest { after, is_first });
    if rest.is_none() {
        piece.extend_from_slice(LIST_END);
    }
    Ok((piece.into(), rest))
}

/// Writes the links of a page as JSON, a comma before each but the first.
fn write_links(page: &Page, mut first: bool, out: &mut Vec<u8>) -> Result<(), ApiError> {
    for (link, clicks) in page.links() {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, &LinkBody::new(link, clicks))
            .map_err(|error| ApiError::internal(&error.to_string()))?;
    }
    Ok(())
}

fn json(body: impl Into<Body>) -> Response {
    ([(CONTENT_TYPE, JSON)], body.into()).into_response()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(limit: Option<String>, cursor: Option<String>) -> ListQuery {
        ListQuery { limit, cursor }
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_position(created_at in 0..CURSORS_END, id in 0..=LinkId::LAST.number()) {
            let position = Position { created_at: Timestamp::from_micros(created_at).unwrap(), id: LinkId::parse(id).unwrap() };
            prop_assert_eq!(parse_cursor(&cursor(position)), Some(position));
        }

        #[test]
        fn a_cursor_that_is_accepted_is_the_one_of_its_position(
            raw in prop_oneof![1 => "\\PC*", 6 => "0?[0-3]?[0-9a-f]{13,15}0{0,3}[0-9a-f]{13,15}[g-z+A-F-]?"],
        ) {
            match parse_cursor(&raw) {
                Some(position) => prop_assert_eq!(cursor(position), raw),
                None => prop_assert!(!is_documented(&raw)),
            }
        }

        #[test]
        fn a_page_has_1_to_1000_links_and_the_position_of_its_cursor(
            limit in proptest::option::of(prop_oneof!["\\PC{0,12}", "[0-9]{1,5}"]),
            cursor in proptest::option::of(prop_oneof!["\\PC{0,40}", "0[0-2][0-9a-f]{14}00[0-9a-f]{14}"]),
        ) {
            match query(limit.clone(), cursor.clone()).parse() {
                Ok(Part::Whole) => prop_assert!(limit.is_none() && cursor.is_none()),
                Ok(Part::Page { after, limit }) => {
                    prop_assert!((1..=1_000).contains(&limit));
                    prop_assert_eq!(after.map(super::cursor), cursor);
                }
                Err(error) => prop_assert!(error.to_string().starts_with("422 ")),
            }
        }
    }

    /// As the document describes it: `^0[0-2][0-9a-f]{14}00[0-9a-f]{14}$`.
    fn is_documented(raw: &str) -> bool {
        let digits = raw
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let digit = |at: usize, max: u8| (b'0'..=max).contains(&raw.as_bytes()[at]);
        raw.len() == 32
            && digits
            && digit(0, b'0')
            && digit(1, b'2')
            && digit(16, b'0')
            && digit(17, b'0')
    }
}
