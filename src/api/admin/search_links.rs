//! `GET /admin/links`: links of all accounts.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::{SearchQuery, rule_targets};
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
use crate::api::base_address::BaseAddress;
#[cfg(test)]
use crate::api::words::status_of_link;
use crate::domain::{RemovalStatus, SeenLink};
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};

/// A link as administrators see it.
#[derive(Serialize, ToSchema)]
struct SeenLinkBody {
    /// Identifier.
    #[schema(example = 12, minimum = 1)]
    id: i64,
    /// Its path.
    #[schema(example = "K7mXq2R")]
    short_code: String,
    /// The host of the link; `null`: this service's own.
    #[schema(required = true, example = json!(null))]
    domain: Option<String>,
    /// Its target.
    #[schema(example = "https://example.org/a/long/path")]
    target_url: String,
    /// Where visitors are sent while it is not followed, if its owner chose something.
    #[schema(required = true, example = "https://example.org/later")]
    fallback_url: Option<String>,
    /// Where its rules send some visitors.
    #[schema(example = json!(["https://example.org/app"]))]
    rule_targets: Vec<String>,
    /// The number of its account.
    #[schema(example = 3)]
    owner: i64,
    /// The address that it was made from, as long as that is kept.
    #[schema(required = true, example = "198.51.100.7")]
    made_from: Option<String>,
    /// When it was made, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    created_at: String,
    /// Whether its owner has it switched on.
    is_active: bool,
    /// 410 or 451, if it is removed.
    #[schema(schema_with = status_of_link, required = true)]
    removed: Option<u16>,
    /// Whether visitors need a password. That an administrator has seen its target is in the log.
    has_password: bool,
}

impl SeenLinkBody {
    fn new(link: SeenLink, base_address: &BaseAddress) -> Self {
        Self {
            id: link.id,
            short_code: link.code.to_string(),
            domain: base_address.host_of(&link.code),
            target_url: link.target.as_str().to_owned(),
            rule_targets: rule_targets(link.rules.as_ref()),
            fallback_url: link.fallback.map(|fallback| fallback.as_str().to_owned()),
            owner: link.owner.0,
            made_from: link.address,
            created_at: link.created_at.with_micros(),
            is_active: link.is_active,
            removed: link.removed.map(RemovalStatus::code),
            has_password: link.has_password,
        }
    }
}

/// A page of links.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct SeenLinksBody {
    /// The links, newest first: a page may have fewer than asked for, although others follow.
    links: Vec<SeenLinkBody>,
    /// `before` of the next page, if there is a next page.
    #[schema(required = true, example = 12)]
    next: Option<i64>,
}

/// Search links of all accounts.
#[utoipa::path(
    get, path = "/admin/links", tag = "administration", operation_id = "search_all_links", params(SearchQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The links", body = SeenLinksBody),
        (status = 404, description = "No account has this e-mail address", body = ErrorBody,
            example = json!({"detail": "value: nothing of this kind has this value"})),
        (status = 422, description = "A parameter breaks its rule", body = ErrorBody, example = json!({"detail": "limit: must be from 1 to 200"})),
        TakesQuery, NeedsToken, NeedsRole, Limited, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn search_links(
    State(abuse): State<Arc<Abuse>>,
    State(base_address): State<BaseAddress>,
    Admin(administrator): Admin,
    QueryOf(query): QueryOf<SearchQuery>,
) -> Result<Json<SeenLinksBody>, ApiError> {
    let wanted = query.wanted(&abuse).await?;
    let found = abuse.links(&administrator, &wanted).await?;
    Ok(Json(SeenLinksBody {
        links: found
            .entries
            .into_iter()
            .map(|link| SeenLinkBody::new(link, &base_address))
            .collect(),
        next: found.next,
    }))
}
