//! `/urls/tags`: the tags of the token's owner.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::LINK;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;
use utoipa::{IntoParams, ToSchema};

use super::authentication::TokenOwner;
use super::base_address::BaseAddress;
use crate::accounts::Accounts;
use crate::clicks::counts::AsOf;
use crate::domain::{Principal, SearchTag};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsRoom, NeedsToken, NeedsWriteKey,
    TakesBody, TakesQuery,
};
use crate::http::{ApiError, ClientAddress, Json, JsonBody, QueryOf, with_clicks_as_of};
use crate::links::{LinkService, TagListing};
use crate::store::TagTotals;

/// Tags on a page at most, and unless a client asks for fewer.
const MAX_LIMIT: u32 = 1_000;

/// Which tags.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct TagsQuery {
    /// Tags of links of this host, counted there: one of `GET /domains`, or the service's own.
    #[param(max_length = 260)]
    domain: Option<String>,
    /// Tags on this page, 1 to 1000; without it 1000.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// Where the page begins: from the `Link` header of the page before.
    #[param(min_length = 1, max_length = 50)]
    cursor: Option<String>,
}

/// A tag of your links.
#[derive(Serialize, ToSchema)]
pub(super) struct TagBody {
    /// The tag.
    #[schema(example = "spring")]
    tag: String,
    /// How many links have it.
    #[schema(example = 12, minimum = 0)]
    links: u64,
    /// Clicks of these links.
    #[schema(example = 3456, minimum = 0)]
    clicks: u64,
}

impl From<TagTotals> for TagBody {
    fn from(totals: TagTotals) -> Self {
        Self {
            tag: totals.tag,
            links: totals.links,
            clicks: totals.clicks,
        }
    }
}

/// Another name for a tag.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TagPatch {
    /// The new name.
    #[schema(example = "spring sale", min_length = 1, max_length = 50)]
    tag: String,
}

