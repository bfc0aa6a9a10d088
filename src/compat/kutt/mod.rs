//! The API of Kutt, version 2.
//!
//! <https://docs.kutt.it/>
//!
//! | file | what it does |
//! | --- | --- |
//! | `links` | makes, lists, changes and deletes links |
//! | `stats` | the statistics of a link |
//! | `fields` | what requests say of a link |
//! | `answer` | links, and refusals |
//! | `duration` | how long a link lasts |

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch};
use serde_json::{Value, json};

use super::caller::Asking;
use super::said::{in_words, said};
use super::services::Services;
use crate::accounts::Access;
use crate::http::{Admission, ApiError, Json, with_admission};

mod answer;
mod duration;
mod fields;
mod links;
mod stats;

use answer::Refusal;

pub(super) fn routes(admission: &Admission) -> Router<Services> {
    let of_link = patch(links::edit).delete(links::delete);
    Router::new()
        .route("/api/v2/links", get(links::list).post(links::make))
        .route("/api/v2/links/{id}", of_link)
        .route("/api/v2/links/{id}/stats", get(stats::stats))
        .route("/api/v2/users", get(user))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .route("/api/v2/health", get(health))
        .method_not_allowed_fallback(wrong_method)
        .layer(map_response(in_its_words))
}

async fn in_its_words(response: Response) -> Response {
    in_words(response, |response, detail| {
        Refusal::new(response.status(), detail).response()
    })
}

async fn wrong_method() -> Response {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed.").response()
}

async fn health() -> Response {
    said("OK".into_response())
}

/// The account of the key.
async fn user(State(services): State<Services>, asking: Asking, headers: HeaderMap) -> Response {
    match account(&services, &asking, &headers).await {
        Ok(body) => said(Json(body).into_response()),
        Err(refusal) => refusal.response(),
    }
}

async fn account(
    services: &Services,
    asking: &Asking,
    headers: &HeaderMap,
) -> Result<Value, Refusal> {
    let caller = answer::caller(services, asking, headers, Access::Itself).await?;
    let hosts = services.links.hosts_of(caller.principal).await;
    let domain = |host: String| {
        let served = services.site.other(&host);
        let root = served.as_ref().and_then(|host| host.root.as_ref());
        let homepage = root.map(|root| root.as_str().to_owned());
        json!({"id": host, "address": host, "homepage": homepage, "banned": false})
    };
    let hosts = hosts.map_err(ApiError::from)?.into_iter().map(domain);
    Ok(json!({
        "apikey": answer::key(headers),
        "email": caller.user.email.as_str(),
        "domains": hosts.collect::<Vec<_>>(),
    }))
}
