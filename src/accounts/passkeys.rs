//! Passkeys: a device or a password manager signs in to the pages, in the place of a password and a second factor.

use serde::Serialize;
use serde::de::DeserializeOwned;
use webauthn_rs::prelude::{
    CreationChallengeResponse, CredentialID, DiscoverableAuthentication, Passkey as Credential,
    PasskeyRegistration, PublicKeyCredential, RegisterPublicKeyCredential, Url, Uuid, Webauthn,
    WebauthnBuilder, WebauthnError,
};
use webauthn_rs_proto::{PublicKeyCredentialDescriptor, ResidentKeyRequirement};

use super::events::Event;
use super::factors::{marked, marks};
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{KeyName, OneTimePassword, Password, Principal, Timestamp, UserId};
use crate::limits::Action;
use crate::store::{AddedPasskey, NewPasskey, Passkey, committed};

/// Passkeys of an account: a person has few devices.
pub const MAX_PASSKEYS: u32 = 10;

/// What seals are for: a passkey that is to be added, and one that is to sign in.
const ADD: &str = "add a passkey";
const SIGN_IN: &str = "passkey";

/// What a browser gets for its passkeys, and what the form with its answer has of that.
pub struct PasskeyChallenge {
    /// The options of `navigator.credentials`, as JSON with bytes in base64url.
    pub options: String,
    /// What the service knows of the challenge, signed.
    pub sealed: String,
}

/// What checks passkeys of the service with this public address. `None`: browsers have no passkeys there, since it is an address
/// without a name, or without https.
#[must_use]
pub fn passkeys_of(base_url: &str, name: &str) -> Option<Webauthn> {
    let origin = Url::parse(base_url).ok()?;
    let host = origin.domain()?;
    let is_this_machine = host == "localhost" || host.ends_with(".localhost");
    if origin.scheme() != "https" && !is_this_machine {
        return None;
    }
    let builder = WebauthnBuilder::new(host, &origin).ok()?;
    builder.rp_name(name).build().ok()
}

impl Accounts {
    /// Whether passkeys sign in here.
    #[must_use]
    pub fn has_passkeys(&self) -> bool {
        self.passkeys.is_some()
    }

    fn relying_party(&self) -> Result<&Webauthn, AccountError> {
        self.passkeys.as_ref().ok_or(AccountError::NoPasskeys)
    }