/// List your tags.
///
/// By their bytes: `B` before `a`. A tag is listed as long as a link has it; `Spring` and `spring` are two tags. Links of all hosts
/// are counted, and those that are inactive, ended or removed by administrators, too.
#[utoipa::path(
    get, path = "/urls/tags", tag = "links", operation_id = "tags", params(TagsQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The tags", body = Vec<TagBody>, headers(
            ("Link" = String, description = "`<…>; rel=\"next\"`, where the page has another one after it"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("limit" = (value = json!({"detail": "limit: must be a whole number from 1 to 1000"}))),
            ("cursor" = (value = json!({"detail": "cursor: must be the cursor of a page's Link header"}))),
        )),
        TakesQuery, NeedsToken, NeedsReadKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn list(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    TokenOwner(owner): TokenOwner,
    query: Result<QueryOf<TagsQuery>, ApiError>,
) -> Result<Response, ApiError> {
    let asked = query.and_then(|QueryOf(query)| Ok((query.listing(&links)?, query)));
    let (listing, query) = match asked {
        Ok(asked) => asked,
        Err(refusal) => {
            // Tags would have shown that the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let AsOf { value: page, as_of } = links.tags(owner, &listing).await?;
    if page.tags.is_empty() {
        accounts.user(owner).await?;
    }
    let tags: Vec<_> = page.tags.into_iter().map(TagBody::from).collect();
    let mut response = with_clicks_as_of(Json(tags).into_response(), as_of);
    if let Some(last) = page.next {
        let next = query.next_page(&base_address, listing.limit, &last);
        let next =
            HeaderValue::try_from(next).map_err(|error| ApiError::internal(&error.to_string()))?;
        response.headers_mut().insert(LINK, next);
    }
    Ok(response)
}

impl TagsQuery {
    fn listing(&self, links: &LinkService) -> Result<TagListing, ApiError> {
        let domain = |raw: &String| {
            let domain = links.domain_named(raw);
            domain.ok_or_else(|| ApiError::invalid("domain: is no host of this service"))
        };
        Ok(TagListing {
            domain: self.domain.as_ref().map(domain).transpose()?,
            ..self.part()?
        })
    }

    fn part(&self) -> Result<TagListing, ApiError> {
        let limit = |raw: &String| {
            let limit = raw.parse().ok();
            let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
            limit.ok_or_else(|| ApiError::invalid("limit: must be a whole number from 1 to 1000"))
        };
        let after = |raw: &String| {
            let after = SearchTag::parse(raw);
            after.map_err(|_| {
                ApiError::invalid("cursor: must be the cursor of a page's Link header")
            })
        };
        Ok(TagListing {
            after: self.cursor.as_ref().map(after).transpose()?,
            domain: None,
            limit: self.limit.as_ref().map_or(Ok(MAX_LIMIT), limit)?,
        })
    }

    /// The link to the next page, with all parameters of this one.
    fn next_page(&self, base: &BaseAddress, limit: u32, last: &str) -> String {
        let address = format!("<{}/urls/tags?", base.as_str());
        let begin = address.len();
        let mut query = Serializer::for_suffix(address, begin);
        if let Some(domain) = &self.domain {
            query.append_pair("domain", domain);
        }
        query.append_pair("limit", &limit.to_string());
        query.append_pair("cursor", last);
        format!("{}>; rel=\"next\"", query.finish())
    }
}

/// Rename a tag.
///
/// On all of your links, of all hosts, and on those that administrators removed. A tag of the new name that is there is merged with it: a link
/// that has both keeps the tag where the first of them is. Links that change get another `ETag`, as by `PATCH` of the link. Links are
/// changed in short steps: of very many, one request changes some, answers 503, and the same request goes on with the others. A link that
/// gets the old tag meanwhile may keep it.
#[utoipa::path(
    patch, path = "/urls/tags/{tag}", tag = "links", operation_id = "rename_tag", security(("bearer" = [])),
    params(("tag" = String, Path, description = "The tag, percent-encoded", example = "spring", min_length = 1)),
    request_body = TagPatch,
    responses(
        (status = 200, description = "The tag as it is now", body = TagBody, headers(
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 404, description = "No link of yours has this tag", body = ErrorBody, example = json!({"detail": "Not Found"})),
        TakesBody, NeedsToken, NeedsWriteKey, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn rename(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    client: ClientAddress,
    uri: Uri,
    patch: Result<JsonBody<TagPatch>, ApiError>,
) -> Result<Response, ApiError> {
    let new = patch.and_then(|JsonBody(patch)| {
        let new = SearchTag::for_links(&patch.tag);
        new.map_err(|error| ApiError::invalid(error.to_string()))
    });
    let renamed = match (tag_in(&uri), &new) {
        (Some(old), Ok(new)) => links.rename_tag(owner, &old, new, client.as_str()).await?,
        _ => None,
    };
    let Some(AsOf { value, as_of }) = renamed else {
        return Err(missing(&accounts, owner, new.err()).await);
    };
    let body = Json(TagBody::from(value));
    Ok(with_clicks_as_of(body.into_response(), as_of))
}

/// Take a tag off your links.
///
/// Off all of them, as when it is renamed; the links stay.
#[utoipa::path(
    delete, path = "/urls/tags/{tag}", tag = "links", operation_id = "delete_tag", security(("bearer" = [])),
    params(("tag" = String, Path, description = "The tag, percent-encoded", example = "spring", min_length = 1)),
    responses(
        (status = 204, description = "No link has the tag any more"),
        (status = 404, description = "No link of yours has this tag", body = ErrorBody, example = json!({"detail": "Not Found"})),
        NeedsToken, NeedsWriteKey, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn delete(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    client: ClientAddress,
    uri: Uri,
) -> Result<StatusCode, ApiError> {
    if let Some(tag) = tag_in(&uri)
        && links.delete_tag(owner, &tag, client.as_str()).await?
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(missing(&accounts, owner, None).await)
}

/// The tag in a path; `None` if it is no tag that a link may have. Read from the raw path: what is not UTF-8 is unknown, and no error.
fn tag_in(uri: &Uri) -> Option<SearchTag> {
    let raw = uri.path().strip_prefix("/urls/tags/")?;
    let tag = percent_decode_str(raw).decode_utf8().ok()?;
    SearchTag::parse(&tag)
        .ok()
        .filter(|parsed| parsed.as_str() == tag)
}

/// Why no link was changed. A link would have shown that the account still exists.
async fn missing(accounts: &Accounts, owner: Principal, refusal: Option<ApiError>) -> ApiError {
    match accounts.user(owner).await {
        Ok(_) => refusal.unwrap_or_else(ApiError::not_found),
        Err(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::option::of;
    use proptest::prelude::*;

    use super::*;
    use crate::config::BaseUrl;
    use crate::domain::CurrentHosts;

    proptest! {
        #[test]
        fn any_tag_is_read_from_a_path_and_nothing_else_is(raw in "\\PC{0,9}|[ a-z/%.,?#é]{0,60}") {
            let encoded = utf8_percent_encode(&raw, NON_ALPHANUMERIC);
            let uri: Uri = format!("/urls/tags/{encoded}").parse().unwrap();
            let known = SearchTag::parse(&raw).ok().filter(|tag| tag.as_str() == raw);
            prop_assert_eq!(tag_in(&uri), known);
        }

        #[test]
        fn a_page_has_1_to_1000_tags_and_leads_to_the_next_one(
            limit in of(prop_oneof!["\\PC{0,12}", "[0-9]{1,5}"]), cursor in of("\\PC{0,60}"),
        ) {
            let query = TagsQuery { limit, cursor, domain: Some("go.example.org".into()) };
            let Ok(part) = query.part() else { return Ok(()) };
            prop_assert!((1..=1_000).contains(&part.limit));
            let base = BaseAddress::new(&BaseUrl::parse("https://sho.rt").unwrap(), CurrentHosts::default());
            let last = part.after.as_ref().map_or("a b", SearchTag::as_str);
            let link = query.next_page(&base, part.limit, last);
            prop_assert!(link.is_ascii());
            let url = link.strip_prefix("<https://sho.rt/urls/tags?").unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            let next: TagsQuery = serde_urlencoded::from_str(url).unwrap();
            prop_assert_eq!(&next.domain, &query.domain);
            let TagListing { limit, after, .. } = next.part().unwrap();
            prop_assert_eq!((limit, after.as_ref().map(SearchTag::as_str)), (part.limit, Some(last)));
        }
    }
}
