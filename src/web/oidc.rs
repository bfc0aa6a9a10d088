//! Signing in by an identity provider: to the provider, back from it, joining an account that was there, and signing out there, too.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue, REFRESH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::form::{Fault, Form};
use super::language::Language;
use super::own_path::own_path;
use super::page::{Frame, Site, own_page, refused_page, see_other, see_other_site};
use super::public_form::form_page;
use super::session::{self, SignedIn};
use crate::accounts::{Accounts, Arrival, Arrived, ProviderAnswer, SignInError};
use crate::domain::{OneTimePassword, Password};
use crate::http::{ApiError, Asking, ClientAddress, QueryOf};
use crate::oidc::ProviderFault;

/// How long a browser keeps what belongs to a sign-in.
const COOKIE_SECONDS: u64 = 600;

/// The cookie of a sign-in under way.
fn attempt_name(site: &Site) -> &'static str {
    if site.is_https() {
        "__Host-shunt-oidc"
    } else {
        "shunt_oidc"
    }
}

/// The cookie of a person who is to join an account.
fn join_name(site: &Site) -> &'static str {
    if site.is_https() {
        "__Host-shunt-join"
    } else {
        "shunt_join"
    }
}

#[derive(Template)]
#[template(path = "oidc_refused.html")]
struct RefusedPage<'a> {
    frame: Frame<'a>,
    title: String,
    text: String,
    /// Whether it is worth trying again.
    may_try_again: bool,
}

#[derive(Template)]
#[template(path = "oidc_join.html")]
struct JoinPage<'a> {
    frame: Frame<'a>,
    csrf: String,
    text: String,
    /// Whether the account has a second factor: that is known once its password was right.
    has_factor: bool,
    fault: Option<Fault>,
}

impl JoinPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

#[derive(Template)]
#[template(path = "oidc_logout.html")]
struct LogoutPage<'a> {
    frame: Frame<'a>,
    provider: &'a str,
    url: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NextQuery {
    next: String,
}

/// What the provider brings back; other parameters are its own.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AnswerQuery {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

pub(super) async fn begin(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    client: ClientAddress,
    headers: HeaderMap,
    signed_in: Result<SignedIn, Response>,
    QueryOf(query): QueryOf<NextQuery>,
) -> Result<Response, ApiError> {
    let next = own_path(&query.next);
    if signed_in.is_ok() {
        return Ok(see_other(&next));
    }
    match accounts.begin_sign_in(client.as_str(), &next).await {
        Ok(begun) => {
            let mut response = see_other_site(&begun.url)?;
            let seconds = Some(COOKIE_SECONDS);
            session::set_cookie(
                &mut response,
                &site,
                attempt_name(&site),
                &begun.cookie,
                seconds,
            );
            Ok(response)
        }
        Err(error) => refused(&site, &headers, error),
    }
}

pub(super) async fn finish(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    client: ClientAddress,
    headers: HeaderMap,
    QueryOf(query): QueryOf<AnswerQuery>,
) -> Result<Response, ApiError> {
    let cookie = session::cookie(&headers, attempt_name(&site)).unwrap_or_default();
    let answer = ProviderAnswer {
        code: query.code,
        state: query.state,
        issuer: query.iss,
        error: query.error,
    };
    let arrived = accounts.finish_sign_in(client.as_str(), &cookie, &answer);
    let mut response = match arrived.await {
        Ok(Arrived::SignedIn(arrival)) => {
            enter(&accounts, &site, &headers, client.as_str(), &arrival).await?
        }
        Ok(Arrived::NeedsPassword(sealed, _)) => {
            let mut response = see_other("/app/oidc/join");
            let seconds = Some(COOKIE_SECONDS);
            session::set_cookie(&mut response, &site, join_name(&site), &sealed, seconds);
            response
        }
        Err(error) => refused(&site, &headers, error)?,
    };
    // It is used once.
    session::set_cookie(&mut response, &site, attempt_name(&site), "", Some(0));
    Ok(response)
}

/// Begins the session of a person, and ends the one that the browser had.
async fn enter(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    address: &str,
    arrival: &Arrival,
) -> Result<Response, ApiError> {
    let response = session::begin_by_provider(accounts, site, headers, arrival).await?;
    session::end_former(accounts, site, headers, address).await;
    Ok(response)
}

