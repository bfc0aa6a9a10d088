//! Signing in by a passkey, which the browser answers to a challenge of the page for signing in.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::form::Form;
use super::page::Site;
use super::session;
use super::sign_in::{self, SignInForm};
use crate::accounts::Accounts;
use crate::http::{ApiError, Asking};
use crate::store::SessionBy;

pub(super) async fn sign_in(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Asking(client): Asking,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, ApiError> {
    if !site.has_passwords() {
        return Err(ApiError::no_passwords());
    }
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    session::check(&site, &headers, &cookie, &form)?;
    let (sealed, answer, next) = (form.get("sealed"), form.get("answer"), form.get("next"));
    let signed_in = accounts.sign_in_by_passkey(&client, sealed, answer).await;
    match signed_in.map_err(ApiError::from) {
        Ok(Some(principal)) => {
            let by = SessionBy::SecondFactor;
            let response = session::begin(&accounts, &site, &headers, principal, by, next).await?;
            session::end_former(&accounts, &site, &headers, client.address()).await;
            Ok(response)
        }
        Ok(None) => sign_in::shown(&accounts, &site, &headers, &SignInForm::late(next), None),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let asked = SignInForm::leading_to(next);
            sign_in::shown(&accounts, &site, &headers, &asked, Some(&error))
        }
    }
}
