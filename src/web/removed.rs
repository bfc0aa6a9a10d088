//! The page of a removed link: that it was removed, why, and who did it.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::LINK;
use axum::response::Response;

use super::language::Language;
use super::page::{Frame, Site, public_page};
use crate::http::{ApiError, BLOCKED_BY};

#[derive(Template)]
#[template(path = "removed.html")]
struct RemovedPage<'a> {
    frame: Frame<'a>,
    status: u16,
    text: &'static str,
    reason: Option<&'a str>,
}

/// The page of a link that is answered with this status, 410 or 451.
pub(super) fn removed_page(
    site: &Site,
    language: Language,
    status: StatusCode,
    reason: Option<&str>,
) -> Result<Response, ApiError> {
    let text = match status {
        StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS => "removed_by_law_text",
        _ => "removed_text",
    };
    let page = RemovedPage {
        frame: Frame::public(site, language),
        status: status.as_u16(),
        text: language.text(text),
        reason,
    };
    let mut response = public_page(status, &page)?;
    response.headers_mut().insert(LINK, BLOCKED_BY);
    Ok(response)
}