    /// The passkeys of an account, newest first.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn passkeys(&self, owner: Principal) -> Result<Vec<Passkey>, AccountError> {
        Ok(self.store.passkeys_of(owner.user).await?)
    }

    /// Begins to add a passkey to an account, by its password, and a code if it has an app.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::PasskeyNeeded`] as for [`Accounts::add_app`].
    pub async fn begin_passkey(
        &self,
        client: &Client,
        (owner, is_strong): (Principal, bool),
        password: Password,
        otp: Option<&OneTimePassword>,
    ) -> Result<PasskeyChallenge, AccountError> {
        let party = self.relying_party()?;
        let confirmed = self.confirm(client, owner, password, Event::LoginFail);
        let email = confirmed.await?;
        // Before a recovery code is used up.
        let known = self.passkeys(owner).await?;
        if known.len() >= MAX_PASSKEYS as usize {
            return Err(AccountError::TooManyPasskeys);
        }
        self.confirm_factor(client, owner, otp, is_strong).await?;
        let begun = party.start_passkey_registration(
            handle(owner.user),
            email.as_str(),
            email.as_str(),
            None,
        );
        let (mut options, state) = begun.map_err(|error| defect(&error))?;
        have_it_found(&mut options);
        // The browser makes no second passkey in one device. The seal need not know.
        let known = known
            .into_iter()
            .map(|passkey| PublicKeyCredentialDescriptor {
                type_: "public-key".to_owned(),
                id: CredentialID::from(passkey.credential_id),
                transports: None,
            });
        options.public_key.exclude_credentials = Some(known.collect());
        let payload = format!("{} {}", marked(owner), json(&state)?);
        let sealed = self.tokens.seals().seal(ADD, self.clock.now(), &payload);
        Ok(PasskeyChallenge {
            options: json(&options.public_key)?,
            sealed,
        })
    }

    /// Adds the passkey that a browser made. Returns the account, which has another key if it had no second factor before. `None`
    /// if it took too long, or the account has another key by now.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn add_passkey(
        &self,
        client: &Client,
        owner: Principal,
        sealed: &str,
        answer: &str,
        name: &KeyName,
    ) -> Result<Option<Principal>, AccountError> {
        let party = self.relying_party()?;
        let now = self.clock.now();
        let payload = self.tokens.seals().open(ADD, sealed, now);
        let Some(state) = payload.as_deref().and_then(|payload| marks(payload, owner)) else {
            return Ok(None);
        };
        let state: PasskeyRegistration = own(state)?;
        let answer: RegisterPublicKeyCredential = given(answer)?;
        let made = party.finish_passkey_registration(&answer, &state);
        let made = made.map_err(|error| refused(&error, Some(owner.user), client))?;
        let new = NewPasskey {
            owner,
            key: new_key()?,
            credential_id: made.cred_id().as_ref(),
            credential: &json(&made)?,
            name,
        };
        let address = client.address();
        let added = self.store.add_passkey(new, MAX_PASSKEYS, address, now);
        match added.await? {
            AddedPasskey::Added(key) => {
                committed();
                Event::FactorAdded.log_with(owner.user, address, "passkey");
                Ok(Some(Principal { key, ..owner }))
            }
            // The form was sent again.
            AddedPasskey::Known => Ok(Some(owner)),
            AddedPasskey::TooMany => Err(AccountError::TooManyPasskeys),
            AddedPasskey::Gone => Ok(None),
        }
    }

    /// Takes a passkey from an account, by its password, and a code if it has an app. Returns the account with its next key: all its
    /// sessions and tokens end. `None` without such a passkey.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::FactorMissing`] if the account must have a second factor, and has no other.
    pub async fn remove_passkey(
        &self,
        client: &Client,
        (owner, is_strong): (Principal, bool),
        id: i64,
        password: Password,
        otp: Option<&OneTimePassword>,
    ) -> Result<Option<Principal>, AccountError> {
        let factors = self.factors(owner).await?;
        let known = self.passkeys(owner).await?;
        if !known.iter().any(|passkey| passkey.id == id) {
            return Ok(None);
        }
        let is_last = factors.totp.is_none() && known.len() == 1;
        if is_last && self.two_factors.binds(factors.is_admin) {
            return Err(AccountError::FactorMissing);
        }
        let confirmed = self.confirm(client, owner, password, Event::LoginFail);
        confirmed.await?;
        self.confirm_factor(client, owner, otp, is_strong).await?;
        let (key, now, address) = (new_key()?, self.clock.now(), client.address());
        let removed = self.store.remove_passkey(owner, id, key, address, now);
        if !removed.await? {
            return Ok(None);
        }
        committed();
        Event::FactorRemoved.log_with(owner.user, address, "passkey");
        Ok(Some(Principal { key, ..owner }))
    }

    /// What a browser gets to sign in by any passkey that it has of this service. `None` if passkeys do not sign in here.
    ///
    /// # Errors
    /// [`AccountError::Token`]: a defect.
    pub fn passkey_challenge(&self) -> Result<Option<PasskeyChallenge>, AccountError> {
        let Some(party) = &self.passkeys else {
            return Ok(None);
        };
        let begun = party.start_discoverable_authentication();
        let (options, state) = begun.map_err(|error| defect(&error))?;
        let now = self.clock.now();
        let payload = format!("{} {}", now.micros(), json(&state)?);
        let sealed = self.tokens.seals().seal(SIGN_IN, now, &payload);
        Ok(Some(PasskeyChallenge {
            options: json(&options.public_key)?,
            sealed,
        }))
    }

    /// Signs in to the pages by a passkey. `None` if it took too long.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::PasskeyRefused`] says no more than that.
    pub async fn sign_in_by_passkey(
        &self,
        client: &Client,
        sealed: &str,
        answer: &str,
    ) -> Result<Option<Principal>, AccountError> {
        let party = self.relying_party()?;
        self.limiter.count(Action::Login, client.address()).await?;
        let payload = self.tokens.seals().open(SIGN_IN, sealed, self.clock.now());
        let Some((challenged_at, state)) = payload.as_deref().and_then(challenge) else {
            return Ok(None);
        };
        let state: DiscoverableAuthentication = own(state)?;
        let answer: PublicKeyCredential = given(answer)?;
        let named = party.identify_discoverable_authentication(&answer);
        let (named, credential_id) = named.map_err(|error| refused(&error, None, client))?;
        let unknown = || refused(&WebauthnError::CredentialNotFound, None, client);
        let known = self.store.passkey(credential_id).await?;
        let known = known.filter(|known| handle(known.principal.user) == named);
        let known = known.ok_or_else(unknown)?;
        let user = known.principal.user;
        let mut credential: Credential = own(&known.credential)?;
        let checked = party.finish_discoverable_authentication_v2(&answer, state, &credential);
        let checked = checked.map_err(|error| refused(&error, Some(user), client))?;
        credential.update_credential(&checked);
        let stored = json(&credential)?;
        let using = self.store.use_passkey(known.id, &stored, challenged_at);
        if !using.await? {
            // The same answer once more.
            let again = WebauthnError::MismatchedChallenge;
            return Err(refused(&again, Some(user), client));
        }
        self.entered(client, known.principal).await;
        Ok(Some(known.principal))
    }
}

