//! `POST /urls/shorten`

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{LinkAnswer, LinksApi};
use crate::accounts::TokenOwner;
use crate::domain::{Link, ShortCode, TargetUrl, Timestamp, UserId};
use crate::http::{ApiError, ErrorBody, QueryOf};
use crate::limits::Action;
use crate::store::{CreateLinkError, NewLink};

/// How often a code that is taken is drawn again: with a thousand million links one draw in 1,700 is.
const DRAWS: usize = 8;

/// What is to be shortened.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ShortenQuery {
    /// Absolute http or https URL of at most 2048 bytes.
    #[param(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: String,
}

/// Makes a short link, owned by whoever asks.
#[utoipa::path(
    post, path = "/urls/shorten", tag = "links", params(ShortenQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The link is made", body = LinkAnswer),
        (status = 401, description = "`Not authenticated`", body = ErrorBody),
        (status = 422, description = "`target_url` is missing or not acceptable", body = ErrorBody),
        (status = 429, description = "Too many links made in this minute", body = ErrorBody),
        (status = 503, description = "Not now; try again after `Retry-After` seconds", body = ErrorBody),
    ),
)]
pub async fn shorten(
    State(api): State<LinksApi>,
    TokenOwner(owner): TokenOwner,
    QueryOf(query): QueryOf<ShortenQuery>,
) -> Result<Json<LinkAnswer>, ApiError> {
    let target = TargetUrl::parse(&query.target_url, &api.own_host)
        .map_err(|error| ApiError::invalid(error.to_string()))?;
    api.limiter
        .count(Action::Create, &owner.0.to_string())
        .await?;
    let link = api.create(owner, &target).await?;
    Ok(Json(LinkAnswer::new(&link, 0)))
}

impl LinksApi {
    async fn create(&self, owner: UserId, target: &TargetUrl) -> Result<Link, ApiError> {
        for _ in 0..DRAWS {
            let code =
                ShortCode::generate().map_err(|error| ApiError::internal(&error.to_string()))?;
            let link = NewLink {
                code: &code,
                target,
                owner,
                created_at: Timestamp::now(),
            };
            match self.links.create_link(link).await {
                Ok(link) => return Ok(link),
                Err(CreateLinkError::CodeTaken) => {}
                Err(CreateLinkError::OwnerGone) => return Err(ApiError::not_authenticated()),
                Err(CreateLinkError::Store(error)) => return Err(error.into()),
            }
        }
        Err(ApiError::internal("every code that was drawn is taken"))
    }
}
