//! `GET /docs` and below: the explorer of the API, whose parts are in the binary.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, Uri};
use axum::response::{IntoResponse, Response};

use crate::http::ApiError;
#[cfg(test)]
use crate::http::documented::ErrorBody;

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

/// The explorer's page, with links as they are at `/docs/`.
const PAGE: &str = include_str!("explorer/index.html");

/// The same page with links as they are at `/docs`. They stay relative, so that a proxy may serve it at any path.
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

/// The explorer's page may load its own parts and send requests to its own service. Swagger UI draws its icons from `data:`
/// images.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A part of the explorer: the project's own page around the vendored Swagger UI. Six files need no crate that embeds
/// folders.
fn asset(file: &str) -> Option<Response> {
    let (kind, text) = match file {
        "index.html" => ("text/html; charset=utf-8", PAGE),
        "start.js" => (
            "text/javascript; charset=utf-8",
            include_str!("explorer/start.js"),
        ),
        "look.css" => ("text/css; charset=utf-8", include_str!("explorer/look.css")),
        "mark.svg" => ("image/svg+xml", include_str!("explorer/mark.svg")),
        "swagger-ui.css" => return Some(vendored("text/css; charset=utf-8", SWAGGER_UI_CSS)),
        "swagger-ui-bundle.js" => {
            return Some(vendored("text/javascript; charset=utf-8", SWAGGER_UI_JS));
        }
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

/// Swagger UI, which the build script unpacks.
const SWAGGER_UI_CSS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
const SWAGGER_UI_JS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));

/// A part of Swagger UI, compressed when the program was built: every browser reads gzip.
fn vendored(kind: &'static str, gzipped: &'static [u8]) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_ENCODING, "gzip"),
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, Bytes::from_static(gzipped)).into_response()
}
