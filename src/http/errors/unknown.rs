//! What there is nothing of, and what there is too much of.

use axum::http::StatusCode;

use super::ApiError;

impl ApiError {
    /// 404 of a removal.
    pub fn removal_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Removal not found")
    }

    /// 404 of a report.
    pub fn report_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Report not found")
    }

    /// 404 of an invitation.
    pub fn invitation_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Invitation not found")
    }

    /// 404 of a key.
    pub fn key_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Key not found")
    }

    /// 404 of a hook.
    pub fn hook_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Hook not found")
    }

    /// 403: a link has as many shares as it may have.
    pub fn shares_full(most: i64) -> Self {
        let detail = format!("This link has the maximum of {most} shares; end one to make room");
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 404 of a share.
    pub fn share_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Share not found")
    }
}
