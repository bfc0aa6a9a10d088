//! Forgotten passwords: a page that asks for the address, a mail with a link, and the page of the link.
//!
//! A request for a link does the same work for every address: whether there is such an account is looked up when the mail is written.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::join::over;
use super::language::Language;
use super::page::{Frame, Site, see_other};
use super::public_form::form_page;
use super::session;
use crate::accounts::Accounts;
use crate::domain::{EmailAddress, OneTimeToken, Password};
use crate::http::{ApiError, Asking, ClientAddress, QueryOf};
use crate::mail::{AccountLetter, AccountMail, LetterAbout};
use crate::store::Reset;

#[derive(Template)]
#[template(path = "forgot.html")]
struct ForgotPage<'a> {
    frame: Frame<'a>,
    csrf: String,
    is_sent: bool,
    is_changed: bool,
    email: &'a str,
    fault: Option<Fault>,
}

impl ForgotPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Sent {
    sent: String,
}

pub(super) async fn show(
    State(site): State<Site>,
    headers: HeaderMap,
    QueryOf(query): QueryOf<Sent>,
) -> Result<Response, ApiError> {
    let page = |csrf| ForgotPage {
        is_sent: query.sent == "yes",
        is_changed: query.sent == "changed",
        ..asking(&site, &headers, csrf)
    };
    form_page(&site, &headers, None, page)
}

fn asking<'a>(site: &'a Site, headers: &HeaderMap, csrf: String) -> ForgotPage<'a> {
    ForgotPage {
        frame: Frame::public(site, Language::of_headers(headers)).with_form(headers),
        csrf,
        is_sent: false,
        is_changed: false,
        email: "",
        fault: None,
    }
}

pub(super) async fn ask(
    State(accounts): State<Arc<Accounts>>,
    State(mail): State<AccountMail>,
    State(site): State<Site>,
    client: ClientAddress,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, ApiError> {
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    session::check(&site, &headers, &cookie, &form)?;
    let raw = form.get("email").trim();
    let asked = async {
        let email = EmailAddress::parse(raw.to_owned());
        let email = email.map_err(|error| ApiError::invalid(error.to_string()))?;
        accounts.count_forgotten(client.as_str()).await?;
        Ok::<_, ApiError>(email)
    };
    match asked.await {
        Ok(email) => {
            mail.send(AccountLetter {
                about: LetterAbout::ForgottenPassword(email, client.as_str().to_owned()),
                languages: Language::of_headers(&headers).tag().to_owned(),
            });
            Ok(see_other("/app/forgot?sent=yes"))
        }
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let page = |csrf| ForgotPage {
                email: raw,
                fault: Some(Fault::of(&error, &["email"])),
                ..asking(&site, &headers, csrf)
            };
            form_page(&site, &headers, Some(&error), page)
        }
    }
}

#[derive(Template)]
#[template(path = "new_password.html")]
struct NewPasswordPage<'a> {
    frame: Frame<'a>,
    csrf: String,
    token: &'a str,
    email: &'a str,
    fault: Option<Fault>,
}

impl NewPasswordPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

/// The link that a path names, if it works still.
async fn open(accounts: &Accounts, raw: &str) -> Result<Option<(OneTimeToken, Reset)>, ApiError> {
    let Some(token) = OneTimeToken::parse(raw) else {
        return Ok(None);
    };
    let reset = accounts.reset(&token).await?;
    Ok(reset.map(|reset| (token, reset)))
}

fn choosing(
    site: &Site,
    headers: &HeaderMap,
    token: &OneTimeToken,
    reset: &Reset,
    error: Option<&ApiError>,
) -> Result<Response, ApiError> {
    form_page(site, headers, error, |csrf| NewPasswordPage {
        frame: Frame::public(site, Language::of_headers(headers)).with_form(headers),
        csrf,
        token: token.expose(),
        email: reset.email.as_str(),
        fault: error.map(|error| Fault::of(error, &["password"])),
    })
}

fn used_up(site: &Site, headers: &HeaderMap) -> Result<Response, ApiError> {
    let language = Language::of_headers(headers);
    let (title, text) = (
        language.text("forgot_over_title"),
        language.text("forgot_over_text"),
    );
    over(site, language, title, text)
}

pub(super) async fn choose(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match open(&accounts, &token).await? {
        Some((token, reset)) => choosing(&site, &headers, &token, &reset, None),
        None => used_up(&site, &headers),
    }
}

pub(super) async fn reset(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Path(token): Path<String>,
    Asking(client): Asking,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, ApiError> {
    let Some((token, reset)) = open(&accounts, &token).await? else {
        return used_up(&site, &headers);
    };
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    session::check(&site, &headers, &cookie, &form)?;
    let password = form.take("password");
    let used = async {
        let password = Password::parse(password)
            .map_err(|error| ApiError::invalid(format!("password: {error}")))?;
        Ok::<_, ApiError>(accounts.use_reset(&client, &token, password).await?)
    };
    match used.await {
        Ok(true) => Ok(session::signed_out(&site, "/app/forgot?sent=changed")),
        Ok(false) => used_up(&site, &headers),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => choosing(&site, &headers, &token, &reset, Some(&error)),
    }
}
