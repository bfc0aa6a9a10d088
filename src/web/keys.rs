//! API keys: a new key is what the page shows, once.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::account::{Answer, page};
use super::form::{Form, moment};
use super::page::{Frame, Site, own_page, see_other};
use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::domain::{KeyName, Scope, Timestamp};
use crate::http::{ApiError, ClientAddress};

#[derive(Template)]
#[template(path = "new_key.html")]
struct NewKeyPage<'a> {
    frame: Frame<'a>,
    key: &'a str,
    name: &'a str,
    /// What it may do.
    may: &'static str,
    /// The page with the keys.
    back: &'a str,
}

/// The page of a key that was just made.
pub(super) fn made(
    site: &Site,
    signed_in: &SignedIn,
    (key, scope): (&str, Scope),
    name: &str,
    back: &str,
) -> Result<Response, ApiError> {
    let owner = signed_in.owner();
    let language = owner.language;
    let page = NewKeyPage {
        frame: Frame::own(site, owner),
        key,
        name: name.trim(),
        may: match scope {
            Scope::Read => language.text("key_may_read"),
            Scope::Write => language.text("key_may_write"),
            Scope::Create => language.text("key_may_create"),
        },
        back,
    };
    own_page(StatusCode::OK, &page)
}

/// What a form of a new key asks for.
pub(super) fn asked_key(form: &Form) -> Result<(KeyName, Scope, Option<Timestamp>), ApiError> {
    let name = KeyName::parse(form.get("name").trim())
        .map_err(|error| ApiError::invalid(error.to_string()))?;
    let unknown = || ApiError::invalid(format!("scope: must be {}", Scope::NAMES));
    let scope = Scope::parse(form.get("scope")).ok_or_else(unknown)?;
    let end = moment("expires_at", form.get("expires_at").trim())?;
    Ok((name, scope, end))
}

pub(super) async fn make(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let asked = async {
        let (name, scope, end) = asked_key(&form)?;
        let owner = signed_in.person;
        // A form that is sent again, such as by a reload, makes no second key; and a list with one name twice helps no person.
        if (accounts.keys(owner).await?.iter()).any(|key| key.name == name) {
            return Err(ApiError::invalid("name: is the name of another key"));
        }
        let key = accounts.create_key(client.as_str(), owner, &name, scope, end);
        Ok::<_, ApiError>((key.await?.1, scope))
    };
    match asked.await {
        Ok((key, scope)) => {
            let (key, name) = ((&*key, scope), form.get("name"));
            made(&site, &signed_in, key, name, "/app/account")
        }
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let refused = Answer::RefusedKey(&error, &form);
            page(&accounts, &site, &signed_in, "", refused).await
        }
    }
}

pub(super) async fn delete(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let id: i64 = id.parse().map_err(|_| ApiError::key_not_found())?;
    let owner = signed_in.person;
    if !accounts.delete_key(client.as_str(), owner, id).await? {
        return Err(ApiError::key_not_found());
    }
    Ok(see_other("/app/account?done=key"))
}
