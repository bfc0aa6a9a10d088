//! Invitations: administrators and the operator let people make an account, whatever `REGISTRATION` says.

use std::time::Duration;

use super::{Abuse, AbuseError, Administrator};
use crate::domain::{
    EmailAddress, GroupRole, InvalidInvitation, Invitation, InvitedRole, Newest, NewestWanted,
    OneTimeToken, UserId,
};
use crate::store::{Invited, NewInvitation};

/// How long an invitation is open.
const LIFETIME: Duration = Duration::from_hours(7 * 24);

/// The path of the page at which an invited person makes the account.
#[must_use]
pub fn join_path(token: &OneTimeToken) -> String {
    format!("/app/join/{}", token.expose())
}

impl Abuse {
    /// Invites somebody, who becomes a member of a group if one is given. The token is returned this once.
    ///
    /// # Errors
    /// [`AbuseError::HasAccount`], [`AbuseError::Invitation`], [`AbuseError::ManyInvitations`], [`AbuseError::NoRandomness`], [`AbuseError::Store`].
    pub async fn invite(
        &self,
        by: &Administrator,
        email: &EmailAddress,
        role: InvitedRole,
        group: Option<(UserId, GroupRole)>,
    ) -> Result<(Invitation, OneTimeToken), AbuseError> {
        let token = OneTimeToken::generate();
        let token = token.map_err(|error| AbuseError::NoRandomness(error.to_string()))?;
        let now = self.clock.now();
        let new = NewInvitation {
            email,
            role,
            group,
            hash: token.hash(),
            by: by.actor(),
            at: now,
            expires_at: now.after(LIFETIME),
        };
        match self.store.invite(new).await? {
            Invited::Done(invitation) => {
                by.log(&format!("invite by invitation {}", invitation.id));
                Ok((invitation, token))
            }
            Invited::HasAccount => Err(AbuseError::HasAccount),
            Invited::Full => Err(AbuseError::ManyInvitations),
            Invited::NoGroup => Err(InvalidInvitation::Group.into()),
        }
    }

    /// Open invitations, the newest first.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn invitations(
        &self,
        wanted: &NewestWanted,
    ) -> Result<Newest<Invitation>, AbuseError> {
        Ok(self.store.invitations(wanted, self.clock.now()).await?)
    }

    /// Ends an invitation before its time.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`] without such an open invitation; [`AbuseError::Store`].
    pub async fn revoke_invitation(&self, by: &Administrator, id: i64) -> Result<(), AbuseError> {
        let revoked = self
            .store
            .revoke_invitation(id, by.actor(), self.clock.now());
        if !revoked.await? {
            return Err(AbuseError::Unknown);
        }
        by.log(&format!("revoke invitation {id}"));
        Ok(())
    }
}
