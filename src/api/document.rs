//! `GET /openapi.json`: the OpenAPI document, and its text that belongs to no route.

use axum::Extension;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, ServerBuilder};
use utoipa::{Modify, OpenApi};

use crate::config::BaseUrl;
use crate::http::{ErrorBody, JSON, json_line};

/// The parts of the document that no route brings: title, tags, how to authorize.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shunt",
        description = include_str!("preface.md"),
        license(name = "MIT OR Apache-2.0"),
    ),
    components(schemas(ErrorBody)),
    modifiers(&BearerScheme),
    tags(
        (name = "accounts", description = "Register, log in, see whose token it is, change and delete the account"),
        (name = "links", description = "Shorten, follow, list, count, delete"),
        (name = "administration", description = "For administrators: remove, ban, see reports and the audit"),
        (name = "operations", description = "For operators of the service"),
        (name = "documentation", description = "This page, and its OpenAPI document"),
    ),
)]
struct Preface;

struct BearerScheme;

impl Modify for BearerScheme {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "A token, or on `/urls/*` and `GET /auth/me` a key of `POST /auth/keys`. Paste the `access_token` of a response to `POST /auth/register` or `POST /auth/login`: \
                 only what is between the quotes, without `Bearer`.",
            ))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// The document without its routes.
pub(super) fn preface(base_url: &BaseUrl) -> Document {
    let mut document = Preface::openapi();
    let server = ServerBuilder::new()
        .url(base_url.as_str())
        .description(Some("This service"));
    document.servers = Some(vec![server.build()]);
    document
}

/// The document as it is sent, serialised once at start.
#[derive(Clone)]
pub(super) struct DocumentJson(Bytes);

impl DocumentJson {
    pub(super) fn new(document: &Document) -> Self {
        Self(json_line(document).into())
    }
}

/// The OpenAPI document.
///
/// OpenAPI 3.1, generated from the code of the service: generate a client from it, or test against it.
#[utoipa::path(
    get, path = "/openapi.json", tag = "documentation", operation_id = "document",
    responses((status = 200, description = "This document", body = Object, content_type = "application/json")),
)]
pub(super) async fn document(Extension(DocumentJson(json)): Extension<DocumentJson>) -> Response {
    ([(CONTENT_TYPE, JSON)], json).into_response()
}
