//! A group: its members, its keys, its name, and its end.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::account::ShownKey;
use super::form::{Fault, Form};
use super::language::Language;
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::questions::{Question, asked};
use super::session::SignedIn;
use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::domain::{Group, GroupName, GroupRole, Member, Principal, UserId, Zone};
use crate::http::{ApiError, ClientAddress, QueryOf};
use crate::links::LinkService;

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    own_csrf: &'a str,
    said: &'static str,
    id: i64,
    name: String,
    role: &'static str,
    is_owner: bool,
    is_chosen: bool,
    roles: Vec<(&'static str, &'static str)>,
    members: Vec<ShownMember>,
    keys: Vec<ShownKey>,
    /// What was entered as the address of a new member.
    email: &'a str,
    /// The fault of one of the forms.
    fault: Option<(FormOf, Fault)>,
}

/// A form of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FormOf {
    Members,
    Name,
    Key,
}

impl GroupPage<'_> {
    fn fault_of(&self, form: FormOf, field: &str) -> Option<&str> {
        let (_, fault) = self.fault.as_ref().filter(|(of, _)| *of == form)?;
        fault.at(field)
    }

    fn member_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Members, field)
    }

    fn name_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Name, field)
    }

    fn key_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Key, field)
    }
}

struct ShownMember {
    id: i64,
    email: String,
    /// The role's word, and its name for people.
    role: (&'static str, &'static str),
    since: String,
    is_own: bool,
}

impl ShownMember {
    fn of(member: &Member, signed_in: &SignedIn, language: Language) -> Self {
        Self {
            id: member.user.0,
            email: member.email.as_str().to_owned(),
            role: (member.role.name(), role_name(member.role, language)),
            since: language.date(member.joined_at, &Zone::UTC),
            is_own: member.user == signed_in.person.user,
        }
    }
}

/// The name of a role for people.
pub(super) fn role_name(role: GroupRole, language: Language) -> &'static str {
    language.text(match role {
        GroupRole::Viewer => "groups_viewer",
        GroupRole::Editor => "groups_editor",
        GroupRole::Owner => "groups_owner",
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

/// What the page shows beside the group.
#[derive(Default)]
struct Shown<'a> {
    said: &'static str,
    email: &'a str,
    refusal: Option<(FormOf, &'a ApiError)>,
}

/// The number of a group in a path; no group has the number 0.
pub(super) fn number(raw: &str) -> UserId {
    UserId(raw.parse().unwrap_or_default())
}

pub(super) fn path(group: UserId, done: &str) -> String {
    format!("/app/groups/{}?done={done}", group.0)
}

/// What names a group in place of the account. Each statement compares whether the account is an owner of it.
pub(super) fn principal_of(signed_in: &SignedIn, group: UserId) -> Principal {
    Principal {
        user: group,
        ..signed_in.person
    }
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let said = match done.done.as_str() {
        "made" => language.text("groups_done_made"),
        "renamed" => language.text("groups_done_renamed"),
        "member" => language.text("groups_done_member"),
        "removed" => language.text("groups_done_removed"),
        "key" => language.text("acct_done_key"),
        _ => "",
    };
    let shown = Shown {
        said,
        ..Shown::default()
    };
    page(&accounts, &site, &signed_in, number(&id), shown).await
}

async fn page(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    id: UserId,
    shown: Shown<'_>,
) -> Result<Response, ApiError> {
    let group = accounts.group(signed_in.person, id).await?;
    let members = accounts.members(signed_in.person, id).await?;
    let is_owner = group.role == GroupRole::Owner;
    let keys = if is_owner {
        accounts.keys(principal_of(signed_in, id)).await?
    } else {
        Vec::new()
    };
    let owner = signed_in.owner();
    let language = owner.language;
    let members = members.iter();
    let members = members.map(|member| ShownMember::of(member, signed_in, language));
    let fault = shown.refusal.map(|(form, error)| {
        let fields: &[&str] = match form {
            FormOf::Members => &["email", "role"],
            FormOf::Name => &["name"],
            FormOf::Key => &["name", "scope", "expires_at"],
        };
        (form, Fault::of(error, fields))
    });
    let page = GroupPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        own_csrf: owner.own_csrf,
        said: shown.said,
        id: id.0,
        name: group.name.as_str().to_owned(),
        role: role_name(group.role, language),
        is_owner,
        is_chosen: signed_in.acting.is_for(&group),
        roles: GroupRole::ALL
            .map(|role| (role.name(), role_name(role, language)))
            .into(),
        members: members.collect(),
        keys: (keys.into_iter())
            .map(|key| ShownKey::of(language, key))
            .collect(),
        email: shown.email,
        fault,
    };
    match shown.refusal {
        Some((_, error)) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(super) async fn rename(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let id = number(&id);
    let renamed = async {
        let name = GroupName::parse(form.get("name"));
        let name = name.map_err(|error| ApiError::invalid(error.to_string()))?;
        let renamed = accounts.rename_group(client.as_str(), signed_in.person, id, &name);
        Ok::<_, ApiError>(renamed.await?)
    };
    match renamed.await {
        Ok(_) => Ok(see_other(&path(id, "renamed"))),
        Err(error) => refused(&accounts, &site, &signed_in, id, (FormOf::Name, error), "").await,
    }
}

/// The page again, with the fault of a form. A member who may not do it, or is none, gets a page that says so.
pub(super) async fn refused(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    id: UserId,
    (form, error): (FormOf, ApiError),
    email: &str,
) -> Result<Response, ApiError> {
    let is_elsewhere = error.status() == StatusCode::NOT_FOUND && form != FormOf::Members;
    if error.is_failure() || is_elsewhere {
        return Err(error);
    }
    let shown = Shown {
        email,
        refusal: Some((form, &error)),
        ..Shown::default()
    };
    page(accounts, site, signed_in, id, shown).await
}

pub(super) fn of_group(group: UserId, language: Language) -> Question {
    Question {
        no: language.text("tools_cancel"),
        back: format!("/app/groups/{}", group.0),
        ..Question::default()
    }
}

/// The group, of which the account is an owner.
pub(super) async fn owned(
    accounts: &Accounts,
    signed_in: &SignedIn,
    id: UserId,
) -> Result<Group, ApiError> {
    let group = accounts.group(signed_in.person, id).await?;
    match group.role {
        GroupRole::Owner => Ok(group),
        role => Err(ApiError::role_too_small(role, GroupRole::Owner)),
    }
}

pub(super) async fn ask_to_delete(
    State(accounts): State<Arc<Accounts>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let id = number(&id);
    let group = owned(&accounts, &signed_in, id).await?;
    let links = abuse.account(id).await?.links;
    let language = signed_in.owner().language;
    let links = language.count("tools_links", links);
    let values = [("group", group.name.as_str()), ("links", &links)];
    let question = Question {
        title: language.with("groups_delete_question", &values),
        text: language.text("groups_delete_what").to_owned(),
        action: format!("/app/groups/{}/delete", id.0),
        yes: language.text("groups_delete"),
        ..of_group(id, language)
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

/// Deletes the group with its links: the question said how many these are.
pub(super) async fn delete(
    State(accounts): State<Arc<Accounts>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let deleted = accounts.delete_group(client.as_str(), signed_in.person, number(&id), true);
    if let Some(changes) = deleted.await? {
        links.announce_all(&changes).await;
    }
    Ok(see_other("/app/groups?done=deleted"))
}
