//! `GET /urls/my`: the links of the token's owner, as a stream or page by page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, LINK};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use url::form_urlencoded::Serializer;
use utoipa::IntoParams;

use super::authentication::TokenOwner;
use super::base_address::BaseAddress;
use super::link_body::View;
use super::link_stream::{Form, LinkJson, WholeList, array};
#[cfg(test)]
use super::words::SortWord;
use crate::accounts::Accounts;
use crate::domain::{InvalidSearch, LinkFilter, LinkOrder, LinkStatus, SearchTag, StatusFilter};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsToken, TakesQuery,
};
use crate::http::{
    ApiError, ClientAddress, JSON, QueryOf, cursor, parse_cursor, with_clicks_as_of,
};
use crate::links::{LinkService, Listing};
use crate::store::Position;
#[cfg(test)]
use crate::wire::{LinkBody, ViewWord};

/// Links on a page of which only the cursor is given.
const DEFAULT_LIMIT: u32 = 250;

/// Links at most on a page that a client asks for.
const MAX_LIMIT: u32 = 1_000;

/// Which links, in which order, and which part of the list; without `limit` and `cursor`, all of it.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Links that have all of these words, each anywhere in code, alias, target, title, note or tags, in any case and with any accents. White
    /// space stands between words. A word that is a short URL of this service finds the link with its code.
    /// At most 200 bytes. One search of an account runs at a time: a further one waits for its turn.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Links that have exactly this tag.
    #[param(max_length = 50)]
    tag: Option<String>,
    /// Links with this status. `used_up` goes by clicks that are written back, about a second after they were answered.
    #[param(value_type = Option<LinkStatus>, inline)]
    status: Option<String>,
    /// Links of this host: one of `GET /domains`, or the service's own.
    #[param(max_length = 260)]
    domain: Option<String>,
    /// Order of the links; by default `-created_at`, newest first. `clicks` and `-clicks` sort by the counts that are written back
    /// to the database, which in an account with 10,000 links or more may be some seconds old. A link whose count changes between
    /// two pages may appear on both pages or on neither page.
    #[param(value_type = Option<SortWord>, inline)]
    sort: Option<String>,
    /// `full`: all fields of the links.
    #[param(value_type = Option<ViewWord>, inline)]
    view: Option<String>,
    /// Links on this page, 1 to 1000. With `q`, `tag`, `status` or `sort` a page may be shorter, even empty, and yet have a next page: each
    /// looks at 10,000 links or 2 MiB of them at most. Only the `Link` header says whether others follow.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000, example = 50)]
    limit: Option<String>,
    /// Where the page begins: from the `Link` header of the page before, in the same order.
    #[param(value_type = Option<String>, pattern = "^[oml]?0[0-2][0-9a-f]{14}00[0-9a-f]{14}$")]
    cursor: Option<String>,
}

/// List your links.
///
/// The newest first, unless `sort` says otherwise. Without `limit` and `cursor` it is the whole list, however long, as a
/// stream; with one of them it is one page, and the `Link` header leads to the next page. No link is on two pages or
/// missing, however many are created and deleted in between.
#[utoipa::path(
    get, path = "/urls/my", tag = "links", operation_id = "list", params(ListQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The links; with `view=full`, all fields of each", body = Vec<LinkBody>, headers(
            ("Link" = String, description = "`<…>; rel=\"next\"`, where the page may have another one after it"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("limit" = (value = json!({"detail": "limit: must be a whole number from 1 to 1000"}))),
            ("cursor" = (value = json!({"detail": "cursor: must be the cursor of a page's Link header"}))),
            ("sort" = (value = json!({"detail": "sort: must be -created_at, created_at, -clicks or clicks"}))),
            ("unknown" = (value = json!({"detail": "tags: is not known here; did you mean tag?"}))),
        )),
        TakesQuery, NeedsToken, NeedsReadKey, Limited, NeedsDatabase,
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
    let asked = query.and_then(|QueryOf(query)| Ok((query.parse(&links)?, query)));
    let (
        ListRequest {
            listing,
            part,
            view,
        },
        query,
    ) = match asked {
        Ok(asked) => asked,
        Err(refusal) => {
            // Links would have shown that the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let json = LinkJson {
        secrets: false,
        view,
        base_address: base_address.clone(),
    };
    let Some(Part { after, limit }) = part else {
        let list = WholeList {
            links,
            owner,
            listing,
            form: Form::Array(json),
        };
        let first = list.first_page().await?;
        if first.is_empty() {
            accounts.user(owner).await?;
        }
        let as_of = first.as_of;
        return Ok(with_clicks_as_of(
            json_body(list.body(&first, &client)?),
            as_of,
        ));
    };
    let page = links.page(owner, &listing, after, limit).await?;
    if page.is_empty() {
        accounts.user(owner).await?;
    }
    let mut response = with_clicks_as_of(json_body(array(&page, json)?), page.as_of);
    if let Some(next) = page.next {
        let next = query.next_page(&base_address, limit, &cursor(listing.order, next));
        let next =
            HeaderValue::try_from(next).map_err(|error| ApiError::internal(&error.to_string()))?;
        response.headers_mut().insert(LINK, next);
    }
    Ok(response)
}

