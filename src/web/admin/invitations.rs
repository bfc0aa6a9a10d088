//! Invitations: made, listed and revoked. The link of an invitation is what its page shows, once.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::faults::Refused;
use super::{Admin, ListPage, ListQuery, Section, found, moment};
use crate::abuse::{Abuse, AbuseError, join_path};
use crate::domain::{EmailAddress, InvalidInvitation, Invitation, InvitedRole};
use crate::http::{ApiError, QueryOf};
use crate::mail::InvitationMail;
use crate::web::form::Form;
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
    refused: Option<Refused>,
}

impl Sent {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.refused.as_ref()?.at(field)
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

pub(super) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let form = Sent::default();
    list(&abuse, &site, &admin, &query, &form, StatusCode::OK).await
}

async fn list(
    abuse: &Abuse,
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
    };
    own_page(status, &page.with_form(&form)?)
}

pub(super) async fn invite(
    State(abuse): State<Arc<Abuse>>,
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
    let invited = async {
        let email = EmailAddress::parse(raw.to_owned()).map_err(InvalidInvitation::Email)?;
        abuse.invite(&admin.administrator, &email, role, None).await
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
                refused: Some(refused),
            };
            list(&abuse, &site, &admin, &query, &sent, status).await
        }
    }
}

pub(super) async fn revoke(
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
