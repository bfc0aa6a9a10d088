//! The second step of signing in: a code of the account's app, or a recovery code. The browser keeps a signed cookie between the
//! password and the code, which is good for nothing else.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::language::Language;
use super::page::{Frame, Site, see_other};
use super::public_form::form_page;
use super::session;
use crate::accounts::Accounts;
use crate::domain::OneTimePassword;
use crate::http::{ApiError, Asking, QueryOf};
use crate::store::SessionBy;

/// The page itself.
const PATH: &str = "/app/login/code";

/// Where a sign-in that took too long leads, and where it begins again.
const LATE: &str = "/app/login/code?done=late";
const AGAIN: &str = "/app/login?done=late";

/// How long a browser keeps the cookie, which itself ends then, too.
const COOKIE_SECONDS: u64 = 600;

#[derive(Template)]
#[template(path = "sign_in_code.html")]
struct CodePage<'a> {
    frame: Frame<'a>,
    csrf: String,
    fault: Option<Fault>,
}

fn cookie_name(site: &Site) -> &'static str {
    if site.is_https() {
        "__Host-shunt-factor"
    } else {
        "shunt_factor"
    }
}

/// Leads from a right password to the page that asks for the code.
pub(super) fn asked(site: &Site, sealed: &str) -> Response {
    let mut response = see_other(PATH);
    let seconds = Some(COOKIE_SECONDS);
    session::set_cookie(&mut response, site, cookie_name(site), sealed, seconds);
    response
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    headers: HeaderMap,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let sealed = session::cookie(&headers, cookie_name(&site)).unwrap_or_default();
    if !accounts.waits_for_factor(&sealed) {
        let is_late = done.done == "late";
        return Ok(see_other(if is_late { AGAIN } else { "/app" }));
    }
    shown(&site, &headers, None)
}

fn shown(site: &Site, headers: &HeaderMap, error: Option<&ApiError>) -> Result<Response, ApiError> {
    form_page(site, headers, error, |csrf| CodePage {
        frame: Frame::public(site, Language::of_headers(headers)).with_form(headers),
        csrf,
        fault: error.map(|error| Fault::of(error, &[])),
    })
}

pub(super) async fn check(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Asking(client): Asking,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, ApiError> {
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    session::check(&site, &headers, &cookie, &form)?;
    let sealed = session::cookie(&headers, cookie_name(&site)).unwrap_or_default();
    let otp = OneTimePassword::parse(&form.take("otp"));
    let signed_in = accounts.sign_in_by_code(&client, &sealed, &otp).await;
    let mut response = match signed_in.map_err(ApiError::from) {
        Ok(Some((principal, next))) => {
            let by = SessionBy::SecondFactor;
            let response = session::begin(&accounts, &site, &headers, principal, by, &next).await?;
            session::end_former(&accounts, &site, &headers, client.address()).await;
            response
        }
        Ok(None) => see_other(LATE),
        Err(error) if error.is_failure() => return Err(error),
        Err(error) => return shown(&site, &headers, Some(&error)),
    };
    // It is used once.
    session::set_cookie(&mut response, &site, cookie_name(&site), "", Some(0));
    Ok(response)
}
