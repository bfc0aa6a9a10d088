//! For whom a session acts: for its account, or for a group of which the account is a member.

use axum::http::Method;

use crate::accounts::{AccountError, Accounts};
use crate::domain::{Group, GroupRole, Principal};
use crate::http::ApiError;
use crate::store::{ActingFor, OpenSession};

/// What is the person's own, whoever's links the pages show.
const PERSONAL: [&str; 5] = [
    "/app/account",
    "/app/admin",
    "/app/groups",
    "/app/logout",
    "/app/logout-everywhere",
];

/// Pages whose addresses are no viewer's business: those of receivers may have a secret.
const EDITORS: &str = "/app/hooks";

/// Pages with nothing but a form that changes links.
const FORMS: [&str; 3] = ["/delete", "/edit", "/new"];

/// For whom a session acts, and could act.
#[derive(Clone)]
pub(super) struct Acting {
    /// The group; `None`: for its own account.
    pub(super) group: Option<ActingFor>,
    /// All groups of the account, by their names.
    pub(super) groups: Vec<Group>,
}

impl Acting {
    pub(super) async fn of(
        accounts: &Accounts,
        session: &OpenSession,
    ) -> Result<Self, AccountError> {
        // Most accounts are in no group, and their pages cost no further query.
        let groups = if session.has_groups {
            accounts.groups(session.principal).await?
        } else {
            Vec::new()
        };
        Ok(Self {
            group: session.group.clone(),
            groups,
        })
    }

    /// Whose links the pages show.
    pub(super) fn principal(&self, person: Principal) -> Principal {
        Principal {
            user: self
                .group
                .as_ref()
                .map_or(person.user, |acting| acting.group),
            ..person
        }
    }

    /// The name of the group.
    pub(super) fn name(&self) -> Option<&str> {
        self.group.as_ref().map(|acting| acting.name.as_str())
    }

    /// Whether this is the group.
    pub(super) fn is_for(&self, group: &Group) -> bool {
        (self.group.as_ref()).is_some_and(|acting| acting.group == group.id)
    }

    /// Whether the session may do what needs this role.
    pub(super) fn may(&self, needed: GroupRole) -> bool {
        self.group
            .as_ref()
            .is_none_or(|acting| acting.role >= needed)
    }

    /// Where links may be moved from here: what a form says, and the name for people. The account itself is named so.
    pub(super) fn places<'a>(&'a self, own: &'a str) -> Vec<(String, &'a str)> {
        let own = self.group.iter().map(|_| ("me".to_owned(), own));
        let groups = self.groups.iter();
        let groups = groups.filter(|group| group.role >= GroupRole::Editor && !self.is_for(group));
        let groups = groups.map(|group| (group.id.0.to_string(), group.name.as_str()));
        own.chain(groups).collect()
    }

    /// What the token of a form is made of, beside what the browser alone knows: a form of one account is never carried out for another that
    /// was chosen meanwhile.
    pub(super) fn form_key(&self, cookie: &str) -> String {
        match &self.group {
            None => cookie.to_owned(),
            Some(acting) => format!("{cookie} {}", acting.group.0),
        }
    }

    /// Refuses a change of links by a viewer, and the forms for it.
    pub(super) fn permits(&self, method: &Method, path: &str) -> Result<(), ApiError> {
        let Some(acting) = &self.group else {
            return Ok(());
        };
        let is_below = |first: &str| {
            let rest = path.strip_prefix(first);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_form = || FORMS.iter().any(|end| path.ends_with(end));
        let is_change = !method.is_safe() || is_form() || is_below(EDITORS);
        if !is_change || PERSONAL.iter().any(|first| is_below(first)) || self.may(GroupRole::Editor)
        {
            return Ok(());
        }
        Err(ApiError::role_too_small(acting.role, GroupRole::Editor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GroupName, UserId};

    #[test]
    fn a_viewer_changes_only_what_is_the_persons_own() {
        let acting = |role| Acting {
            group: Some(ActingFor {
                group: UserId(12),
                name: GroupName::parse("Marketing").unwrap(),
                role,
            }),
            groups: Vec::new(),
        };
        let viewer = acting(GroupRole::Viewer);
        for path in [
            "/app",
            "/app/links/K7mXq2R",
            "/app/links/K7mXq2R/export",
            "/app/tags",
        ] {
            assert!(viewer.permits(&Method::GET, path).is_ok(), "{path}");
        }
        for path in [
            "/app/links/new",
            "/app/links/K7mXq2R/edit",
            "/app/tags/delete",
            "/app/hooks",
            "/app/hooks/1",
        ] {
            assert!(viewer.permits(&Method::GET, path).is_err(), "{path}");
        }
        for path in [
            "/app/links",
            "/app/links/selected",
            "/app/import",
            "/app/trash/restore",
            "/app/accounts",
        ] {
            assert!(viewer.permits(&Method::POST, path).is_err(), "{path}");
            assert!(
                acting(GroupRole::Editor)
                    .permits(&Method::POST, path)
                    .is_ok(),
                "{path}"
            );
        }
        for path in [
            "/app/account/password",
            "/app/account",
            "/app/logout",
            "/app/groups/choose",
            "/app/groups/12/delete",
        ] {
            assert!(viewer.permits(&Method::POST, path).is_ok(), "{path}");
        }
        assert_ne!(viewer.form_key("cookie"), "cookie");
    }
}
