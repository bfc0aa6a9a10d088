//! Errors as pages, with the status and the headers of the JSON that other clients get.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::asked_by::AskedBy;
use super::language::Language;
use super::page::{Frame, Site, leading_form_page, own_page, public_page};
use super::removed::removed_page;
use crate::abuse::Abuse;
use crate::domain::ShortCode;
use crate::http::{ApiError, ErrorDetail, LinkAtRest, accepts_html, prefers_html};

/// Reasons of removals that are looked up at the same time; a page beyond that has no reason.
const REASONS_AT_ONCE: usize = 16;

/// How long a page waits for the reason of a removal.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// Renders error pages; cheap to clone.
#[derive(Clone)]
pub struct ErrorPages {
    site: Site,
    abuse: Arc<Abuse>,
    /// Where reasons are looked up.
    main: Handle,
    reasons: Arc<Semaphore>,
}

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
        let wish = || Self(Language::of_headers(headers));
        prefers_html(value(headers, ACCEPT)).then(wish)
    }

    /// What a client that accepts a page among others gets if there is only a page; `None`: it accepts no page.
    #[must_use]
    pub fn accepted(headers: &HeaderMap) -> Option<Self> {
        let wish = || Self(Language::of_headers(headers));
        accepts_html(value(headers, ACCEPT)).then(wish)
    }

    /// The language of a page for a client that may not have wished for one.
    pub(super) fn language_of(headers: &HeaderMap) -> Language {
        Self::of_headers(headers).map_or(Language::ENGLISH, Self::language)
    }

    pub(super) fn language(self) -> Language {
        self.0
    }
}

fn value(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

/// Whether a link is answered so that was removed.
fn is_removed(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::GONE | StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS
    )
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: Frame<'a>,
    status: u16,
    title: &'static str,
    text: &'static str,
    /// What the JSON says, if the text is too general to help.
    detail: Option<String>,
}

/// Where a visitor gives the password of a link.
#[derive(Template)]
#[template(path = "password.html")]
struct PasswordPage<'a> {
    frame: Frame<'a>,
    /// Whether another password was given before.
    is_wrong: bool,
}

impl ErrorPages {
    /// Pages of this service. The database is asked on the runtime `main`.
    #[must_use]
    pub fn new(site: Site, abuse: Arc<Abuse>, main: Handle) -> Self {
        Self {
            site,
            abuse,
            main,
            reasons: Arc::new(Semaphore::new(REASONS_AT_ONCE)),
        }
    }

    /// The page in place of an error of a visit to a code; the page of a removed link says why it was removed.
    pub async fn in_place_of_visit(
        &self,
        code: &ShortCode,
        response: Response,
        wish: PageWish,
    ) -> Response {
        if !is_removed(response.status()) || is_page(&response) {
            return self.in_place_of(response, wish);
        }
        let reason = self.reason_of(code).await;
        let page = removed_page(&self.site, wish.0, response.status(), reason.as_deref());
        page.map_or(response, |page| page)
    }

    /// Why a link was removed, if the database answers soon.
    async fn reason_of(&self, code: &ShortCode) -> Option<String> {
        let permit = Arc::clone(&self.reasons).try_acquire_owned().ok()?;
        let (abuse, code) = (Arc::clone(&self.abuse), code.clone());
        let reading = self.main.spawn(async move {
            let _permit = permit;
            timeout(REASON_TIMEOUT, abuse.reason_of(&code)).await
        });
        match reading.await {
            Ok(Ok(Ok(reason))) => reason,
            Ok(Ok(Err(error))) => {
                tracing::debug!(%error, "a page does not say why its link was removed");
                None
            }
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// The page in place of an error; any other response as it is.
    #[must_use]
    pub fn in_place_of(&self, response: Response, wish: PageWish) -> Response {
        let status = response.status();
        if !(status.is_client_error() || status.is_server_error()) || is_page(&response) {
            return response;
        }
        let at_rest: Option<&LinkAtRest> = response.extensions().get();
        if let Some(at_rest) = at_rest.filter(|at_rest| at_rest.needs_password()) {
            let page = PasswordPage {
                frame: Frame::public(&self.site, wish.0),
                is_wrong: *at_rest == LinkAtRest::WrongPassword,
            };
            let page = leading_form_page(status, &page);
            return with_headers_of(response, page);
        }
        let frame = Frame::public(&self.site, wish.0);
        let page = public_page(status, &ErrorPage::new(frame, &response));
        with_headers_of(response, page)
    }
}

/// Has the errors of the pages of an account in their own frame, with the menu and in the language of the account.
pub(super) async fn in_frame_of_account(
    State(site): State<Site>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_wished = PageWish::of_headers(request.headers()).is_some();
    let asked_by = AskedBy::default();
    request.extensions_mut().insert(asked_by.clone());
    let response = next.run(request).await;
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let Some(owner) = asked_by.owner() else {
        return response;
    };
    if !is_wished || !is_error || is_page(&response) {
        return response;
    }
    let page = own_page(status, &ErrorPage::new(Frame::own(&site, owner), &response));
    with_headers_of(response, page)
}

impl<'a> ErrorPage<'a> {
    fn new(frame: Frame<'a>, response: &'a Response) -> Self {
        let status = response.status();
        let at_rest: Option<&LinkAtRest> = response.extensions().get();
        let name = match status {
            StatusCode::FORBIDDEN => "forbidden",
            StatusCode::NOT_FOUND => match at_rest {
                Some(LinkAtRest::Scheduled) => "scheduled",
                Some(LinkAtRest::Ended) => "ended",
                _ => "unknown",
            },
            status if is_removed(status) => "removed",
            StatusCode::TOO_MANY_REQUESTS => "too_many",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable",
            _ => "other",
        };
        let detail = response.extensions().get::<ErrorDetail>();
        let language = frame.language;
        Self {
            frame,
            status: status.as_u16(),
            title: language.text(&format!("{name}_title")),
            text: language.text(&format!("{name}_text")),
            detail: detail
                .filter(|_| matches!(name, "forbidden" | "other"))
                .map(|detail| language.fault(&detail.0)),
        }
    }
}

/// The page with the headers of the response in whose place it is; that response if there is no page.
fn with_headers_of(response: Response, page: Result<Response, ApiError>) -> Response {
    let Ok(mut page) = page else {
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