/// The page of a sign-in that failed: what happened, and what to do.
fn refused(site: &Site, headers: &HeaderMap, error: SignInError) -> Result<Response, ApiError> {
    let (name, may_try_again) = match &error {
        SignInError::NotOffered => return Ok(see_other("/app")),
        SignInError::Account(_) => return Err(error.into()),
        SignInError::Expired => ("oidc_expired", true),
        SignInError::Denied(_) => ("oidc_denied", true),
        SignInError::Provider(ProviderFault::Unreachable(..) | ProviderFault::Busy) => {
            ("oidc_unreachable", true)
        }
        SignInError::Provider(_) => ("oidc_broken", true),
        SignInError::NoEmail | SignInError::UnverifiedEmail => ("oidc_email", true),
        SignInError::OfAnother => ("oidc_another", false),
        SignInError::Banned(_) => ("oidc_banned", false),
    };
    let language = Language::of_headers(headers);
    let values = [("provider", site.provider().unwrap_or_default())];
    let page = RefusedPage {
        frame: Frame::public(site, language),
        title: language.with(&format!("{name}_title"), &values),
        text: language.with(&format!("{name}_text"), &values),
        may_try_again,
    };
    refused_page(&error.into(), &page)
}

pub(super) async fn show_join(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if accounts.provider().is_none() {
        return refused(&site, &headers, SignInError::NotOffered);
    }
    shown_join(&accounts, &site, &headers, None)
}

fn shown_join(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    error: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let sealed = session::cookie(headers, join_name(site)).unwrap_or_default();
    let Some(email) = accounts.address_to_join(&sealed) else {
        return refused(site, headers, SignInError::Expired);
    };
    let language = Language::of_headers(headers);
    let provider = site.provider().unwrap_or_default();
    let values = [("provider", provider), ("email", &email)];
    form_page(site, headers, error, |csrf| JoinPage {
        frame: Frame::public(site, language).with_form(headers),
        csrf,
        text: language.with("oidc_join_what", &values),
        has_factor: error.is_some_and(is_of_code),
        fault: error.map(|error| {
            let fault = Fault::of(error, &[]);
            if is_of_code(error) {
                fault.moved("", "otp")
            } else {
                fault
            }
        }),
    })
}

/// Whether a code is missing or wrong.
fn is_of_code(error: &ApiError) -> bool {
    error.status() == StatusCode::UNAUTHORIZED
}

pub(super) async fn join(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Asking(client): Asking,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, ApiError> {
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    session::check(&site, &headers, &cookie, &form)?;
    let sealed = session::cookie(&headers, join_name(&site)).unwrap_or_default();
    let password = Password::at_log_in(form.take("password"));
    let otp = form.take("otp");
    let otp = (!otp.is_empty()).then(|| OneTimePassword::parse(&otp));
    let joined = accounts.join_by_password(&client, &sealed, password, otp.as_ref());
    match joined.await {
        Ok(arrival) => {
            let address = client.address();
            let mut response = enter(&accounts, &site, &headers, address, &arrival).await?;
            session::set_cookie(&mut response, &site, join_name(&site), "", Some(0));
            Ok(response)
        }
        Err(SignInError::Account(error)) => {
            let error = ApiError::from(error);
            if error.is_failure() {
                return Err(error);
            }
            shown_join(&accounts, &site, &headers, Some(&error))
        }
        Err(error) => refused(&site, &headers, error),
    }
}

/// Leads to the provider's own page for signing out, if it has one.
pub(super) async fn sign_out_there(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Some(provider) = accounts.provider() else {
        return refused(&site, &headers, SignInError::NotOffered);
    };
    let url = provider.end_session().await.unwrap_or_else(|fault| {
        tracing::warn!(reason = %fault, "people cannot sign out at the identity provider");
        None
    });
    let Some(url) = url else {
        return Ok(see_other("/app/login"));
    };
    let page = LogoutPage {
        frame: Frame::public(&site, Language::of_headers(&headers)),
        provider: site.provider().unwrap_or_default(),
        url: &url,
    };
    let mut response = own_page(StatusCode::OK, &page)?;
    // A form may not lead elsewhere (`form-action`), but a page may.
    let refresh = HeaderValue::try_from(format!("0; url={url}"));
    if let Ok(refresh) = refresh {
        response.headers_mut().insert(REFRESH, refresh);
    }
    Ok(response)
}

/// Back-channel logout: the provider itself names the sessions that end.
pub(super) async fn end_sessions(
    State(accounts): State<Arc<Accounts>>,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let token = form.get("logout_token");
    match accounts.log_out_by_provider(client.as_str(), token).await {
        Ok(_) => {
            let no_store = (CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Ok((StatusCode::OK, [no_store]).into_response())
        }
        Err(SignInError::Provider(ProviderFault::Token(fault))) => {
            Err(ApiError::bad_request(&format!("logout_token: {fault}")))
        }
        Err(error) => Err(error.into()),
    }
}
