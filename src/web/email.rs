//! Another e-mail address: the form that asks for it, and the page of the link that is mailed to the new address.
//!
//! The link works only where its account is signed in. So a stranger who gets it by a slip of the pen cannot take the account over by
//! a link for a forgotten password; and opening it changes nothing, as programs that look at mail open links, too.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::join::over;
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::questions::{Question, asked};
use super::session::{self, SignedIn};
use super::two_factors;
use crate::accounts::{AccountError, Accounts, Proof};
use crate::domain::{EmailAddress, EmailChange, OneTimePassword, OneTimeToken, Password};
use crate::http::{ApiError, Asking, QueryOf};
use crate::mail::{AccountLetter, AccountMail, LetterAbout};
use crate::store::SessionBy;

/// What the page has below the address of now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Form,
    /// That a mail is on its way.
    Sent,
    /// That the session began too long ago to stand for a password.
    SignInAgain,
}

#[derive(Template)]
#[template(path = "email.html")]
struct EmailPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    email: &'a str,
    part: Part,
    has_password: bool,
    has_factor: bool,
    typed: &'a str,
    fault: Option<Fault>,
}

impl EmailPage<'_> {
    fn is_sent(&self) -> bool {
        self.part == Part::Sent
    }

    fn is_old(&self) -> bool {
        self.part == Part::SignInAgain
    }

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
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(query): QueryOf<Sent>,
) -> Result<Response, ApiError> {
    let is_sent = query.sent == "yes";
    page(&accounts, &site, &signed_in, is_sent, ("", None)).await
}

/// The page, with what was typed and what is wrong with it.
async fn page(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    is_sent: bool,
    (typed, refusal): (&str, Option<&ApiError>),
) -> Result<Response, ApiError> {
    let has_password = accounts.has_password(signed_in.person).await?;
    let is_old = !has_password && !accounts.is_recent(signed_in.began_at);
    let part = match (is_sent, is_old) {
        (true, _) => Part::Sent,
        (false, true) => Part::SignInAgain,
        (false, false) => Part::Form,
    };
    let page = EmailPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        email: signed_in.user.email.as_str(),
        part,
        has_password,
        has_factor: accounts.factors(signed_in.person).await?.totp.is_some(),
        typed,
        fault: refusal.map(|error| two_factors::fault(error, &["email"])),
    };
    match refusal {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(super) async fn ask(
    State(accounts): State<Arc<Accounts>>,
    State(mail): State<AccountMail>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Asking(client): Asking,
    mut form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let typed = form.get("email").trim().to_owned();
    let begun = async {
        mail.is_sent().map_err(ApiError::no_mail)?;
        let email = EmailAddress::parse(typed.clone());
        let email = email.map_err(|error| ApiError::invalid(error.to_string()))?;
        let proof = if accounts.has_password(signed_in.person).await? {
            let otp = OneTimePassword::parse(&form.take("otp"));
            Proof::Password(Password::at_log_in(form.take("password")), Some(otp))
        } else {
            Proof::Session(signed_in.began_at)
        };
        let begun = accounts.begin_email_change(&client, signed_in.person, proof, &email);
        Ok::<_, ApiError>(begun.await?)
    };
    match begun.await {
        Ok((change, token, _)) => {
            mail.send(AccountLetter {
                about: LetterAbout::NewEmail(change, token),
                languages: signed_in.owner().language.tag().to_owned(),
            });
            Ok(see_other("/app/account/email?sent=yes"))
        }
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let refused = (&*typed, Some(&error));
            page(&accounts, &site, &signed_in, false, refused).await
        }
    }
}

/// The change that a path names, if its link works still, and is of the account that is signed in.
async fn open(
    accounts: &Accounts,
    signed_in: &SignedIn,
    raw: &str,
) -> Result<Option<(OneTimeToken, EmailChange)>, ApiError> {
    let Some(token) = OneTimeToken::parse(raw) else {
        return Ok(None);
    };
    let change = accounts.email_change(signed_in.person, &token).await?;
    Ok(change.map(|change| (token, change)))
}

fn used_up(site: &Site, signed_in: &SignedIn) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let (title, text) = (
        language.text("forgot_over_title"),
        language.text("email_over_text"),
    );
    over(site, language, title, text)
}

pub(super) async fn question(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(token): Path<String>,
) -> Result<Response, ApiError> {
    let Some((token, change)) = open(&accounts, &signed_in, &token).await? else {
        return used_up(&site, &signed_in);
    };
    let language = signed_in.owner().language;
    let question = Question {
        title: language.with("email_question", &[("email", change.to.as_str())]),
        text: language.text("email_question_what").to_owned(),
        action: format!("/app/account/email/{}", token.expose()),
        yes: language.text("email_question_yes"),
        no: language.text("tools_cancel"),
        back: "/app/account".to_owned(),
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn confirm(
    State(accounts): State<Arc<Accounts>>,
    State(mail): State<AccountMail>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(token): Path<String>,
    Asking(client): Asking,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let Some((token, change)) = open(&accounts, &signed_in, &token).await? else {
        return used_up(&site, &signed_in);
    };
    let used = accounts.use_email_change(&client, signed_in.person, &token);
    let (principal, change, at) = match used.await {
        Ok(Some(changed)) => changed,
        Ok(None) => return used_up(&site, &signed_in),
        Err(AccountError::EmailTaken) => {
            let error = ApiError::conflict("email: has an account already");
            let refused = (change.to.as_str(), Some(&error));
            return page(&accounts, &site, &signed_in, false, refused).await;
        }
        Err(error) => return Err(error.into()),
    };
    mail.send(AccountLetter {
        about: LetterAbout::EmailChanged(change, at),
        languages: signed_in.owner().language.tag().to_owned(),
    });
    // Every session ended, this one, too. The identity provider's can be begun by the provider only.
    let again = session::signed_out(&site, "/app/login?done=email");
    let by = match (signed_in.is_of_provider, signed_in.is_strong) {
        (true, _) => return Ok(again),
        (false, true) => SessionBy::SecondFactor,
        (false, false) => SessionBy::Password,
    };
    let next = "/app/account?done=email";
    let begun = session::begin(&accounts, &site, signed_in.headers(), principal, by, next).await;
    match begun {
        // The address is changed, and that is said.
        Err(error) if error.is_failure() => Ok(again),
        begun => begun,
    }
}
