//! `/admin/invitations`: who may make an account, whatever `REGISTRATION` says.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::PageQuery;
use crate::abuse::{Abuse, AbuseError, join_path};
use crate::api::authentication::Admin;
use crate::api::base_address::BaseAddress;
#[cfg(test)]
use crate::api::words::{GroupRoleWord, RoleWord};
use crate::domain::{EmailAddress, GroupRole, InvalidInvitation, Invitation, InvitedRole, UserId};
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesBody, TakesQuery};
use crate::http::{ApiError, Json, JsonBody, QueryOf};
use crate::mail::InvitationMail;

/// Who is to be invited.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewInvitationBody {
    /// The address of the account.
    #[schema(example = "ada@example.org", format = "email", max_length = 254)]
    email: String,
    /// The role of the account: `admin`, or none.
    #[schema(value_type = Option<RoleWord>)]
    role: Option<String>,
    /// The number of a group that the account joins.
    #[schema(example = 12, minimum = 1)]
    group: Option<i64>,
    /// What it will be in the group; without it a viewer.
    #[schema(value_type = Option<GroupRoleWord>)]
    group_role: Option<String>,
}

/// An invitation that is open.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct InvitationBody {
    /// Identifier.
    #[schema(example = 3, minimum = 1)]
    id: i64,
    /// Who is invited.
    #[schema(example = "ada@example.org")]
    email: String,
    /// The role of the account: `admin`, or `null`.
    #[schema(required = true, value_type = Option<RoleWord>)]
    role: Option<&'static str>,
    /// The number of the group that the account joins.
    #[schema(required = true, example = 12, minimum = 1)]
    group: Option<i64>,
    /// What it will be in the group.
    #[schema(required = true, value_type = Option<GroupRoleWord>)]
    group_role: Option<&'static str>,
    /// When it was made, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    created_at: String,
    /// When it ends by itself, in UTC.
    #[schema(example = "2027-02-07T18:00:00.123456Z", format = DateTime)]
    expires_at: String,
}

impl InvitationBody {
    fn new(invitation: &Invitation) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email.as_str().to_owned(),
            role: Some(invitation.role.name()).filter(|name| !name.is_empty()),
            group: invitation.group.as_ref().map(|to| to.group.0),
            group_role: invitation.group.as_ref().map(|to| to.role.name()),
            created_at: invitation.created_at.with_micros(),
            expires_at: invitation.expires_at.with_micros(),
        }
    }
}

/// An invitation that was just made.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct MadeInvitationBody {
    #[serde(flatten)]
    invitation: InvitationBody,
    /// The page at which the account is made. It is shown this once.
    #[schema(
        example = "https://sho.rt/app/join/0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978",
        format = "uri"
    )]
    url: String,
}

/// A page of invitations.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct InvitationsBody {
    /// The invitations, newest first.
    invitations: Vec<InvitationBody>,
    /// `before` of the next page, if there is a next page.
    #[schema(required = true, example = 3)]
    next: Option<i64>,
}

/// Invite somebody.
///
/// The link `url` leads to a page at which the invited person chooses a password, also if registration is closed. It works once, for
/// seven days. If the service sends mail, the invited person gets
/// it by mail, too, in the language of `Accept-Language`. Another invitation of the same address ends the earlier one. There may be up to 1,000 open invitations.
#[utoipa::path(
    post, path = "/admin/invitations", tag = "administration", operation_id = "invite", security(("bearer" = [])),
    request_body = NewInvitationBody,
    responses(
        (status = 200, description = "The invitation, with its link", body = MadeInvitationBody),
        (status = 409, description = "The address has an account, or there are as many invitations as there may be", body = ErrorBody,
            example = json!({"detail": "email: has an account already"})),
        TakesBody, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn invite(
    State(abuse): State<Arc<Abuse>>,
    State(base_address): State<BaseAddress>,
    State(invitation_mail): State<InvitationMail>,
    Admin(administrator): Admin,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NewInvitationBody>,
) -> Result<Json<MadeInvitationBody>, ApiError> {
    let invalid = |error: InvalidInvitation| ApiError::from(AbuseError::from(error));
    let email = EmailAddress::parse(body.email).map_err(|error| invalid(error.into()))?;
    let role = match body.role.as_deref() {
        None => InvitedRole::None,
        // No role has an empty name.
        Some("") => return Err(invalid(InvalidInvitation::Role)),
        Some(name) => InvitedRole::parse(name).map_err(invalid)?,
    };
    let group = group(body.group, body.group_role.as_deref()).map_err(invalid)?;
    let (invitation, token) = abuse.invite(&administrator, &email, role, group).await?;
    let url = format!("{}{}", base_address.as_str(), join_path(&token));
    let languages = headers.get(ACCEPT_LANGUAGE);
    let languages = languages.and_then(|languages| languages.to_str().ok());
    // The link is in the response in any case.
    let _ = invitation_mail.send(languages.unwrap_or_default(), &invitation, &url);
    Ok(Json(MadeInvitationBody {
        invitation: InvitationBody::new(&invitation),
        url,
    }))
}

/// The group of an invitation, and the role there.
fn group(
    group: Option<i64>,
    role: Option<&str>,
) -> Result<Option<(UserId, GroupRole)>, InvalidInvitation> {
    let role = role.map(|role| GroupRole::parse(role).map_err(|_| InvalidInvitation::GroupRole));
    match (group, role.transpose()?) {
        (Some(..1), _) => Err(InvalidInvitation::Group),
        (Some(group), role) => Ok(Some((UserId(group), role.unwrap_or(GroupRole::Viewer)))),
        (None, Some(_)) => Err(InvalidInvitation::GroupRole),
        (None, None) => Ok(None),
    }
}

/// List open invitations, newest first.
#[utoipa::path(
    get, path = "/admin/invitations", tag = "administration", operation_id = "list_invitations", params(PageQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The invitations, without their links", body = InvitationsBody),
        (status = 422, description = "A parameter breaks its rule", body = ErrorBody, example = json!({"detail": "limit: must be from 1 to 200"})),
        TakesQuery, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn list_invitations(
    State(abuse): State<Arc<Abuse>>,
    _: Admin,
    QueryOf(query): QueryOf<PageQuery>,
) -> Result<Json<InvitationsBody>, ApiError> {
    let found = abuse.invitations(&query.wanted()?).await?;
    Ok(Json(InvitationsBody {
        invitations: found.entries.iter().map(InvitationBody::new).collect(),
        next: found.next,
    }))
}

/// Revoke an invitation.
///
/// Its link does not work any more.
#[utoipa::path(
    delete, path = "/admin/invitations/{id}", tag = "administration", operation_id = "revoke_invitation",
    params(("id" = i64, Path, description = "Identifier of an invitation", example = 3, minimum = 1)),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The invitation is revoked"),
        (status = 404, description = "No open invitation has this identifier", body = ErrorBody,
            example = json!({"detail": "Invitation not found"})),
        NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn revoke_invitation(
    State(abuse): State<Arc<Abuse>>,
    Admin(administrator): Admin,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    // No invitation has the number 0.
    let id = id.parse().unwrap_or_default();
    let revoked = abuse.revoke_invitation(&administrator, id).await;
    revoked.map_err(|error| match error {
        AbuseError::Unknown => ApiError::invitation_not_found(),
        error => error.into(),
    })?;
    Ok(StatusCode::NO_CONTENT)
}
