//! A person of the identity provider joins the account with the same e-mail address, by its password.

use serde::{Deserialize, Serialize};

use super::events::Event;
use super::identity_provider::{Arrival, Identities};
use super::sign_in_error::{SignInError, note};
use super::{AccountError, Accounts, Client};
use crate::domain::{EmailAddress, OneTimePassword, Password, Timestamp};
use crate::oidc::AttemptKey;
use crate::store::Identity;

/// What a seal of a person who is to join an account is for.
const JOIN: &str = "join";

/// A person who is to join the account with the same e-mail address.
#[derive(Serialize, Deserialize)]
pub(super) struct Joining {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) email: String,
    pub(super) session: String,
    pub(super) is_admin: Option<bool>,
    pub(super) next: String,
}

impl Joining {
    /// What the browser of the person keeps until the password is given.
    pub(super) fn sealed(
        &self,
        attempts: &AttemptKey,
        now: Timestamp,
    ) -> Result<String, SignInError> {
        let text = serde_json::to_string(self);
        let text = text.map_err(|error| AccountError::Token(error.to_string()))?;
        Ok(attempts.seal(JOIN, now, &text))
    }
}

impl Accounts {
    /// The e-mail address of the account that the person with this seal is to join; `None` if the time for it is over.
    #[must_use]
    pub fn address_to_join(&self, sealed: &str) -> Option<String> {
        self.joining(sealed).map(|joining| joining.email)
    }

    fn joining(&self, sealed: &str) -> Option<Joining> {
        let Identities {
            provider, attempts, ..
        } = self.identities.as_ref()?;
        let text = attempts.open(JOIN, sealed, self.clock.now())?;
        let joining: Joining = serde_json::from_str(&text).ok()?;
        (joining.issuer == provider.issuer().as_str()).then_some(joining)
    }

    /// Joins a person to the account with the same e-mail address, by its password, and by its second factor if it has one: from then
    /// on the person signs in without them.
    ///
    /// # Errors
    /// [`SignInError`]; [`AccountError::WrongPassword`] if it is not the account's password.
    pub async fn join_by_password(
        &self,
        client: &Client,
        sealed: &str,
        password: Password,
        otp: Option<&OneTimePassword>,
    ) -> Result<Arrival, SignInError> {
        let joining = async {
            self.identities()?;
            let joining = self.joining(sealed).ok_or(SignInError::Expired)?;
            let email = EmailAddress::from_stored(joining.email);
            let identity = Identity {
                issuer: &joining.issuer,
                subject: &joining.subject,
            };
            let found = self.store.user_to_join(&email, identity.issuer).await?;
            let found = found.ok_or(SignInError::Expired)?;
            if found.is_banned {
                return Err(SignInError::Banned(found.principal.user));
            }
            let principal = found.principal;
            self.confirm(client, principal, password, Event::LoginFail)
                .await?;
            self.confirm_factor(client, principal, otp, false).await?;
            self.join_identity(principal, identity, client.address())
                .await?;
            // If the person was joined to another account meanwhile, that is the account.
            let found = self.store.identified_user(identity).await?;
            let found = found.filter(|found| !found.is_banned);
            let principal = found.ok_or(SignInError::Expired)?.principal;
            let signed_in = self.signed_in(principal, joining.is_admin, client.address());
            Ok(Arrival {
                principal: signed_in.await?,
                session: joining.session,
                next: joining.next,
            })
        };
        joining.await.inspect_err(|error| {
            // A wrong password and a wrong code are events of their own.
            if !matches!(
                error,
                SignInError::Account(
                    AccountError::WrongPassword | AccountError::OtpNeeded | AccountError::WrongOtp
                )
            ) {
                note(error, client.address());
            }
        })
    }
}
