//! The cookies that a browser sends.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

/// The value of a cookie that the browser sent.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let values = headers.get_all(COOKIE).iter();
    let mut pairs = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    let of_name = |pair: &str| {
        Some(
            pair.trim()
                .strip_prefix(name)?
                .strip_prefix('=')?
                .to_owned(),
        )
    };
    pairs.find_map(of_name)
}
