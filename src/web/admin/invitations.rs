//! Invitations: made, listed and revoked. The link of an invitation is what its page shows, once.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::faults::Refused;
use super::{Admin, ListPage, ListQuery, Section, found, moment};
use crate::abuse::{Abuse, AbuseError, join_path};
use crate::accounts::Accounts;
use crate::domain::{
    EmailAddress, Group, GroupRole, InvalidInvitation, Invitation, InvitedRole, UserId,
};
use crate::http::{ApiError, QueryOf};
use crate::mail::InvitationMail;
use crate::web::form::Form;
use crate::web::group::role_name;
use crate::web::language::Language;
use crate::web::page::{Frame, Site, own_page, see_other};

/// An open invitation in the list.
#[derive(Template)]
#[template(path = "admin/invitations.html")]
struct InvitationRow<'a> {
    language: Language,
    csrf: &'a str,
    id: i64,
    email: String,
    is_admin: bool,
    /// The group that the account joins, with its role; may be empty.
    joins: String,
    made: String,
    ends: String,
}

impl<'a> InvitationRow<'a> {
    fn of(invitation: &Invitation, admin: &'a Admin) -> Self {
        let language = admin.language();
        let made = moment(language, invitation.created_at);
        let ends = moment(language, invitation.expires_at);
        Self {
            language,
            csrf: admin.signed_in.owner().csrf,
            id: invitation.id,
            email: invitation.email.as_str().to_owned(),
            is_admin: invitation.role == InvitedRole::Administrator,
            joins: invitation.group.as_ref().map_or_else(String::new, |to| {
                format!("{}: {}", to.name.as_str(), role_name(to.role, language))
            }),
            made: language.with("admin_invited_at", &[("moment", &made)]),
            ends: language.with("admin_invited_until", &[("moment", &ends)]),
        }
    }
}

/// The form of an invitation, with what was entered.
#[derive(Default)]
struct Sent {
    email: String,
    is_admin: bool,
    group: Option<(UserId, GroupRole)>,
    refused: Option<Refused>,
}

impl Sent {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.refused.as_ref()?.at(field)
    }

    fn is_group(&self, group: &Group) -> bool {
        self.group.is_some_and(|(chosen, _)| chosen == group.id)
    }

    fn is_role(&self, name: &str) -> bool {
        self.group.is_some_and(|(_, role)| role.name() == name)
    }
}

/// What stands above the list.
#[derive(Template)]
#[template(path = "admin/new_invitation.html")]
struct NewInvitation<'a> {
    language: Language,
    section: Section,
    csrf: &'a str,
    form: &'a Sent,
    /// The groups of the administrator.
    groups: Vec<Group>,
    /// The roles in a group, and how people name them.
    roles: [(&'static str, &'static str); 3],
}

/// An invitation that was just made: its link is shown only once.
#[derive(Template)]
#[template(path = "admin/invitation.html")]
struct InvitationPage<'a> {
    frame: Frame<'a>,
    title: String,
    ends: String,
    url: String,
    is_mailed: bool,
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let form = Sent::default();
    let services = (&*abuse, &*accounts);
    list(services, &site, &admin, &query, &form, StatusCode::OK).await
}

async fn list(
    (abuse, accounts): (&Abuse, &Accounts),
    site: &Site,
    admin: &Admin,
    query: &ListQuery,
    form: &Sent,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let (language, section) = (admin.language(), Section::INVITATIONS);
    let wanted = query.wanted(abuse, language).await?;
    let found = found(wanted, async |wanted| abuse.invitations(&wanted).await).await?;
    let row = |invitation: Invitation| InvitationRow::of(&invitation, admin);
    let mut page = ListPage::new(site, admin, section, query, found, row)?;
    page.said = match query.done.as_str() {
        "revoked" => language.text("admin_invitation_revoked"),
        "none" => language.text("admin_no_invitation"),
        _ => "",
    };
    let form = NewInvitation {
        language,
        section,
        csrf: admin.signed_in.owner().csrf,
        form,
        groups: accounts.groups(admin.signed_in.person).await?,
        roles: GroupRole::ALL.map(|role| (role.name(), role_name(role, language))),
    };
    own_page(status, &page.with_form(&form)?)
}

pub(in crate::web) async fn invite(
    State(abuse): State<Arc<Abuse>>,
    State(accounts): State<Arc<Accounts>>,
    State(invitation_mail): State<InvitationMail>,
    State(site): State<Site>,
    admin: Admin,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let (raw, language) = (form.get("email").trim(), admin.language());
    let role = if form.has("admin") {
        InvitedRole::Administrator
    } else {
        InvitedRole::None
    };
    let group = group(&form);
    let invited = async {
        let email = EmailAddress::parse(raw.to_owned()).map_err(InvalidInvitation::Email)?;
        let group = group.transpose()?;
        let by = &admin.administrator;
        abuse.invite(by, &email, role, group).await
    };
    match invited.await {
        Ok((invitation, token)) => {
            let email = [("email", invitation.email.as_str())];
            let ends = moment(language, invitation.expires_at);
            let url = format!("{}{}", site.base_url(), join_path(&token));
            let page = InvitationPage {
                is_mailed: invitation_mail.send(language.tag(), &invitation, &url),
                frame: Frame::own(&site, admin.signed_in.owner()),
                title: language.with("admin_invitation_title", &email),
                ends: language.with("admin_invitation_once", &[("moment", &ends)]),
                url,
            };
            own_page(StatusCode::OK, &page)
        }
        Err(error) => {
            let refused = Refused::of(error, language)?;
            let (query, status) = (ListQuery::default(), refused.status);
            let sent = Sent {
                email: raw.to_owned(),
                is_admin: role == InvitedRole::Administrator,
                group: group.and_then(Result::ok),
                refused: Some(refused),
            };
            let services = (&*abuse, &*accounts);
            list(services, &site, &admin, &query, &sent, status).await
        }
    }
}

/// The group that the account is to join, and its role there.
fn group(form: &Form) -> Option<Result<(UserId, GroupRole), InvalidInvitation>> {
    let raw = form.get("group");
    if raw.is_empty() {
        return None;
    }
    let role = GroupRole::parse(form.get("group_role")).map_err(|_| InvalidInvitation::GroupRole);
    let group = raw.parse().map_err(|_| InvalidInvitation::Group);
    Some(group.and_then(|group| Ok((UserId(group), role?))))
}

pub(in crate::web) async fn revoke(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let id = id.parse().unwrap_or_default();
    let done = match abuse.revoke_invitation(&admin.administrator, id).await {
        Ok(()) => "revoked",
        // It was used, has expired, or somebody else was quicker.
        Err(AbuseError::Unknown) => "none",
        Err(error) => return Err(error.into()),
    };
    let path = Section::INVITATIONS.path;
    Ok(see_other(&format!("{path}?done={done}")))
}
