//! What a request asks for, by its address and headers.

use axum::response::{IntoResponse, Response};
use hyper::{Method, Request, Uri};

use crate::domain::ServedHost;
use crate::http::{ApiError, paths, redirect_to};
use crate::web::PageWish;

/// The response of a host beside the service's own to what it does not have, or to its root.
pub(super) fn root_of<B>(host: &ServedHost, request: &Request<B>) -> Response {
    match &host.root {
        Some(root) if request.uri().path() == "/" && is_read(request.method()) => redirect_to(root),
        _ => ApiError::not_found().into_response(),
    }
}

/// The address without the slash after its code or page; `None` without such a slash.
pub(super) fn without_slash(uri: &Uri) -> Option<Uri> {
    let path = paths::without_slash(uri.path())?;
    let path_and_query = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// The address of the page that shows where a link leads, for a client that takes a page and asks for `/{code}+`.
pub(super) fn preview<B>(request: &Request<B>) -> Option<Uri> {
    let path = paths::preview_path(request.uri().path())?;
    let is_wanted = is_read(request.method()) && PageWish::accepted(request.headers()).is_some();
    is_wanted.then(|| path.parse().ok()).flatten()
}

pub(super) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// What a client wishes instead of JSON, where people may meet the path.
pub(super) fn wish_of<B>(request: &Request<B>) -> Option<PageWish> {
    let is_for_people = paths::is_for_people(request.uri().path());
    let wish = || PageWish::of_headers(request.headers());
    is_for_people.then(wish).flatten()
}
