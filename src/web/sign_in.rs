//! Signing in, signing up, signing out, by the rules and limits of the API's own service.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::language::Language;
use super::opened_at::opened_elsewhere;
use super::own_path::own_path;
use super::page::{Frame, Site, see_other};
use super::public_form::form_page;
use super::session::{self, PartlySignedIn, SignedIn};
use super::sign_in_code;
use crate::accounts::{AccountError, Accounts, PasskeyChallenge, SignIn};
use crate::domain::{EmailAddress, Password, RegistrationRefused};
use crate::http::{ApiError, Asking, ClientAddress, QueryOf};
use crate::store::SessionBy;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    frame: Frame<'a>,
    csrf: String,
    is_new: bool,
    next: String,
    /// Whether a form was not carried out, as its session has ended.
    has_ended: bool,
    /// What was done just now, in a sentence.
    said: &'static str,
    email: &'a str,
    /// What a browser gets to sign in by a passkey.
    passkey: Option<PasskeyChallenge>,
    fault: Option<Fault>,
}

impl SignInPage<'_> {
    /// Which addresses may register.
    fn email_at(&self, domains: impl std::fmt::Display) -> String {
        let domains = domains.to_string();
        self.frame
            .language
            .with("email_at", &[("domains", &domains)])
    }

    /// Another way in, which leads to the page that was asked for, too.
    fn way(&self, path: &str) -> String {
        if self.next == "/app" {
            return path.to_owned();
        }
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        format!("{path}?{}", query.append_pair("next", &self.next).finish())
    }

    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

#[derive(Default, Deserialize)]
pub(super) struct SignInQuery {
    #[serde(default)]
    next: String,
    #[serde(default)]
    ended: String,
    #[serde(default)]
    done: String,
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    headers: HeaderMap,
    signed_in: Result<SignedIn, Response>,
    QueryOf(query): QueryOf<SignInQuery>,
) -> Result<Response, ApiError> {
    if signed_in.is_ok() {
        return Ok(see_other(&own_path(&query.next)));
    }
    let asked = SignInForm {
        next: &query.next,
        has_ended: !query.ended.is_empty(),
        done: &query.done,
        ..SignInForm::default()
    };
    shown(&accounts, &site, &headers, &asked, None)
}

pub(super) async fn show_register(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    headers: HeaderMap,
    QueryOf(query): QueryOf<SignInQuery>,
) -> Result<Response, ApiError> {
    if !site.has_passwords() {
        return Ok(see_other("/app/login"));
    }
    let asked = SignInForm {
        is_new: true,
        next: &query.next,
        ..SignInForm::default()
    };
    let is_closed = site.registration().is_closed();
    let refused = is_closed.then(|| AccountError::from(RegistrationRefused::Closed).into());
    shown(&accounts, &site, &headers, &asked, refused.as_ref())
}

/// What a form for signing in or up begins with.
#[derive(Default)]
pub(super) struct SignInForm<'a> {
    is_new: bool,
    next: &'a str,
    has_ended: bool,
    email: &'a str,
    /// What was done just now.
    done: &'a str,
}

impl<'a> SignInForm<'a> {
    /// The same after a sign-in that took too long.
    pub(super) fn late(next: &'a str) -> Self {
        Self {
            done: "late",
            ..Self::leading_to(next)
        }
    }

    /// An empty form, which leads to this page.
    pub(super) fn leading_to(next: &'a str) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }
}

pub(super) fn shown(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    asked: &SignInForm<'_>,
    error: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let language = Language::of_headers(headers);
    let passkey = if asked.is_new || !site.has_passwords() {
        None
    } else {
        accounts.passkey_challenge()?
    };
    form_page(site, headers, error, |csrf| SignInPage {
        frame: Frame::public(site, language).with_form(headers),
        csrf,
        is_new: asked.is_new,
        next: own_path(asked.next),
        has_ended: asked.has_ended,
        said: match asked.done {
            "account" => language.text("account_ready"),
            "password" => language.text("password_changed_sign_in"),
            "email" => language.text("email_changed_sign_in"),
            "late" => language.text("factor_late"),
            "factors" => language.text("factors_changed_sign_in"),
            _ => "",
        },
        email: asked.email,
        passkey,
        fault: error.map(|error| Fault::of(error, &["email", "password"])),
    })
}

pub(super) async fn log_in(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    asking: Asking,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in(&accounts, &site, asking, &headers, form, false).await
}

pub(super) async fn register(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    asking: Asking,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in(&accounts, &site, asking, &headers, form, true).await
}

async fn signed_in(
    accounts: &Accounts,
    site: &Site,
    Asking(client): Asking,
    headers: &HeaderMap,
    mut form: Form,
    is_new: bool,
) -> Result<Response, ApiError> {
    if !site.has_passwords() {
        return Err(ApiError::no_passwords());
    }
    let cookie = session::cookie(headers, session::form_name(site)).unwrap_or_default();
    if let Err(error) = session::check(site, headers, &cookie, &form) {
        if opened_elsewhere(site.base_url(), headers).is_none() {
            return Err(error);
        }
        let next = form.get("next");
        let asked = SignInForm {
            is_new,
            next,
            ..SignInForm::default()
        };
        return shown(accounts, site, headers, &asked, Some(&error));
    }
    let (email, password) = (form.get("email").trim().to_owned(), form.take("password"));
    let entered = async {
        let invalid = |error: &dyn std::fmt::Display| ApiError::invalid(error.to_string());
        let email = EmailAddress::parse(email.clone()).map_err(|error| invalid(&error))?;
        Ok::<_, ApiError>(if is_new {
            let password = Password::parse(password)
                .map_err(|error| ApiError::invalid(format!("password: {error}")))?;
            SignIn::Done(accounts.sign_up(&client, &email, password).await?)
        } else {
            let password = Password::at_log_in(password);
            let next = own_path(form.get("next"));
            accounts.sign_in(&client, &email, password, &next).await?
        })
    };
    match entered.await {
        Ok(SignIn::NeedsCode(sealed)) => Ok(sign_in_code::asked(site, &sealed)),
        Ok(SignIn::Done(principal)) => {
            let (by, next) = (SessionBy::Password, form.get("next"));
            let begun = session::begin(accounts, site, headers, principal, by, next).await;
            match begun {
                Ok(response) => {
                    let address = client.address();
                    session::end_former(accounts, site, headers, address).await;
                    Ok(response)
                }
                // The account is made, and that is said.
                Err(error) if is_new && error.is_failure() => {
                    Ok(session::signed_out(site, "/app/login?done=account"))
                }
                Err(error) => Err(error),
            }
        }
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let asked = SignInForm {
                is_new,
                next: form.get("next"),
                email: &email,
                ..SignInForm::default()
            };
            shown(accounts, site, headers, &asked, Some(&error))
        }
    }
}

pub(super) async fn log_out(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    PartlySignedIn(signed_in): PartlySignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check_own(&site, &form)?;
    accounts
        .end_session(client.as_str(), signed_in.person, signed_in.id)
        .await?;
    Ok(if signed_in.is_of_provider {
        session::ended_at(&site, "/app/oidc/logout")
    } else {
        session::ended(&site)
    })
}