/// Asks for a passkey that the browser finds without a name of an account.
fn have_it_found(options: &mut CreationChallengeResponse) {
    if let Some(selection) = &mut options.public_key.authenticator_selection {
        selection.resident_key = Some(ResidentKeyRequirement::Required);
        selection.require_resident_key = true;
    }
}

/// By which name an authenticator knows an account: it says nothing to others.
fn handle(user: UserId) -> Uuid {
    Uuid::from_u64_pair(0, user.0.unsigned_abs())
}

/// When a challenge was made, and what the service knows of it.
fn challenge(payload: &str) -> Option<(Timestamp, &str)> {
    let (micros, state) = payload.split_once(' ')?;
    Some((Timestamp::from_micros(micros.parse().ok()?)?, state))
}

fn json(value: &impl Serialize) -> Result<String, AccountError> {
    serde_json::to_string(value).map_err(|error| AccountError::Token(error.to_string()))
}

/// What the service itself wrote.
fn own<T: DeserializeOwned>(text: &str) -> Result<T, AccountError> {
    serde_json::from_str(text).map_err(|error| AccountError::Token(error.to_string()))
}

/// What a browser sent.
fn given<T: DeserializeOwned>(text: &str) -> Result<T, AccountError> {
    serde_json::from_str(text).map_err(|_| AccountError::PasskeyRefused)
}

fn defect(error: &WebauthnError) -> AccountError {
    AccountError::Token(error.to_string())
}

/// The log says why; the answer does not.
fn refused(error: &WebauthnError, user: Option<UserId>, client: &Client) -> AccountError {
    tracing::debug!(%error, "a passkey is refused");
    Event::LoginFail.log(user, client.address());
    AccountError::PasskeyRefused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_are_there_where_browsers_have_them() {
        for (base_url, is_there) in [
            ("https://sho.rt", true),
            ("https://sho.rt:8443", true),
            ("http://localhost:8080", true),
            ("http://sho.rt", false),
            ("http://127.0.0.1:8080", false),
            ("https://192.0.2.1", false),
        ] {
            let passkeys = passkeys_of(base_url, "sho.rt");
            assert_eq!(passkeys.is_some(), is_there, "{base_url}");
        }
    }
}
