//! The account: password, sessions, keys, deletion.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::page::{Frame, Site, minute, own_page, refused_page, see_other};
use super::prefilled::bookmarklet;
use super::questions::ask_for_account;
use super::session::{self, SignedIn};
use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::domain::{ApiKey, Password, Scope, Timestamp};
use crate::http::{ApiError, Asking, ClientAddress, QueryOf};
use crate::links::LinkService;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    email: &'a str,
    bookmarklet: String,
    /// Whether sessions and keys could be read.
    has_lists: bool,
    sessions: Vec<ShownSession>,
    said: &'static str,
    keys: Vec<ShownKey>,
    /// A key that was just made: it is shown only once.
    new_key: Option<&'a str>,
    /// The fault of one of the forms.
    fault: Option<(FormOf, Fault)>,
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

struct ShownKey {
    id: i64,
    name: String,
    scope: &'static str,
    ends: String,
    used: String,
}

impl From<ApiKey> for ShownKey {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name.as_str().to_owned(),
            scope: match key.scope {
                Scope::Read => "read",
                Scope::Write => "read and write",
                Scope::Create => "only create links",
            },
            ends: key.expires_at.map(Timestamp::date).unwrap_or_default(),
            used: key.last_used_on.unwrap_or_default(),
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
    NewKey(&'a str),
    Refused(FormOf, &'a ApiError),
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let said = match done.done.as_str() {
        "password" => "The password is changed, and all other sessions are signed out.",
        "key" => "The key is revoked.",
        "session" => "The session is signed out.",
        "kept" => "Nothing was deleted. To delete the account, press “Delete the account”.",
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
    let lists = async {
        let sessions = accounts.sessions(signed_in.principal).await?;
        Ok::<_, ApiError>((sessions, accounts.keys(signed_in.principal).await?))
    };
    let (mut has_lists, mut sessions, mut keys) = (true, Vec::new(), Vec::new());
    match lists.await {
        Ok(lists) => (sessions, keys) = lists,
        // The key is made, and shown only once.
        Err(_) if matches!(answer, Answer::NewKey(_)) => has_lists = false,
        Err(error) => return Err(error),
    }
    let sessions = sessions.into_iter().map(|session| ShownSession {
        id: session.id,
        agent: session.agent,
        since: minute(session.created_at),
        is_this: session.id == signed_in.id,
    });
    let (new_key, refused) = match answer {
        Answer::Nothing => (None, None),
        Answer::NewKey(key) => (Some(key), None),
        Answer::Refused(form, error) => (None, Some((form, error))),
    };
    let page = AccountPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        email: signed_in.user.email.as_str(),
        bookmarklet: bookmarklet(site),
        has_lists,
        sessions: sessions.collect(),
        said,
        keys: keys.into_iter().map(ShownKey::from).collect(),
        new_key,
        fault: refused.map(|(form, error)| (form, form.fault(error))),
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
    let old = Password::at_log_in(form.take("old_password"));
    let new = form.take("new_password");
    let changed = async {
        let new = Password::parse(new)
            .map_err(|error| ApiError::invalid(format!("new_password: {error}")))?;
        let owner = signed_in.principal;
        let token = accounts.change_password(&client, owner, old, new).await?;
        Ok::<_, ApiError>(accounts.principal_of(&token)?)
    };
    match changed.await {
        // Every session ended with the old password, including this session.
        Ok(principal) => {
            let next = "/app/account?done=password";
            match session::begin(&accounts, &site, &headers, principal, next).await {
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
    let owner = signed_in.principal;
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
        .end_tokens(client.as_str(), signed_in.principal)
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
    let password = Password::at_log_in(form.take("password"));
    match accounts
        .delete(&client, signed_in.principal, password)
        .await
    {
        Ok(changes) => {
            links.announce_all(&changes).await;
            Ok(session::ended(&site))
        }
        Err(error) => {
            let error = ApiError::from(error);
            if error.status().is_server_error() {
                return Err(error);
            }
            ask_for_account(&links, &abuse, &site, &signed_in, Some(&error)).await
        }
    }
}
