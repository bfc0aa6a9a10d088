//! The OpenAPI document and its explorer, whose assets are in the binary.

use axum::Router;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_swagger_ui::SwaggerUi;

use super::health;
use crate::{accounts, links, redirect};

/// The document, made from the handlers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shunt",
        description = "A URL shortener: every answered redirect is counted exactly once.",
        license(name = "MIT OR Apache-2.0"),
    ),
    paths(
        accounts::register::register,
        accounts::login::login,
        accounts::me::me,
        links::shorten::shorten,
        links::list::list,
        links::stats::stats,
        links::delete::delete,
        redirect::visit,
        health::health,
        health::ready,
    ),
    modifiers(&BearerScheme),
    tags(
        (name = "accounts", description = "Register, log in, who am I"),
        (name = "links", description = "Shorten, follow, list, count, delete"),
        (name = "operations", description = "For those who run the service"),
    ),
)]
struct ApiDocument;

struct BearerScheme;

impl Modify for BearerScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// `/docs` and `/openapi.json`.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    SwaggerUi::new("/docs")
        .url("/openapi.json", ApiDocument::openapi())
        .into()
}
