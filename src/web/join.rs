//! The page of an invitation: the invited person chooses a password, and is signed in.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::form::{Fault, Form};
use super::language::Language;
use super::opened_at::opened_elsewhere;
use super::page::{Frame, Site, own_page};
use super::public_form::form_page;
use super::session;
use crate::accounts::Accounts;
use crate::domain::{Invitation, OneTimeToken, Password};
use crate::http::{ApiError, Asking};
use crate::mail::{InvitationMail, Mail, Mailer};
use crate::store::SessionBy;

#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage<'a> {
    frame: Frame<'a>,
    csrf: String,
    token: &'a str,
    email: &'a str,
    fault: Option<Fault>,
}

impl JoinPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

/// A link that works once, and does not work any more.
#[derive(Template)]
#[template(path = "link_over.html")]
struct LinkOverPage<'a> {
    frame: Frame<'a>,
    title: &'static str,
    text: &'static str,
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match open(&accounts, &token).await? {
        Some((token, invited)) => shown(&site, &headers, &token, &invited, None),
        None => used_up(&site, &headers),
    }
}

/// The open invitation that a path names.
async fn open(
    accounts: &Accounts,
    raw: &str,
) -> Result<Option<(OneTimeToken, Invitation)>, ApiError> {
    let Some(token) = OneTimeToken::parse(raw) else {
        return Ok(None);
    };
    let invited = accounts.invitation(&token).await?;
    Ok(invited.map(|invited| (token, invited)))
}

/// The page of a link that does not work any more.
pub(super) fn over(
    site: &Site,
    language: Language,
    title: &'static str,
    text: &'static str,
) -> Result<Response, ApiError> {
    let page = LinkOverPage {
        frame: Frame::public(site, language),
        title,
        text,
    };
    own_page(StatusCode::NOT_FOUND, &page)
}

fn used_up(site: &Site, headers: &HeaderMap) -> Result<Response, ApiError> {
    let language = Language::of_headers(headers);
    let (title, text) = (
        language.text("join_over_title"),
        language.text("join_over_text"),
    );
    over(site, language, title, text)
}

/// The mails of invitations, in the language of the person who invites: the invited person's is unknown.
#[must_use]
pub fn invitation_mail(site: Site, mailer: Mailer) -> InvitationMail {
    InvitationMail::by(Arc::new(move |languages, invitation, url| {
        let language = Language::of(languages);
        let until = language.minute(invitation.expires_at);
        let values = [
            ("site", site.name()),
            ("email", invitation.email.as_str()),
            ("moment", &until),
            ("url", url),
        ];
        let text = ["mail_invite_why", "mail_invite_link", "mail_invite_else"];
        let text = text.map(|name| language.with(name, &values));
        mailer.send(Mail {
            to: invitation.email.clone(),
            subject: language.with("mail_invite_subject", &values),
            text: text.join("\r\n\r\n"),
        });
    }))
}

fn shown(
    site: &Site,
    headers: &HeaderMap,
    token: &OneTimeToken,
    invited: &Invitation,
    error: Option<&ApiError>,
) -> Result<Response, ApiError> {
    form_page(site, headers, error, |csrf| JoinPage {
        frame: Frame::public(site, Language::of_headers(headers)).with_form(headers),
        csrf,
        token: token.expose(),
        email: invited.email.as_str(),
        fault: error.map(|error| Fault::of(error, &["password"])),
    })
}

pub(super) async fn join(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    Path(token): Path<String>,
    Asking(client): Asking,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, ApiError> {
    let Some((token, invited)) = open(&accounts, &token).await? else {
        return used_up(&site, &headers);
    };
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    if let Err(error) = session::check(&site, &headers, &cookie, &form) {
        if opened_elsewhere(site.base_url(), &headers).is_none() {
            return Err(error);
        }
        return shown(&site, &headers, &token, &invited, Some(&error));
    }
    let password = form.take("password");
    let joined = async {
        let password = Password::parse(password)
            .map_err(|error| ApiError::invalid(format!("password: {error}")))?;
        Ok::<_, ApiError>(accounts.join(&client, &token, password).await?)
    };
    match joined.await {
        Ok(Some(principal)) => {
            let by = SessionBy::Password;
            match session::begin(&accounts, &site, &headers, principal, by, "/app").await {
                Ok(response) => {
                    session::end_former(&accounts, &site, &headers, client.address()).await;
                    Ok(response)
                }
                // The account is made, and that is said.
                Err(error) if error.is_failure() => {
                    Ok(session::signed_out(&site, "/app/login?done=account"))
                }
                Err(error) => Err(error),
            }
        }
        Ok(None) => used_up(&site, &headers),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => shown(&site, &headers, &token, &invited, Some(&error)),
    }
}
