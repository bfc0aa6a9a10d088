//! Invitations: who may make an account, whatever `REGISTRATION` says.

use super::{EmailAddress, GroupName, GroupRole, InvalidEmail, Timestamp, UserId};

/// Invitations that are open at once.
pub const MAX_INVITATIONS: u64 = 1_000;

/// What an invited account may do beside what every account may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvitedRole {
    /// Nothing.
    #[default]
    None,
    /// It administers the service.
    Administrator,
}

impl InvitedRole {
    /// A role by its name, as a client gives it; empty: none.
    ///
    /// # Errors
    /// [`InvalidInvitation::Role`].
    pub fn parse(raw: &str) -> Result<Self, InvalidInvitation> {
        match raw {
            "" => Ok(Self::None),
            "admin" => Ok(Self::Administrator),
            _ => Err(InvalidInvitation::Role),
        }
    }

    /// Its name; empty: none.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Administrator => "admin",
        }
    }
}

/// The group that an invited account joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitedTo {
    /// Its number.
    pub group: UserId,
    /// Its name.
    pub name: GroupName,
    /// What the account will be there.
    pub role: GroupRole,
}

/// Why an invitation is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInvitation {
    /// The address is invalid.
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    /// There is no such role.
    #[error("role: must be admin, or left out")]
    Role,
    /// There is no such group.
    #[error("group: must be the number of a group")]
    Group,
    /// A group has no such role.
    #[error("group_role: must be viewer, editor or owner, and only beside group")]
    GroupRole,
}

/// An invitation that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The database's own number.
    pub id: i64,
    /// Who is invited.
    pub email: EmailAddress,
    /// The role that the account gets.
    pub role: InvitedRole,
    /// The group that the account joins.
    pub group: Option<InvitedTo>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}
