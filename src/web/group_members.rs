//! The members of a group on its page: added, given another role, removed.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::form::Form;
use super::group::{FormOf, number, of_group, path, refused};
use super::page::{Site, see_other};
use super::questions::{Question, asked};
use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::domain::{EmailAddress, GroupRole, NamedMember};
use crate::http::{ApiError, ClientAddress};

pub(super) async fn set_member(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let (id, raw) = (number(&id), form.get("email").trim());
    let set = async {
        let role = GroupRole::parse(form.get("role"));
        let role = role.map_err(|error| ApiError::invalid(error.to_string()))?;
        let named = match form.get("member") {
            "" => {
                let address = EmailAddress::parse(raw.to_owned());
                let address = address.map_err(|error| ApiError::invalid(error.to_string()))?;
                NamedMember::WithAddress(address)
            }
            member => NamedMember::Numbered(number(member)),
        };
        let set = accounts.set_member(client.as_str(), signed_in.person, id, (&named, role));
        Ok::<_, ApiError>(set.await?)
    };
    match set.await {
        Ok(_) => Ok(see_other(&path(id, "member"))),
        Err(error) => {
            refused(
                &accounts,
                &site,
                &signed_in,
                id,
                (FormOf::Members, error),
                raw,
            )
            .await
        }
    }
}

pub(super) async fn ask_to_remove(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path((id, member)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let (id, member) = (number(&id), number(&member));
    let group = accounts.group(signed_in.person, id).await?;
    let members = accounts.members(signed_in.person, id).await?;
    let found = members.iter().find(|found| found.user == member);
    let found = found.ok_or_else(ApiError::member_not_found)?;
    let language = signed_in.owner().language;
    let is_own = member == signed_in.person.user;
    let values = [
        ("group", group.name.as_str()),
        ("email", found.email.as_str()),
    ];
    let question = Question {
        action: format!("/app/groups/{}/members/{}/remove", id.0, member.0),
        ..of_group(id, language)
    };
    let question = if is_own {
        Question {
            title: language.with("groups_leave_question", &values[..1]),
            text: language.text("groups_leave_what").to_owned(),
            yes: language.text("groups_leave"),
            ..question
        }
    } else {
        Question {
            title: language.with("groups_remove_question", &values),
            text: language.text("groups_remove_what").to_owned(),
            yes: language.text("groups_remove"),
            ..question
        }
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn remove_member(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path((id, member)): Path<(String, String)>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let (id, member) = (number(&id), number(&member));
    let named = NamedMember::Numbered(member);
    let removed = accounts.remove_member(client.as_str(), signed_in.person, id, &named);
    match removed.await.map_err(ApiError::from) {
        Ok(()) if member == signed_in.person.user => Ok(see_other("/app/groups?done=left")),
        Ok(()) => Ok(see_other(&path(id, "removed"))),
        Err(error) => {
            refused(
                &accounts,
                &site,
                &signed_in,
                id,
                (FormOf::Members, error),
                "",
            )
            .await
        }
    }
}
