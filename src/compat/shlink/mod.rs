//! The API of Shlink, version 3.
//!
//! <https://api-spec.shlink.io/>
//!
//! | file | what it does |
//! | --- | --- |
//! | `short_urls` | makes, shows, changes and deletes links |
//! | `list` | lists them, by page |
//! | `filter` | what a list asks for that the database does not know |
//! | `fields` | what requests say of a link |
//! | `rules` | rules in the protocol's words |
//! | `tags`, `visits`, `service` | tags; totals of visits; health and domains |
//! | `answer` | links and pages |
//! | `problem` | refusals |
//! | `asked` | keys, queries and bodies |

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::get;

use super::said::in_words;
use super::services::Services;
use crate::http::{Admission, with_admission};

mod answer;
mod asked;
mod fields;
mod filter;
mod list;
mod problem;
mod rules;
mod service;
mod short_urls;
mod tags;
mod visits;

use problem::Problem;

pub(super) fn routes(admission: &Admission) -> Router<Services> {
    let short_urls = get(list::list).post(short_urls::make);
    let short_url = get(short_urls::show)
        .patch(short_urls::edit)
        .delete(short_urls::delete);
    let tags = get(tags::list).put(tags::rename).delete(tags::delete);
    Router::new()
        .route("/rest/v3/short-urls", short_urls)
        .route("/rest/v3/short-urls/{id}", short_url)
        .route(
            "/rest/v3/short-urls/{id}/redirect-rules",
            get(rules::show).post(rules::set),
        )
        .route("/rest/v3/short-urls/{id}/visits", get(visits::of_link))
        .route("/rest/v3/tags", tags)
        .route("/rest/v3/tags/stats", get(tags::stats))
        .route("/rest/v3/tags/{id}/visits", get(visits::none_kept))
        .route("/rest/v3/domains", get(service::domains))
        .route("/rest/v3/domains/{id}/visits", get(visits::of_domain))
        .route("/rest/v3/visits", get(visits::totals))
        .route("/rest/v3/visits/orphan", get(visits::none_kept))
        .route("/rest/v3/visits/non-orphan", get(visits::none_kept))
        .route("/rest/v3/mercure-info", get(service::mercure))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .route("/rest/health", get(service::health))
        .route("/rest/v3/health", get(service::health))
        .method_not_allowed_fallback(wrong_method)
        .layer(map_response(in_its_words))
}

async fn in_its_words(response: Response) -> Response {
    in_words(response, |response, detail| {
        Problem::plain(response.status(), detail).response()
    })
}

async fn wrong_method() -> Response {
    let why = "This path is not asked for by this method here";
    Problem::plain(StatusCode::METHOD_NOT_ALLOWED, why).response()
}
