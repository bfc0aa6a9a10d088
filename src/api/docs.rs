//! The OpenAPI document and its explorer, whose assets are in the binary.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, ServerBuilder};
use utoipa::{Modify, OpenApi};
use utoipa_swagger_ui::Config;

use crate::config::BaseUrl;
use crate::http::{ApiError, ErrorBody};

/// What the document says beside the routes, which are added by the router.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shunt",
        description = include_str!("explorer/preface.md"),
        license(name = "MIT OR Apache-2.0"),
    ),
    components(schemas(ErrorBody)),
    modifiers(&BearerScheme),
    tags(
        (name = "accounts", description = "Register, log in, who am I"),
        (name = "links", description = "Shorten, follow, list, count, delete"),
        (name = "operations", description = "For those who run the service"),
        (name = "documentation", description = "This page, and the document behind it"),
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
                "An `access_token` of `/auth/register` or `/auth/login`",
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

/// The document as it is sent: made once, at start.
#[derive(Clone)]
pub(super) struct DocumentJson(Bytes);

impl DocumentJson {
    pub(super) fn new(document: &Document) -> Self {
        let json = serde_json::to_vec(document).expect("a document is made of JSON's own types");
        Self(json.into())
    }
}

/// The OpenAPI document.
///
/// OpenAPI 3.1, made from the code that answers: generate a client from it, or test against it.
#[utoipa::path(
    get, path = "/openapi.json", tag = "documentation", operation_id = "document",
    responses((status = 200, description = "This document", body = Object, content_type = "application/json")),
)]
pub(super) async fn document(Extension(DocumentJson(json)): Extension<DocumentJson>) -> Response {
    ([(CONTENT_TYPE, "application/json")], json).into_response()
}

/// The explorer.
#[utoipa::path(
    get, path = "/docs", tag = "documentation", operation_id = "docs",
    responses((status = 200, description = "A page on which every operation can be tried out", body = String,
        content_type = "text/html")),
)]
pub(super) async fn docs() -> Response {
    page(&PAGE_ABOVE)
}

/// The explorer, by the address that its parts are under.
#[utoipa::path(
    get, path = "/docs/", tag = "documentation", operation_id = "explorer",
    responses((status = 200, description = "The same page", body = String, content_type = "text/html")),
)]
pub(super) async fn explorer() -> Response {
    page(PAGE)
}

/// The explorer's page, as it is beside its parts.
const PAGE: &str = include_str!("explorer/index.html");

/// The same from one level above. Its links stay relative: wherever a proxy may put it.
static PAGE_ABOVE: LazyLock<String> = LazyLock::new(|| {
    PAGE.replace("href=\"", "href=\"docs/")
        .replace("src=\"", "src=\"docs/")
});

fn page(text: &'static str) -> Response {
    own_part("text/html; charset=utf-8", text)
}

/// A part of the explorer.
#[utoipa::path(
    get, path = "/docs/{file}", tag = "documentation", operation_id = "explorer_part",
    params(("file" = String, Path, description = "Name of the part", example = "start.js")),
    responses(
        (status = 200, description = "A script, a style sheet or an image", content(
            (String = "text/javascript"), (String = "text/css"), (String = "image/svg+xml"),
        )),
        (status = 404, description = "The explorer has no such part", body = ErrorBody, example = json!({"detail": "Not Found"})),
    ),
)]
pub(super) async fn explorer_part(uri: Uri) -> Response {
    let file = uri.path().strip_prefix("/docs/");
    file.and_then(asset)
        .unwrap_or_else(|| ApiError::not_found().into_response())
}

/// What the explorer's page may do: load its own parts and ask its own service. Swagger UI draws its icons
/// from `data:` images.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A part of the explorer: the project's own page around the vendored Swagger UI.
fn asset(file: &str) -> Option<Response> {
    let (kind, text) = match file {
        "index.html" => ("text/html; charset=utf-8", PAGE),
        "start.js" => (
            "text/javascript; charset=utf-8",
            include_str!("explorer/start.js"),
        ),
        "look.css" => ("text/css; charset=utf-8", include_str!("explorer/look.css")),
        "mark.svg" => ("image/svg+xml", include_str!("explorer/mark.svg")),
        "swagger-ui.css" => return vendored(file, "text/css; charset=utf-8"),
        "swagger-ui-bundle.js" => return vendored(file, "text/javascript; charset=utf-8"),
        _ => return None,
    };
    Some(own_part(kind, text))
}

fn own_part(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
    ];
    (headers, text).into_response()
}

/// A large part, compressed when the program was built; every browser reads that.
fn vendored(file: &str, kind: &'static str) -> Option<Response> {
    let found =
        utoipa_swagger_ui::serve(file, Arc::new(Config::from("../openapi.json"))).ok()??;
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_ENCODING, "gzip"),
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    let bytes = match found.bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    Some((StatusCode::OK, headers, bytes).into_response())
}
