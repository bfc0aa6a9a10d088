//! What is said of a second factor.

use axum::http::StatusCode;

use super::ApiError;

impl ApiError {
    /// 401 of a login: the password is right, and the account has a second factor.
    pub fn otp_needed() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "One-time password needed")
    }

    /// 401: the one-time password is wrong, or was used.
    pub fn wrong_otp() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Invalid one-time password")
    }

    /// 401: the passkey is unknown, or its answer is not accepted.
    pub fn passkey_refused() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Invalid passkey")
    }

    /// 403: a password by itself is not enough to change the factors of this account.
    pub fn passkey_needed() -> Self {
        let detail = "This account needs two factors; sign in on the pages with its passkey first";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 409: the account has as many passkeys as it may have.
    pub fn too_many_passkeys(max: u32) -> Self {
        let detail =
            format!("This account has the maximum of {max} passkeys; remove one to make room");
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// 403: the account must have a second factor, and has none.
    pub fn factor_missing() -> Self {
        let detail = "This account needs two factors; sign in on the pages, and set up the second one at /app/account/two-factors";
        Self::new(StatusCode::FORBIDDEN, detail)
    }
}
