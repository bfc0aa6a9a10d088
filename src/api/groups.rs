//! `/groups`: the groups of the token's account.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::authentication::LoggedIn;
#[cfg(test)]
use super::words::GroupRoleWord;
use crate::accounts::Accounts;
use crate::domain::{Group, GroupName, UserId};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsRoom, NeedsToken, TakesBody, TakesQuery,
};
use crate::http::{ApiError, ClientAddress, Json, JsonBody, QueryOf};
use crate::links::LinkService;

/// The name of a group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupNameBody {
    /// 1 to 100 characters; space around it is left out.
    #[schema(example = "Marketing", min_length = 1, max_length = 100)]
    name: String,
}

impl GroupNameBody {
    fn parse(&self) -> Result<GroupName, ApiError> {
        GroupName::parse(&self.name).map_err(|error| ApiError::invalid(error.to_string()))
    }
}

/// A group that you are a member of.
#[derive(Serialize, ToSchema)]
pub(super) struct GroupBody {
    /// Identifier: what the header `Shunt-Group` takes.
    #[schema(value_type = i64, example = 12, minimum = 1)]
    id: UserId,
    /// Its name.
    #[schema(example = "Marketing")]
    name: String,
    /// What you are there.
    #[schema(value_type = GroupRoleWord)]
    role: &'static str,
    /// How many members it has.
    #[schema(example = 3, minimum = 1)]
    members: u64,
    /// When it was made, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    created_at: String,
}

impl From<Group> for GroupBody {
    fn from(group: Group) -> Self {
        Self {
            id: group.id,
            name: group.name.as_str().to_owned(),
            role: group.role.name(),
            members: group.members,
            created_at: group.created_at.with_micros(),
        }
    }
}

/// What becomes of the links of a group that is deleted.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DeletionQuery {
    /// `delete`: they are deleted with it. Without it, a group with links is not deleted.
    #[param(pattern = "^delete$")]
    links: Option<String>,
}

/// Make a group.
///
/// Its members share its links, tags, keys, statistics and quota: you name it in the header `Shunt-Group` of a request. You are its owner.
#[utoipa::path(
    post, path = "/groups", tag = "groups", operation_id = "make_group", security(("bearer" = [])),
    request_body = GroupNameBody,
    responses(
        (status = 200, description = "The group", body = GroupBody),
        (status = 403, description = "You have as many groups as an account may have", body = ErrorBody,
            example = json!({"detail": "A group has at most 100 members, and an account at most 20 groups of its own, and 100 in all"})),
        TakesBody, NeedsToken, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn make(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    client: ClientAddress,
    body: Result<JsonBody<GroupNameBody>, ApiError>,
) -> Result<Json<GroupBody>, ApiError> {
    let name = match body.and_then(|JsonBody(body)| body.parse()) {
        Ok(name) => name,
        Err(refusal) => {
            // The group would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let group = accounts.create_group(client.as_str(), owner, &name).await?;
    Ok(Json(group.into()))
}

/// List your groups, by their names.
#[utoipa::path(
    get, path = "/groups", tag = "groups", operation_id = "groups", security(("bearer" = [])),
    responses((status = 200, description = "The groups", body = Vec<GroupBody>), NeedsToken, NeedsDatabase),
)]
pub(super) async fn list(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
) -> Result<Json<Vec<GroupBody>>, ApiError> {
    let groups = accounts.groups(owner).await?;
    Ok(Json(groups.into_iter().map(GroupBody::from).collect()))
}

/// Show a group.
#[utoipa::path(
    get, path = "/groups/{id}", tag = "groups", operation_id = "group",
    params(("id" = i64, Path, description = "Identifier of a group", example = 12, minimum = 1)),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The group", body = GroupBody),
        (status = 404, description = "You are no member of such a group", body = ErrorBody, example = json!({"detail": "Group not found"})),
        NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    Path(id): Path<String>,
) -> Result<Json<GroupBody>, ApiError> {
    let group = accounts.group(owner, group_id(&id)).await?;
    Ok(Json(group.into()))
}

/// Rename a group.
///
/// An owner does.
#[utoipa::path(
    patch, path = "/groups/{id}", tag = "groups", operation_id = "rename_group",
    params(("id" = i64, Path, description = "Identifier of a group", example = 12, minimum = 1)),
    security(("bearer" = [])), request_body = GroupNameBody,
    responses(
        (status = 200, description = "The group", body = GroupBody),
        (status = 403, description = "Your role in the group is too small", body = ErrorBody,
            example = json!({"detail": "You are an editor of this group; this needs an owner"})),
        (status = 404, description = "You are no member of such a group", body = ErrorBody, example = json!({"detail": "Group not found"})),
        TakesBody, NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn rename(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    body: Result<JsonBody<GroupNameBody>, ApiError>,
) -> Result<Json<GroupBody>, ApiError> {
    let id = group_id(&id);
    let name = match body.and_then(|JsonBody(body)| body.parse()) {
        Ok(name) => name,
        Err(refusal) => {
            // The change would have shown whether there is such a group.
            accounts.group(owner, id).await?;
            return Err(refusal);
        }
    };
    let group = accounts.rename_group(client.as_str(), owner, id, &name);
    Ok(Json(group.await?.into()))
}

/// Delete a group.
///
/// An owner does. Its keys end, and nobody acts for it any more. A group with links, also in its bin, is deleted only with `links=delete`: once
/// this is answered, no instance follows them, and their codes are never given to other links. To keep links, move them first.
#[utoipa::path(
    delete, path = "/groups/{id}", tag = "groups", operation_id = "delete_group",
    params(("id" = i64, Path, description = "Identifier of a group", example = 12, minimum = 1), DeletionQuery),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The group is deleted"),
        (status = 403, description = "Your role in the group is too small", body = ErrorBody,
            example = json!({"detail": "You are an editor of this group; this needs an owner"})),
        (status = 404, description = "You are no member of such a group", body = ErrorBody, example = json!({"detail": "Group not found"})),
        (status = 409, description = "The group has links", body = ErrorBody,
            example = json!({"detail": "The group has links, perhaps in its bin; move them, or delete the group with links=delete"})),
        (status = 422, description = "`links` is not acceptable", body = ErrorBody, example = json!({"detail": "links: must be delete"})),
        TakesQuery, NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn delete(
    State(accounts): State<Arc<Accounts>>,
    State(links): State<Arc<LinkService>>,
    LoggedIn(owner): LoggedIn,
    client: ClientAddress,
    Path(id): Path<String>,
    query: Result<QueryOf<DeletionQuery>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let id = group_id(&id);
    let with_links = match query.map(|QueryOf(query)| query.links) {
        Ok(None) => Ok(false),
        Ok(Some(word)) if word == "delete" => Ok(true),
        Ok(Some(_)) => Err(ApiError::invalid("links: must be delete")),
        Err(refusal) => Err(refusal),
    };
    let with_links = match with_links {
        Ok(with_links) => with_links,
        Err(refusal) => {
            accounts.group(owner, id).await?;
            return Err(refusal);
        }
    };
    let deleted = accounts.delete_group(client.as_str(), owner, id, with_links);
    let changes = deleted.await?.ok_or_else(ApiError::group_has_links)?;
    links.announce_all(&changes).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The number of a group in a path; no group has the number 0.
pub(super) fn group_id(raw: &str) -> UserId {
    UserId(raw.parse().unwrap_or_default())
}
