//! The keys of a group: its owners make and revoke them.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::form::Form;
use super::group::{FormOf, number, of_group, owned, path, principal_of, refused};
use super::keys::{asked_key, made};
use super::page::{Site, see_other};
use super::questions::{Question, asked};
use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::http::{ApiError, ClientAddress};

pub(super) async fn make(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let id = number(&id);
    let asked = async {
        let (name, scope, end) = asked_key(&form)?;
        owned(&accounts, &signed_in, id).await?;
        let owner = principal_of(&signed_in, id);
        let key = accounts.create_key(client.as_str(), owner, &name, scope, end);
        Ok::<_, ApiError>((key.await?.1, scope))
    };
    match asked.await {
        Ok((key, scope)) => {
            let (key, back) = ((&*key, scope), format!("/app/groups/{}", id.0));
            made(&site, &signed_in, key, form.get("name"), &back)
        }
        Err(error) => refused(&accounts, &site, &signed_in, id, (FormOf::Key, error), "").await,
    }
}

pub(super) async fn ask(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path((id, key)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let id = number(&id);
    owned(&accounts, &signed_in, id).await?;
    let keys = accounts.keys(principal_of(&signed_in, id)).await?;
    let found = keys.iter().find(|found| found.id.to_string() == key);
    let found = found.ok_or_else(ApiError::key_not_found)?;
    let language = signed_in.owner().language;
    let question = Question {
        title: language.with("revoke_key_question", &[("name", found.name.as_str())]),
        action: format!("/app/groups/{}/keys/{}/delete", id.0, found.id),
        yes: language.text("revoke_key_yes"),
        ..of_group(id, language)
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn delete(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path((id, key)): Path<(String, String)>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let id = number(&id);
    owned(&accounts, &signed_in, id).await?;
    let key: i64 = key.parse().map_err(|_| ApiError::key_not_found())?;
    let owner = principal_of(&signed_in, id);
    if !accounts.delete_key(client.as_str(), owner, key).await? {
        return Err(ApiError::key_not_found());
    }
    Ok(see_other(&path(id, "key")))
}
