//! `PATCH /auth/me`: another e-mail address for the account of the token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::account_bodies::parse_email;
use super::authentication::LoggedIn;
use crate::accounts::{Accounts, Proof};
use crate::domain::{EmailAddress, OneTimePassword, Password};
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesBody};
use crate::http::{ApiError, Asking, Json, JsonBody};
use crate::mail::{AccountLetter, AccountMail, LetterAbout};

/// Body of a change of the e-mail address.
#[derive(Deserialize, ToSchema)]
pub(super) struct EmailBody {
    /// The e-mail address from then on, with a host of at least two labels.
    #[schema(
        example = "ada@example.net",
        format = "email",
        min_length = 5,
        max_length = 254
    )]
    email: String,
    /// The account's password.
    #[schema(example = "correct horse battery")]
    password: String,
    /// A code of the account's app or one of its recovery codes, if the account has two factors.
    #[schema(example = "123456")]
    otp: Option<String>,
}

impl EmailBody {
    fn parse(self) -> Result<(EmailAddress, Proof), ApiError> {
        let email = parse_email(self.email)?;
        let otp = self.otp.as_deref().map(OneTimePassword::parse);
        let proof = Proof::Password(Password::at_log_in(self.password), otp);
        Ok((email, proof))
    }
}

/// A change of the e-mail address that waits to be confirmed.
#[derive(Serialize, ToSchema)]
pub(super) struct EmailAskedBody {
    /// The address that a mail is on its way to.
    #[schema(example = "ada@example.net", format = "email", max_length = 254)]
    email: String,
    /// Until when its link works, in UTC.
    #[schema(example = "2027-01-31T18:30:00.123456Z", format = DateTime)]
    expires_at: String,
    /// What is left to do.
    #[schema(
        example = "A mail is on its way; the address changes once you open its link and confirm it"
    )]
    detail: &'static str,
}

/// Change your e-mail address.
///
/// A mail with a link goes to the new address. The address changes once you open the link, signed in, and confirm it: then all tokens
/// are refused, the former address is told by mail, and you log in by the new one. The answer is the same if another account has the
/// address: its owner gets a mail that says so, without a link. A new request replaces the link of the one before it, and an account may
/// make one in five minutes.
#[utoipa::path(
    patch, path = "/auth/me", tag = "accounts", operation_id = "change_email", security(("bearer" = [])),
    request_body(content = EmailBody, description = "Any JSON object with these fields; others are ignored"),
    responses(
        (status = 202, description = "A mail is on its way", body = EmailAskedBody),
        (status = 403, description = "The password is wrong; it counts as a failed log-in. Or the address is at a domain that may not register", body = ErrorBody,
            example = json!({"detail": "Incorrect password"})),
        (status = 409, description = "The service sends no mail", body = ErrorBody,
            example = json!({"detail": "This service sends no mail, and so cannot confirm another address; ask its operator: help@example.org"})),
        TakesBody, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn change_email(
    State(accounts): State<Arc<Accounts>>,
    State(mail): State<AccountMail>,
    LoggedIn(owner): LoggedIn,
    Asking(client): Asking,
    headers: HeaderMap,
    body: Result<JsonBody<EmailBody>, ApiError>,
) -> Result<(StatusCode, Json<EmailAskedBody>), ApiError> {
    let fields = body.and_then(|JsonBody(body)| {
        let fields = body.parse()?;
        mail.is_sent().map_err(ApiError::no_mail)?;
        Ok(fields)
    });
    let (email, proof) = match fields {
        Ok(fields) => fields,
        Err(refusal) => {
            // The change would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let begun = accounts.begin_email_change(&client, owner, proof, &email);
    let (change, token, expires_at) = begun.await?;
    let languages = headers.get(ACCEPT_LANGUAGE);
    let languages = languages.and_then(|languages| languages.to_str().ok());
    mail.send(AccountLetter {
        about: LetterAbout::NewEmail(change, token),
        languages: languages.unwrap_or_default().to_owned(),
    });
    let body = EmailAskedBody {
        email: email.as_str().to_owned(),
        expires_at: expires_at.with_micros(),
        detail: "A mail is on its way; the address changes once you open its link and confirm it",
    };
    Ok((StatusCode::ACCEPTED, Json(body)))
}
