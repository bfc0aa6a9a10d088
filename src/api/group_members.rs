//! `/groups/{id}/members`: who acts for a group.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::authentication::LoggedIn;
use super::groups::group_id;
#[cfg(test)]
use super::words::GroupRoleWord;
use crate::accounts::Accounts;
use crate::domain::{GroupRole, Member, NamedMember, UserId};
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesBody};
use crate::http::{ApiError, ClientAddress, Json, JsonBody};

/// What a member is to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberPut {
    /// A viewer reads, an editor changes links, too, and an owner has the members, the keys and the name.
    #[schema(value_type = GroupRoleWord)]
    role: String,
}

/// A member of a group.
#[derive(Serialize, ToSchema)]
pub(super) struct MemberBody {
    /// Identifier of the account.
    #[schema(value_type = i64, example = 1, minimum = 1)]
    id: UserId,
    /// Its address.
    #[schema(example = "ada@example.org")]
    email: String,
    /// What it is.
    #[schema(value_type = GroupRoleWord)]
    role: &'static str,
    /// Since when it is a member, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    joined_at: String,
}

impl From<Member> for MemberBody {
    fn from(member: Member) -> Self {
        Self {
            id: member.user,
            email: member.email.as_str().to_owned(),
            role: member.role.name(),
            joined_at: member.joined_at.with_micros(),
        }
    }
}

/// List the members of a group, owners first.
#[utoipa::path(
    get, path = "/groups/{id}/members", tag = "groups", operation_id = "members",
    params(("id" = i64, Path, description = "Identifier of a group", example = 12, minimum = 1)),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The members", body = Vec<MemberBody>),
        (status = 404, description = "You are no member of such a group", body = ErrorBody, example = json!({"detail": "Group not found"})),
        NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn list(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    Path(id): Path<String>,
) -> Result<Json<Vec<MemberBody>>, ApiError> {
    let members = accounts.members(owner, group_id(&id)).await?;
    Ok(Json(members.into_iter().map(MemberBody::from).collect()))
}

/// Add a member to a group, or give a member another role.
///
/// An owner does. Who is no member yet is named by the e-mail address of the account. The last owner stays an owner.
#[utoipa::path(
    put, path = "/groups/{id}/members/{member}", tag = "groups", operation_id = "set_member",
    params(
        ("id" = i64, Path, description = "Identifier of a group", example = 12, minimum = 1),
        ("member" = String, Path, description = "The e-mail address of an account, or the identifier of a member", example = "ada@example.org"),
    ),
    security(("bearer" = [])), request_body = MemberPut,
    responses(
        (status = 200, description = "The member", body = MemberBody),
        (status = 403, description = "Your role in the group is too small, or there are as many members as there may be", body = ErrorBody,
            example = json!({"detail": "You are an editor of this group; this needs an owner"})),
        (status = 404, description = "You are no member of such a group, or nobody is named so", body = ErrorBody, examples(
            ("group" = (value = json!({"detail": "Group not found"}))),
            ("member" = (value = json!({"detail": "No account or member is named so"}))),
        )),
        (status = 409, description = "The group would have no owner", body = ErrorBody,
            example = json!({"detail": "The group needs an owner; make another member an owner first"})),
        TakesBody, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn set(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    client: ClientAddress,
    Path((id, named)): Path<(String, String)>,
    body: Result<JsonBody<MemberPut>, ApiError>,
) -> Result<Json<MemberBody>, ApiError> {
    let id = group_id(&id);
    let role = body.and_then(|JsonBody(body)| {
        GroupRole::parse(&body.role).map_err(|error| ApiError::invalid(error.to_string()))
    });
    let named = NamedMember::parse(&named).ok_or_else(ApiError::member_not_found);
    let (role, named) = match role.and_then(|role| Ok((role, named?))) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            // The change would have shown whether there is such a group.
            accounts.group(owner, id).await?;
            return Err(refusal);
        }
    };
    let set = accounts.set_member(client.as_str(), owner, id, (&named, role));
    Ok(Json(set.await?.into()))
}

/// Take a member out of a group, or leave it.
///
/// From then on the account does nothing for the group, on any instance; keys of the group stay. An owner removes others. The last owner stays.
#[utoipa::path(
    delete, path = "/groups/{id}/members/{member}", tag = "groups", operation_id = "remove_member",
    params(
        ("id" = i64, Path, description = "Identifier of a group", example = 12, minimum = 1),
        ("member" = String, Path, description = "The e-mail address or the identifier of a member", example = "ada@example.org"),
    ),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The account is no member any more"),
        (status = 403, description = "Your role in the group is too small", body = ErrorBody,
            example = json!({"detail": "You are an editor of this group; this needs an owner"})),
        (status = 404, description = "You are no member of such a group, or nobody there is named so", body = ErrorBody,
            example = json!({"detail": "Group not found"})),
        (status = 409, description = "The group would have no owner", body = ErrorBody,
            example = json!({"detail": "The group needs an owner; make another member an owner first"})),
        NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn remove(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    client: ClientAddress,
    Path((id, named)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let id = group_id(&id);
    let Some(named) = NamedMember::parse(&named) else {
        accounts.group(owner, id).await?;
        return Err(ApiError::member_not_found());
    };
    let removed = accounts.remove_member(client.as_str(), owner, id, &named);
    removed.await?;
    Ok(StatusCode::NO_CONTENT)
}
