//! Answers in the words of a protocol, and which answers of the layers beneath are not in them yet.

use axum::http::header::RETRY_AFTER;
use axum::response::Response;

use crate::http::ErrorDetail;

/// In the extensions of an answer that is in the words of its protocol.
#[derive(Clone, Copy)]
struct Said;

/// An answer in the words of its protocol.
pub(super) fn said(mut response: Response) -> Response {
    response.extensions_mut().insert(Said);
    response
}

/// A refusal of a layer beneath in the words of the protocol; any other response as it is.
pub(super) fn in_words(
    response: Response,
    words: impl FnOnce(&Response, &str) -> Response,
) -> Response {
    if response.extensions().get::<Said>().is_some() || response.status().is_success() {
        return response;
    }
    let detail = response.extensions().get::<ErrorDetail>();
    let detail = detail.map(|ErrorDetail(detail)| detail.as_str());
    let detail = detail
        .or(response.status().canonical_reason())
        .unwrap_or("refused");
    let mut answer = words(&response, detail);
    if let Some(pause) = response.headers().get(RETRY_AFTER) {
        answer.headers_mut().insert(RETRY_AFTER, pause.clone());
    }
    answer
}
