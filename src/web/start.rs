//! `/`: the start page for people, and for every client that takes a page. Other clients find nothing there.

use askama::Template;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue, LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::error_pages::PageWish;
use super::page::{Frame, Site, public_page};
use super::session;
use crate::http::ApiError;

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    frame: Frame<'a>,
    /// Whether the browser has a session; if it ended meanwhile, its page leads to signing in.
    has_session: bool,
}

pub(super) async fn start(
    State(site): State<Site>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let wish = PageWish::accepted(&headers).ok_or_else(ApiError::not_found)?;
    if let Some(home) = site.home_redirect() {
        let location = HeaderValue::try_from(home);
        let location = location.map_err(|error| ApiError::internal(&error.to_string()))?;
        let headers = [
            (LOCATION, location),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (VARY, HeaderValue::from_static("Accept")),
        ];
        return Ok((StatusCode::FOUND, headers).into_response());
    }
    let frame = Frame::public(&site, wish.language());
    let has_session = session::has_cookie(&site, &headers);
    public_page(StatusCode::OK, &StartPage { frame, has_session })
}
