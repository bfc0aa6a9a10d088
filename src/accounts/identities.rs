//! Signing in by an identity provider: the account of a person is found, joined or created, and a group gives and takes the role.

use super::events::Event;
use super::identity_provider::{Arrival, Arrived, BegunSignIn, Identities, ProviderAnswer};
use super::joining_identity::Joining;
use super::sign_in_error::{SignInError, note};
use super::{AccountError, Accounts, new_key};
use crate::domain::{EmailAddress, Principal};
use crate::limits::{Action, Daily};
use crate::oidc::{Claims, Provider, word};
use crate::store::{Actor, CreateUserError, Identity, ProviderSessions, committed};
use crate::telemetry::metrics::PROVIDER_SIGN_INS;

/// Rounds in which an account is looked up and created: two sign-ins of one person may come at once.
const ROUNDS: usize = 3;

/// Who notes in the audit that a group gave or took a role.
const BY: Actor<'static> = Actor {
    user: None,
    address: "identity provider",
};

impl Accounts {
    /// The identity provider, if there is one.
    #[must_use]
    pub fn provider(&self) -> Option<&Provider> {
        self.identities
            .as_ref()
            .map(|identities| &identities.provider)
    }

    pub(super) fn identities(&self) -> Result<&Identities, SignInError> {
        self.identities.as_ref().ok_or(SignInError::NotOffered)
    }

    /// Begins a sign-in that leads to the page `next`.
    ///
    /// # Errors
    /// [`SignInError`], of which the log has a line.
    pub async fn begin_sign_in(
        &self,
        address: &str,
        next: &str,
    ) -> Result<BegunSignIn, SignInError> {
        let beginning = async {
            let Identities {
                provider, attempts, ..
            } = self.identities()?;
            self.limiter.count(Action::Login, address).await?;
            let attempt = attempts.begin(self.clock.now(), next);
            let attempt = attempt.map_err(|error| AccountError::NoKey(error.to_string()))?;
            let url = provider.authorization(&attempt).await?;
            let cookie = attempt.cookie;
            Ok(BegunSignIn { url, cookie })
        };
        beginning.await.inspect_err(|error| note(error, address))
    }

    /// Goes on with a sign-in, by the provider's answer in the browser that has the cookie.
    ///
    /// # Errors
    /// [`SignInError`], of which the log has a line.
    pub async fn finish_sign_in(
        &self,
        address: &str,
        cookie: &str,
        answer: &ProviderAnswer,
    ) -> Result<Arrived, SignInError> {
        let finishing = async {
            let Identities {
                provider, attempts, ..
            } = self.identities()?;
            self.limiter.count(Action::Login, address).await?;
            let state = answer.state.as_deref().ok_or(SignInError::Expired)?;
            let attempt = attempts.resume(cookie, state, self.clock.now());
            let attempt = attempt.ok_or(SignInError::Expired)?;
            if let Some(error) = &answer.error {
                let error = word(error).unwrap_or_else(|| "an error without a name".into());
                return Err(SignInError::Denied(error));
            }
            let code = answer.code.as_deref().ok_or(SignInError::Expired)?;
            let issuer = answer.issuer.as_deref();
            let claims = provider.identify(&attempt, code, issuer).await?;
            self.arrive(address, &claims, attempt.next).await
        };
        finishing.await.inspect_err(|error| note(error, address))
    }

