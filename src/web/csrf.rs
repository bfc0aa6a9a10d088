//! Where a form came from: browsers say so themselves, and each form has a token that other sites cannot know.

use axum::http::HeaderMap;
use ring::digest::{SHA256, digest};

use super::page::Site;
use crate::http::is_same_origin;

/// The token of the forms in a browser with this cookie.
pub(super) fn token(cookie: &str) -> String {
    let digest = digest(&SHA256, format!("form\0{cookie}").as_bytes());
    let half = digest.as_ref().first_chunk().copied();
    format!("{:032x}", u128::from_be_bytes(half.unwrap_or_default()))
}

/// Whether a form was sent by a page of the service's, as the browser says.
pub(super) fn is_of_site(site: &Site, headers: &HeaderMap) -> bool {
    is_same_origin(site.base_url(), headers)
}

/// Whether a form has the token of the browser that has the cookie.
pub(super) fn has_token(cookie: &str, given: &str) -> bool {
    // Digests are compared: how long that takes says nothing of the token.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    hash(&token(cookie)).as_ref() == hash(given).as_ref()
}
