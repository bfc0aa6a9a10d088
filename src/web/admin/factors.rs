//! The second factors of an account whose owner has lost them: taken away, after a question.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use super::roles::{OfAnother, account, refused};
use super::{Admin, Section};
use crate::abuse::Abuse;
use crate::domain::TokenKey;
use crate::http::ApiError;
use crate::web::form::Form;
use crate::web::page::{Site, see_other};

/// Asks whether the second factors of an account are to go.
pub(in crate::web) async fn ask(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let language = admin.language();
    let question = OfAnother {
        title: &|email| language.with("admin_factors_title", &[("email", email)]),
        text: language.text("admin_factors_text"),
        yes: language.text("admin_remove_factors"),
        end: "factors",
    };
    question.ask(&abuse, &site, &admin, &id).await
}

/// Takes them away.
pub(in crate::web) async fn reset(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let user = account(&abuse, &id).await?.id;
    if user == admin.signed_in.person.user {
        return Ok(see_other("/app/account"));
    }
    let key = TokenKey::generate().map_err(|error| ApiError::internal(&error.to_string()))?;
    match abuse.reset_factors(&admin.administrator, user, key).await {
        Ok(()) => Ok(see_other(&format!(
            "{}?done=factors",
            Section::ACCOUNTS.path
        ))),
        Err(error) => refused(&abuse, &site, &admin, error).await,
    }
}