    async fn arrive(
        &self,
        address: &str,
        claims: &Claims,
        next: String,
    ) -> Result<Arrived, SignInError> {
        let Identities {
            provider,
            attempts,
            admin_group,
        } = self.identities()?;
        let issuer = provider.issuer().as_str();
        let identity = Identity {
            issuer,
            subject: claims.subject(),
        };
        let session = claims.session().unwrap_or_default().to_owned();
        let is_admin = admin_group.as_deref().map(|group| {
            let is_member = claims.is_in_group(group);
            if is_member.is_none() {
                tracing::warn!(
                    "OIDC_ADMIN_GROUP: the identity provider names no groups; add its scope of groups to OIDC_SCOPES, or the claim `groups` there"
                );
            }
            is_member.unwrap_or_default()
        });
        for _ in 0..ROUNDS {
            if let Some(found) = self.store.identified_user(identity).await? {
                if found.is_banned {
                    return Err(SignInError::Banned(found.principal.user));
                }
                let signed_in = self.signed_in(found.principal, is_admin, address);
                let principal = signed_in.await?;
                return Ok(Arrived::SignedIn(Arrival {
                    principal,
                    session,
                    next,
                }));
            }
            let email = claims.email().ok_or(SignInError::NoEmail)?;
            let email = EmailAddress::parse(email.to_owned()).map_err(|_| SignInError::NoEmail)?;
            if !claims.is_email_verified() {
                return Err(SignInError::UnverifiedEmail);
            }
            let Some(found) = self.store.user_to_join(&email, issuer).await? else {
                match self.create_identified(&email, identity, address).await {
                    // Another sign-in of the same person was first.
                    Err(SignInError::Account(AccountError::EmailTaken)) => continue,
                    created => created?,
                }
                continue;
            };
            if found.is_banned {
                return Err(SignInError::Banned(found.principal.user));
            }
            if found.has_password {
                let joining = Joining {
                    issuer: issuer.to_owned(),
                    subject: identity.subject.to_owned(),
                    email: email.as_str().to_owned(),
                    session,
                    is_admin,
                    next,
                };
                let sealed = joining.sealed(attempts, self.clock.now())?;
                return Ok(Arrived::NeedsPassword(sealed, joining.email));
            }
            // The address may have been given to another person since.
            if found.is_of_another {
                return Err(SignInError::OfAnother);
            }
            self.join_identity(found.principal, identity, address)
                .await?;
        }
        Err(AccountError::EmailTaken.into())
    }

    async fn create_identified(
        &self,
        email: &EmailAddress,
        identity: Identity<'_>,
        address: &str,
    ) -> Result<(), SignInError> {
        self.store.room.check()?;
        self.limiter.add_today(Daily::Accounts, address, 1).await?;
        let (key, now) = (new_key()?, self.clock.now());
        let created = self.store.create_identified_user(email, identity, key, now);
        match created.await {
            Ok(user) => {
                committed();
                Event::UserCreated.log(Some(user), address);
                Ok(())
            }
            Err(error) => {
                self.limiter.refund_today(Daily::Accounts, address, 1);
                Err(match error {
                    CreateUserError::EmailTaken => AccountError::EmailTaken.into(),
                    CreateUserError::Store(error) => error.into(),
                })
            }
        }
    }

    pub(super) async fn join_identity(
        &self,
        principal: Principal,
        identity: Identity<'_>,
        address: &str,
    ) -> Result<(), SignInError> {
        let now = self.clock.now();
        if self.store.join_identity(principal, identity, now).await? {
            committed();
            Event::IdentityJoined.log(Some(principal.user), address);
        }
        Ok(())
    }

    pub(super) async fn signed_in(
        &self,
        principal: Principal,
        is_admin: Option<bool>,
        address: &str,
    ) -> Result<Principal, SignInError> {
        if let Some(is_admin) = is_admin {
            let now = self.clock.now();
            let set = self.store.set_role_by_group(principal, is_admin, BY, now);
            if set.await? {
                let change = if is_admin { "grant" } else { "revoke" };
                Event::RoleChange.log_with(principal.user, address, change);
            }
        }
        Event::LoginSuccess.log(Some(principal.user), address);
        metrics::counter!(PROVIDER_SIGN_INS, "result" => "signed_in").increment(1);
        self.known.remember(principal.user, address).await;
        Ok(principal)
    }

    /// Ends the sessions that a token of the provider names, on every instance at once. Returns how many ended.
    ///
    /// # Errors
    /// [`SignInError`], of which the log has a line.
    pub async fn log_out_by_provider(
        &self,
        address: &str,
        token: &str,
    ) -> Result<usize, SignInError> {
        let ending = async {
            // Not limited by address: a provider may end many sessions at once.
            let provider = &self.identities()?.provider;
            let claims = provider.logout_token(token).await?;
            let ended = self.store.end_provider_sessions(ProviderSessions {
                issuer: provider.issuer().as_str(),
                subject: claims.subject.as_deref(),
                session: claims.session.as_deref(),
            });
            let ended = ended.await?;
            for user in &ended {
                Event::TokenRevoked.log(Some(*user), address);
            }
            Ok(ended.len())
        };
        ending.await.inspect_err(|error| note(error, address))
    }
}
