//! The groups of an account: made, and chosen for the pages.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::group::role_name;
use super::language::Language;
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::domain::{Group, GroupName, UserId};
use crate::http::{ApiError, ClientAddress, QueryOf};

#[derive(Template)]
#[template(path = "groups.html")]
struct GroupsPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    own_csrf: &'a str,
    said: &'static str,
    groups: Vec<ShownGroup>,
    name: &'a str,
    fault: Option<Fault>,
}

impl GroupsPage<'_> {
    fn fault_at(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

struct ShownGroup {
    id: i64,
    name: String,
    role: &'static str,
    members: String,
    is_chosen: bool,
}

impl ShownGroup {
    fn of(group: &Group, signed_in: &SignedIn, language: Language) -> Self {
        Self {
            id: group.id.0,
            name: group.name.as_str().to_owned(),
            role: role_name(group.role, language),
            members: language.count("groups_members_n", group.members),
            is_chosen: signed_in.acting.is_for(group),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

pub(super) async fn show(
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let said = match done.done.as_str() {
        "deleted" => language.text("groups_done_deleted"),
        "left" => language.text("groups_done_left"),
        _ => "",
    };
    page(&site, &signed_in, said, "", None)
}

fn page(
    site: &Site,
    signed_in: &SignedIn,
    said: &'static str,
    name: &str,
    refusal: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let owner = signed_in.owner();
    let groups = signed_in.acting.groups.iter();
    let groups = groups.map(|group| ShownGroup::of(group, signed_in, owner.language));
    let page = GroupsPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        own_csrf: owner.own_csrf,
        said,
        groups: groups.collect(),
        name,
        fault: refusal.map(|error| Fault::of(error, &["name"])),
    };
    match refusal {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(super) async fn make(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let raw = form.get("name");
    let made = async {
        let name = GroupName::parse(raw).map_err(|error| ApiError::invalid(error.to_string()))?;
        let group = accounts.create_group(client.as_str(), signed_in.person, &name);
        Ok::<_, ApiError>(group.await?)
    };
    match made.await {
        Ok(group) => Ok(see_other(&format!("/app/groups/{}?done=made", group.id.0))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => page(&site, &signed_in, "", raw, Some(&error)),
    }
}

/// Shows the links of a group from now on, or those of the account.
pub(super) async fn choose(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check_own(&site, &form)?;
    let group = match form.get("group") {
        "" => None,
        raw => Some(UserId(
            raw.parse().map_err(|_| ApiError::group_not_found())?,
        )),
    };
    let chosen = accounts.choose_group(signed_in.person, signed_in.id, group);
    if !chosen.await? {
        return Err(ApiError::group_not_found());
    }
    Ok(see_other("/app"))
}
