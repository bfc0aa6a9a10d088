//! The road's end in HTTP: `/{short_code}`, which people share, and `/urls/r/{short_code}`.
//!
//! Plain requests never get here: the express lane and the workers' entrance answer them. These handlers
//! are for codes that need decoding, and for the document.

use std::sync::Arc;

use axum::extract::State;
use utoipa::IntoResponses;

use crate::http::{CodeParameter, ErrorBody, PathCode};
use crate::redirect::{Redirect, RedirectError, Redirected};

/// What following a link may answer.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it only describes the answers in the OpenAPI document"
)]
pub(super) enum Followed {
    /// The link's target
    #[response(status = 302, headers(
        ("Location" = String, description = "Where the link leads: its `target_url`, with what a header may not carry encoded"),
        ("Cache-Control" = String, description = "`private, no-store`: a redirect from a cache would be a lost click"),
    ))]
    SentOn,
    /// Nobody has this code, or its link is inactive; nothing is counted
    #[response(status = 404, example = json!({"detail": "URL not found"}))]
    NotFound(ErrorBody),
    /// The link is not in memory and cannot be looked up now; nothing is counted
    #[response(
        status = 503,
        headers(("Retry-After" = u32, description = "Seconds after which it is worth trying again")),
        example = json!({"detail": "The service cannot answer this right now; try again"}),
    )]
    NotNow(ErrorBody),
}

/// Follow a link.
///
/// The click is counted before the answer is sent: exactly once. `/{short_code}` does the same.
#[utoipa::path(
    get,
    path = "/urls/r/{short_code}",
    tag = "links",
    operation_id = "visit",
    params(CodeParameter),
    responses(Followed)
)]
pub(super) async fn visit(
    State(redirect): State<Arc<Redirect>>,
    PathCode(code): PathCode,
) -> Result<Redirected, RedirectError> {
    let code = code.ok_or(RedirectError::Unknown)?;
    redirect.follow(&code).await
}

/// See where a link leads.
///
/// Answers as a visit would, and is not counted.
#[utoipa::path(
    head,
    path = "/urls/r/{short_code}",
    tag = "links",
    operation_id = "preview",
    params(CodeParameter),
    responses(Followed)
)]
pub(super) async fn preview(
    State(redirect): State<Arc<Redirect>>,
    PathCode(code): PathCode,
) -> Result<Redirected, RedirectError> {
    let code = code.ok_or(RedirectError::Unknown)?;
    redirect.preview(&code).await
}

/// Follow a link by the address that people share.
///
/// The click is counted before the answer is sent: exactly once. Paths of the service itself, such as
/// `/docs`, are no codes.
#[utoipa::path(
    get,
    path = "/{short_code}",
    tag = "links",
    operation_id = "visit_shared",
    params(CodeParameter),
    responses(Followed)
)]
pub(super) async fn visit_shared(
    redirect: State<Arc<Redirect>>,
    code: PathCode,
) -> Result<Redirected, RedirectError> {
    visit(redirect, code).await
}

/// See where a link leads, by the address that people share.
///
/// Answers as a visit would, and is not counted.
#[utoipa::path(
    head,
    path = "/{short_code}",
    tag = "links",
    operation_id = "preview_shared",
    params(CodeParameter),
    responses(Followed)
)]
pub(super) async fn preview_shared(
    redirect: State<Arc<Redirect>>,
    code: PathCode,
) -> Result<Redirected, RedirectError> {
    preview(redirect, code).await
}