fn json_body(body: impl Into<Body>) -> Response {
    ([(CONTENT_TYPE, JSON)], body.into()).into_response()
}

struct ListRequest {
    listing: Listing,
    view: View,
    /// `None`: the whole list.
    part: Option<Part>,
}

#[derive(Debug, PartialEq, Eq)]
struct Part {
    after: Option<Position>,
    limit: u32,
}

impl ListQuery {
    fn parse(&self, links: &LinkService) -> Result<ListRequest, ApiError> {
        let invalid = |error: InvalidSearch| ApiError::invalid(error.to_string());
        let mut listing = self.listing(links).map_err(invalid)?;
        let group = links.group(None, self.domain.as_deref());
        listing.filter.domain = group.map_err(invalid)?.domain;
        Ok(ListRequest {
            part: self.part(listing.order)?,
            view: View::parse(self.view.as_deref())?,
            listing,
        })
    }

    fn listing(&self, links: &LinkService) -> Result<Listing, InvalidSearch> {
        let text = |raw: &str| links.search_text(raw);
        let status = |word| {
            let status = LinkStatus::parse(word).ok_or(InvalidSearch::Status);
            status.map(StatusFilter::Only)
        };
        let filter = LinkFilter {
            text: self.q.as_deref().map_or(Ok(None), text)?,
            tag: self.tag.as_deref().map(SearchTag::parse).transpose()?,
            status: self.status.as_deref().map(status).transpose()?,
            domain: None,
        };
        let order = self.sort.as_deref().map(LinkOrder::parse).transpose()?;
        Ok(Listing {
            filter,
            order: order.unwrap_or_default(),
        })
    }

    fn part(&self, order: LinkOrder) -> Result<Option<Part>, ApiError> {
        if self.limit.is_none() && self.cursor.is_none() {
            return Ok(None);
        }
        let limit = match &self.limit {
            None => DEFAULT_LIMIT,
            Some(raw) => raw
                .parse()
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                .ok_or_else(|| ApiError::invalid("limit: must be a whole number from 1 to 1000"))?,
        };
        let cursor = self.cursor.as_deref();
        let after = cursor.map(|raw| parse_cursor(order, raw)).transpose()?;
        Ok(Some(Part { after, limit }))
    }

    /// The link to the next page, with all parameters of this one.
    fn next_page(&self, base: &BaseAddress, limit: u32, cursor: &str) -> String {
        let address = format!("<{}/urls/my?", base.as_str());
        let begin = address.len();
        let mut query = Serializer::for_suffix(address, begin);
        for (name, value) in [
            ("q", &self.q),
            ("tag", &self.tag),
            ("status", &self.status),
            ("domain", &self.domain),
            ("sort", &self.sort),
            ("view", &self.view),
        ] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.append_pair("limit", &limit.to_string());
        query.append_pair("cursor", cursor);
        format!("{}>; rel=\"next\"", query.finish())
    }
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;

    use super::*;
    use crate::config::BaseUrl;
    use crate::domain::CurrentHosts;

    proptest! {
        #[test]
        fn a_page_has_1_to_1000_links_and_the_position_of_its_cursor(
            limit in of(prop_oneof!["\\PC{0,12}", "[0-9]{1,5}"]),
            cursor in of(prop_oneof!["\\PC{0,40}", "0[0-2][0-9a-f]{14}00[0-9a-f]{14}"]),
        ) {
            let query = ListQuery { limit, cursor, ..ListQuery::default() };
            match query.part(LinkOrder::Newest) {
                Ok(None) => prop_assert!(query.limit.is_none() && query.cursor.is_none()),
                Ok(Some(Part { after, limit })) => {
                    prop_assert!((1..=1_000).contains(&limit));
                    let cursor = after.map(|after| super::cursor(LinkOrder::Newest, after));
                    prop_assert_eq!(cursor, query.cursor);
                }
                Err(error) => prop_assert!(error.to_string().starts_with("422 ")),
            }
        }

        #[test]
        fn the_link_to_the_next_page_has_the_parameters_of_this_one(
            q in of("\\PC{0,9}"), tag in of("\\PC{0,9}"), sort in of("\\PC{0,9}"), status in of("\\PC{0,9}"),
            view in of("full"),
        ) {
            let query = ListQuery { q, tag, status, sort, view, ..ListQuery::default() };
            let base = BaseUrl::parse("https://sho.rt").unwrap();
            let base = BaseAddress::new(&base, CurrentHosts::default());
            let link = query.next_page(&base, 7, "c");
            prop_assert!(link.is_ascii());
            let url = link.strip_prefix("<https://sho.rt/urls/my?").unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            let next: ListQuery = serde_urlencoded::from_str(url).unwrap();
            prop_assert_eq!((next.limit.as_deref(), next.cursor.as_deref()), (Some("7"), Some("c")));
            let fields = |query: ListQuery| [query.q, query.tag, query.status, query.sort, query.view];
            prop_assert_eq!(fields(next), fields(query));
        }
    }
}
