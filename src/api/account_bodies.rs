//! Bodies that registration and log-in share.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{EmailAddress, OneTimePassword, Password};
use crate::http::ApiError;

/// Body of a registration.
#[derive(Deserialize, ToSchema)]
pub(super) struct RegistrationBody {
    /// E-mail address with a host of at least two labels; kept as given, compared without regard to case.
    #[schema(
        example = "ada@example.org",
        format = "email",
        min_length = 5,
        max_length = 254
    )]
    email: String,
    /// Password, 8 to 128 characters of any kind, in any spelling of Unicode (RFC 8265, `OpaqueString`); not a common password, and
    /// without the name in your e-mail address.
    #[schema(example = "correct horse battery", min_length = 8, max_length = 128)]
    password: String,
}

impl RegistrationBody {
    pub(super) fn parse(self) -> Result<(EmailAddress, Password), ApiError> {
        let email = parse_email(self.email)?;
        Ok((email, new_password("password", self.password)?))
    }
}

/// Body of a login.
#[derive(Deserialize, ToSchema)]
pub(super) struct LoginBody {
    /// E-mail address of the account, in any case.
    #[schema(
        example = "ada@example.org",
        format = "email",
        min_length = 5,
        max_length = 254
    )]
    email: String,
    /// Its password.
    #[schema(example = "correct horse battery")]
    password: String,
    /// A code of the account's app or one of its recovery codes, if the account has two factors. Each is good once. Without it a
    /// right password of such an account is answered 401 `One-time password needed`.
    #[schema(example = "123456")]
    otp: Option<String>,
}

impl LoginBody {
    pub(super) fn parse(
        self,
    ) -> Result<(EmailAddress, Password, Option<OneTimePassword>), ApiError> {
        let email = parse_email(self.email)?;
        let otp = self.otp.as_deref().map(OneTimePassword::parse);
        Ok((email, Password::at_log_in(self.password), otp))
    }
}

/// The password that a field asks for from now on.
pub(super) fn new_password(field: &str, raw: String) -> Result<Password, ApiError> {
    Password::parse(raw).map_err(|error| ApiError::invalid(format!("{field}: {error}")))
}

/// The e-mail address in a field.
pub(super) fn parse_email(raw: String) -> Result<EmailAddress, ApiError> {
    EmailAddress::parse(raw).map_err(|error| ApiError::invalid(error.to_string()))
}

/// Response to a registration and to a login.
#[derive(Serialize, ToSchema)]
pub(super) struct TokenBody {
    /// JWT (RFC 7519), to be sent as `Authorization: Bearer …`.
    #[schema(
        example = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        pattern = r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"
    )]
    access_token: String,
    /// Always `bearer`.
    token_type: TokenType,
}

/// How a token is presented.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TokenType {
    /// In the `Authorization` header.
    Bearer,
}

impl TokenBody {
    pub(super) fn new(access_token: String) -> Self {
        Self {
            access_token,
            token_type: TokenType::Bearer,
        }
    }
}
