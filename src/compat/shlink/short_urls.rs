//! Links: made, shown, changed, deleted.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::Value;

use super::answer::{answered, done, short_url};
use super::asked::{body, caller, code};
use super::fields::{NewLink, edit as edit_of, is_as_asked, new_link};
use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::services::Services;
use crate::domain::{CustomCode, LinkRequest, ShortCode};
use crate::http::ApiError;
use crate::links::{CountedLink, Expected, LinkError};

/// How often another code of the wanted length is drawn if the first is taken.
const DRAWS: usize = 8;

pub(super) async fn make(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let answer = match caller(&services, &asking, &headers, Access::Create).await {
        Ok(caller) => made(&services, &caller, request).await,
        Err(problem) => Err(problem),
    };
    answered(answer)
}

async fn made(services: &Services, caller: &Caller, request: Request) -> Result<Value, Problem> {
    let body = body(request).await?;
    let wanted = new_link(services, &body)?;
    if wanted.may_exist {
        let target = wanted.link.properties.target.as_str();
        let is_wanted = |link: &_| is_as_asked(&body, &wanted.link, link);
        if let Some(found) = services
            .existing(caller, target, wanted.domain, is_wanted)
            .await?
        {
            return Ok(short_url(services, &found.link, found.clicks));
        }
    }
    let made = shortened(services, caller, wanted).await?;
    Ok(short_url(services, &made.link, made.clicks))
}

/// The new link, with a code of the wanted length if one is asked for.
async fn shortened(
    services: &Services,
    caller: &Caller,
    wanted: NewLink,
) -> Result<CountedLink, Problem> {
    let NewLink {
        mut link,
        slug,
        length,
        ..
    } = wanted;
    let is_drawn = link.custom_code.is_none();
    for draw in 1.. {
        if let Some(length) = length.filter(|_| is_drawn) {
            link.custom_code = Some(drawn(services, length)?);
        }
        match create(services, caller, &link).await {
            Err(LinkError::CodeTaken) if is_drawn && draw < DRAWS => {}
            Err(LinkError::CodeTaken) => return Err(Problem::taken(slug.as_deref().unwrap_or(""))),
            made => return Ok(made.map_err(ApiError::from)?),
        }
    }
    Err(ApiError::internal("every draw was taken").into())
}

async fn create(
    services: &Services,
    caller: &Caller,
    link: &LinkRequest,
) -> Result<CountedLink, LinkError> {
    let links = &services.links;
    links
        .shorten(caller.principal, link, None, &caller.address)
        .await
}

fn drawn(services: &Services, length: usize) -> Result<CustomCode, Problem> {
    let failed = |why: String| Problem::from(ApiError::internal(&why));
    loop {
        let code = ShortCode::generate(length).map_err(|error| failed(error.to_string()))?;
        if let Ok(code) = CustomCode::parse(code.as_str(), services.links.is_reserved) {
            return Ok(code);
        }
    }
}

pub(super) async fn show(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let shown = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        let found = found(&services, &caller, &id, uri.query()).await?;
        Ok(short_url(&services, &found.link, found.clicks))
    };
    answered(shown.await)
}

/// The link of a path, at the domain of the query.
pub(super) async fn found(
    services: &Services,
    caller: &Caller,
    id: &str,
    query: Option<&str>,
) -> Result<CountedLink, Problem> {
    let code = code(services, id, query)?;
    let found = services.links.show(caller.principal, &code).await;
    let found = found.map_err(ApiError::from)?;
    found.ok_or_else(|| Problem::not_found(id))
}

pub(super) async fn edit(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    (headers, uri): (HeaderMap, Uri),
    request: Request,
) -> Response {
    let edited = async {
        let caller = caller(&services, &asking, &headers, Access::Change).await?;
        let code = code(&services, &id, uri.query())?;
        let body = body(request).await?;
        let edit = edit_of(&services, &code, &body)?;
        let links = &services.links;
        let edited = links.edit(
            caller.principal,
            &code,
            &edit,
            &Expected::Any,
            &caller.address,
        );
        let edited = edited.await.map_err(ApiError::from)?;
        let edited = edited.ok_or_else(|| Problem::not_found(&id))?;
        Ok(short_url(&services, &edited.link, edited.clicks))
    };
    answered(edited.await)
}

pub(super) async fn delete(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let deleted = async {
        let caller = caller(&services, &asking, &headers, Access::Change).await?;
        let code = code(&services, &id, uri.query())?;
        let links = &services.links;
        let deleted = links.delete(caller.principal, &code, &Expected::Any);
        if deleted.await.map_err(ApiError::from)? {
            Ok(())
        } else {
            Err(Problem::not_found(&id))
        }
    };
    done(deleted.await)
}
