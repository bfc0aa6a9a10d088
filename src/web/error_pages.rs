//! Errors as pages, with the status and the headers of the JSON that other clients get.

use askama::Template;
use axum::http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::language::Language;
use super::page::{Frame, Site, public_page};
use crate::http::{LinkHasEnded, prefers_html};

/// Renders error pages; cheap to clone.
#[derive(Clone)]
pub struct ErrorPages(Site);

/// A client would rather have a page, in this language.
#[derive(Clone, Copy, Debug)]
pub struct PageWish(Language);

impl PageWish {
    /// What a client wishes by the values of its `Accept` and `Accept-Language`; `None`: JSON.
    #[must_use]
    pub fn of(accept: &str, accept_language: &str) -> Option<Self> {
        prefers_html(accept).then(|| Self(Language::of(accept_language)))
    }

    /// The same, of a request with these headers.
    #[must_use]
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let value = |name: HeaderName| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default()
        };
        Self::of(value(ACCEPT), value(ACCEPT_LANGUAGE))
    }

    pub(super) fn language(self) -> Language {
        self.0
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: Frame<'a>,
    status: u16,
    title: &'static str,
    text: &'static str,
}

impl ErrorPages {
    /// Pages of this service.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self(site)
    }

    /// The page in place of an error; any other response as it is.
    #[must_use]
    pub fn in_place_of(&self, response: Response, wish: PageWish) -> Response {
        let status = response.status();
        let is_page = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        if !(status.is_client_error() || status.is_server_error()) || is_page {
            return response;
        }
        let is_ended = response.extensions().get::<LinkHasEnded>().is_some();
        let name = match status {
            StatusCode::NOT_FOUND if is_ended => "ended",
            StatusCode::NOT_FOUND => "unknown",
            StatusCode::GONE | StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS => "removed",
            StatusCode::TOO_MANY_REQUESTS => "too_many",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable",
            _ => "other",
        };
        let language = wish.0;
        let page = ErrorPage {
            frame: Frame::public(&self.0, language),
            status: status.as_u16(),
            title: language.text(&format!("{name}_title")),
            text: language.text(&format!("{name}_text")),
        };
        let Ok(mut page) = public_page(status, &page) else {
            return response;
        };
        // `Retry-After`, `Allow`, `Link` and the like mean the same beside a page.
        for (name, value) in response.headers() {
            if *name != CONTENT_LENGTH && !page.headers().contains_key(name) {
                page.headers_mut().insert(name, value.clone());
            }
        }
        page
    }
}
