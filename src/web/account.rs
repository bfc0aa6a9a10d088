//! The account: password, sessions, keys, deletion.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::browser_name::browser_shown;
use super::form::{Fault, Form};
use super::language::Language;
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::prefilled::bookmarklet;
use super::questions::ask_for_account;
use super::session::{self, SignedIn};
use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::domain::{ApiKey, Password, Scope, UserId, Zone};
use crate::http::{ApiError, Asking, ClientAddress, QueryOf};
use crate::links::LinkService;
use crate::store::SessionBy;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    email: &'a str,
    has_password: bool,
    /// Whether the account has an app that shows codes.
    has_factor: bool,
    /// What is said of its passkeys; `None` if passkeys do not sign in here.
    passkeys: Option<String>,
    /// The tag of the language that the account chose; empty: the browser's.
    chosen: &'a str,
    bookmarklet: String,
    sessions: Vec<ShownSession>,
    said: &'static str,
    keys: Vec<ShownKey>,
    /// The fault of one of the forms.
    fault: Option<(FormOf, Fault)>,
    /// What was typed into the form of a key.
    typed: Option<&'a Form>,
}

/// A form of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FormOf {
    Key,
    Password,
}

impl FormOf {
    fn fault(self, error: &ApiError) -> Fault {
        match self {
            Self::Key => Fault::of(error, &["name", "scope", "expires_at"]),
            // A fault of a password is about the new password; the old password is only right or wrong.
            Self::Password => {
                let fault = Fault::of(error, &["new_password", "password"])
                    .moved("password", "new_password");
                match error.status() {
                    StatusCode::FORBIDDEN => fault.moved("", "old_password"),
                    _ => fault,
                }
            }
        }
    }
}

impl AccountPage<'_> {
    fn fault_of(&self, form: FormOf, field: &str) -> Option<&str> {
        let (_, fault) = self.fault.as_ref().filter(|(of, _)| *of == form)?;
        fault.at(field)
    }

    /// What was typed into a field of the form of a key.
    fn typed(&self, field: &str) -> &str {
        self.typed.map_or("", |form| form.get(field))
    }

    fn key_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Key, field)
    }

    fn password_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Password, field)
    }
}

struct ShownSession {
    id: i64,
    agent: String,
    since: String,
    is_this: bool,
}

/// A key in a list.
pub(super) struct ShownKey {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) scope: &'static str,
    pub(super) ends: String,
    pub(super) used: String,
    /// Of a group's key, who made it.
    pub(super) made_by: String,
}

