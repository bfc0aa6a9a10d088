//! API keys, on the account's page: a new key is shown only once.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use super::account::{Answer, FormOf, page};
use super::form::{Form, moment};
use super::page::{Site, see_other};
use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::domain::{KeyName, Scope};
use crate::http::{ApiError, ClientAddress};

pub(super) async fn make(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let made = async {
        let name = KeyName::parse(form.get("name").trim())
            .map_err(|error| ApiError::invalid(error.to_string()))?;
        let unknown = || ApiError::invalid(format!("scope: must be {}", Scope::NAMES));
        let scope = Scope::parse(form.get("scope")).ok_or_else(unknown)?;
        let end = moment("expires_at", form.get("expires_at").trim())?;
        let owner = signed_in.principal;
        let key = accounts.create_key(client.as_str(), owner, &name, scope, end);
        Ok::<_, ApiError>(key.await?.1)
    };
    match made.await {
        Ok(key) => page(&accounts, &site, &signed_in, "", Answer::NewKey(&key)).await,
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let refused = Answer::Refused(FormOf::Key, &error);
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
    let owner = signed_in.principal;
    if !accounts.delete_key(client.as_str(), owner, id).await? {
        return Err(ApiError::key_not_found());
    }
    Ok(see_other("/app/account?done=key"))
}
