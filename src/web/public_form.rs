//! Forms of pages for people who are not signed in.

use askama::Template;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::page::{Site, own_page, refused_page};
use super::session;
use crate::http::ApiError;

/// A page with a form, which is made with the token of the form; a browser without the form's cookie gets one.
pub(super) fn form_page<P: Template>(
    site: &Site,
    headers: &HeaderMap,
    error: Option<&ApiError>,
    page: impl FnOnce(String) -> P,
) -> Result<Response, ApiError> {
    let (csrf, cookie) = session::form_token(site, headers)?;
    let page = page(csrf);
    let mut response = match error {
        Some(error) => refused_page(error, &page)?,
        None => own_page(StatusCode::OK, &page)?,
    };
    if let Some(cookie) = cookie {
        session::set_cookie(&mut response, site, session::form_name(site), &cookie, None);
    }
    Ok(response)
}
