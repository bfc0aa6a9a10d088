//! Refusals of what is done to a group, or for it.

use axum::http::StatusCode;

use super::ApiError;
use crate::domain::{GroupRole, MAX_JOINED_GROUPS, MAX_MEMBERS, MAX_OWNED_GROUPS};

impl ApiError {
    /// 404 of a group.
    pub fn group_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Group not found")
    }

    /// 404 of a member of a group, or of an account that is to be one.
    pub fn member_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "No account or member is named so")
    }

    /// 403: the account is a member of the group, and may not do that.
    pub fn role_too_small(role: GroupRole, needed: GroupRole) -> Self {
        let (role, needed) = (role.with_article(), needed.with_article());
        let detail = format!("You are {role} of this group; this needs {needed}");
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403: an API key names a group.
    pub fn key_for_group() -> Self {
        let detail = "An API key acts only for the account or the group that it was made for; log in, or use a key of the group";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 409: the group would be without an owner.
    pub fn last_owner() -> Self {
        Self::conflict("The group needs an owner; make another member an owner first")
    }

    /// 409: an account that is to be deleted is the only owner of this group.
    pub fn only_owner(group: &str) -> Self {
        let detail = format!(
            "You are the only owner of the group {group}; make another member an owner, or delete the group"
        );
        Self::conflict(&detail)
    }

    /// 409: a group is to be deleted, and has links.
    pub fn group_has_links() -> Self {
        let detail = "The group has links, perhaps in its bin; move them, or delete the group with links=delete";
        Self::conflict(detail)
    }

    /// 403: one more group, or one more member.
    pub fn too_many_members() -> Self {
        let detail = format!(
            "A group has at most {MAX_MEMBERS} members, and an account at most {MAX_OWNED_GROUPS} groups of its own, and {MAX_JOINED_GROUPS} in all"
        );
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 422: the header that names a group.
    pub fn invalid_group_header() -> Self {
        Self::invalid("Shunt-Group: must be the number of a group, once")
    }

    /// 422: the header that names a group, on a route of the person.
    pub fn no_group_here() -> Self {
        Self::invalid("Shunt-Group: this route is about your own account; leave the header out")
    }
}