impl ShownKey {
    pub(super) fn of(language: Language, key: ApiKey) -> Self {
        let day = |moment| language.date(moment, &Zone::UTC);
        let used = key.last_used_on.unwrap_or_default();
        Self {
            id: key.id,
            name: key.name.as_str().to_owned(),
            scope: language.text(match key.scope {
                Scope::Read => "acct_read",
                Scope::Write => "acct_write",
                Scope::Create => "acct_create",
            }),
            ends: key.expires_at.map(day).unwrap_or_default(),
            made_by: key
                .made_by
                .map_or_else(String::new, |maker| maker.as_str().to_owned()),
            used: format!("{used}T00:00:00Z").parse().map_or(used, day),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

/// What the page answers to one of its forms.
pub(super) enum Answer<'a> {
    Nothing,
    Refused(FormOf, &'a ApiError),
    /// The form of a key is refused, and shown again as it was filled.
    RefusedKey(&'a ApiError, &'a Form),
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let said = match done.done.as_str() {
        "language" => language.text("language_chosen"),
        "password" => language.text("acct_done_password"),
        "key" => language.text("acct_done_key"),
        "session" => language.text("acct_done_session"),
        "kept" => language.text("acct_done_kept"),
        "factor" => language.text("factor_done_off"),
        "email" => language.text("email_done"),
        _ => "",
    };
    page(&accounts, &site, &signed_in, said, Answer::Nothing).await
}

pub(super) async fn page(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    said: &'static str,
    answer: Answer<'_>,
) -> Result<Response, ApiError> {
    let sessions = accounts.sessions(signed_in.person).await?;
    let keys = accounts.keys(signed_in.person).await?;
    let language = signed_in.owner().language;
    let sessions = sessions.into_iter().map(|session| ShownSession {
        id: session.id,
        agent: browser_shown(language, session.agent),
        since: language.minute(session.created_at),
        is_this: session.id == signed_in.id,
    });
    let (refused, typed) = match answer {
        Answer::Nothing => (None, None),
        Answer::Refused(form, error) => (Some((form, error)), None),
        Answer::RefusedKey(error, form) => (Some((FormOf::Key, error)), Some(form)),
    };
    let passkeys = if accounts.has_passkeys() {
        Some(match accounts.passkeys(signed_in.person).await?.len() {
            0 => language.text("passkey_what").to_owned(),
            passkeys => language.count("passkey_count", passkeys as u64),
        })
    } else {
        None
    };
    let page = AccountPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        email: signed_in.user.email.as_str(),
        has_password: accounts.has_password(signed_in.person).await?,
        has_factor: accounts.factors(signed_in.person).await?.totp.is_some(),
        passkeys,
        chosen: &signed_in.chosen_language,
        bookmarklet: bookmarklet(site),
        sessions: sessions.collect(),
        said,
        keys: (keys.into_iter())
            .map(|key| ShownKey::of(language, key))
            .collect(),
        fault: refused.map(|(form, error)| (form, form.fault(error))),
        typed,
    };
    match refused {
        Some((_, error)) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(super) async fn change_password(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Asking(client): Asking,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    if !site.has_passwords() {
        return Err(ApiError::no_passwords());
    }
    let old = Password::at_log_in(form.take("old_password"));
    let new = form.take("new_password");
    let changed = async {
        let new = Password::parse(new)
            .map_err(|error| ApiError::invalid(format!("new_password: {error}")))?;
        let owner = signed_in.person;
        let token = accounts.change_password(&client, owner, old, new).await?;
        Ok::<_, ApiError>(accounts.principal_of(&token)?)
    };
    match changed.await {
        // Every session ended with the old password, including this session.
        Ok(principal) => {
            let next = "/app/account?done=password";
            let by = if signed_in.is_strong {
                SessionBy::SecondFactor
            } else {
                SessionBy::Password
            };
            match session::begin(&accounts, &site, &headers, principal, by, next).await {
                // The password is changed, and that is said.
                Err(error) if error.status().is_server_error() => {
                    Ok(session::signed_out(&site, "/app/login?done=password"))
                }
                begun => begun,
            }
        }
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => {
            let refused = Answer::Refused(FormOf::Password, &error);
            page(&accounts, &site, &signed_in, "", refused).await
        }
    }
}

pub(super) async fn choose_language(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let tag = Language::tagged(form.get("language")).map_or("", Language::tag);
    accounts.choose_language(signed_in.person, tag).await?;
    let mut response = see_other("/app/account?done=language");
    session::remember_language(&mut response, &site, tag);
    Ok(response)
}

pub(super) async fn end_session(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let id: i64 = id.parse().map_err(|_| ApiError::not_found())?;
    let owner = signed_in.person;
    if !accounts.end_session(client.as_str(), owner, id).await? {
        return Err(ApiError::not_found());
    }
    Ok(if id == signed_in.id {
        session::ended(&site)
    } else {
        see_other("/app/account?done=session")
    })
}

pub(super) async fn log_out_everywhere(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    accounts
        .end_tokens(client.as_str(), signed_in.person)
        .await?;
    Ok(session::ended(&site))
}

pub(super) async fn delete(
    State(accounts): State<Arc<Accounts>>,
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Asking(client): Asking,
    mut form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    if form.get("action") == "keep" {
        return Ok(see_other("/app/account?done=kept"));
    }
    let owner = signed_in.person;
    let deleted = if accounts.has_password(owner).await? {
        let password = Password::at_log_in(form.take("password"));
        let deleted = match form.get("links_to").parse() {
            Ok(group) => {
                let max_links = links.limits.get().links_per_account;
                let group = UserId(group);
                accounts
                    .delete_handing_over(&client, owner, password, group, max_links)
                    .await
            }
            Err(_) => accounts.delete(&client, owner, password).await,
        };
        deleted.map(Some)
    } else {
        let began_at = signed_in.began_at;
        accounts
            .delete_without_password(&client, owner, began_at)
            .await
    };
    match deleted {
        Ok(None) => ask_for_account(&accounts, &links, &abuse, &site, &signed_in, None).await,
        Ok(Some(changes)) => {
            links.announce_all(&changes).await;
            Ok(session::ended(&site))
        }
        Err(error) => {
            let error = ApiError::from(error);
            if error.status().is_server_error() {
                return Err(error);
            }
            ask_for_account(&accounts, &links, &abuse, &site, &signed_in, Some(&error)).await
        }
    }
}
