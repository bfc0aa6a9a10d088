//! Another e-mail address: a link by mail shows that its owner reads what is sent there.

use std::time::Duration;

use super::events::Event;
use super::forgotten::LIFETIME;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{
    EmailAddress, EmailChange, OneTimePassword, OneTimeToken, Password, Principal, Timestamp,
};
use crate::limits::{Action, TooMany};
use crate::store::{BegunEmailChange, EmailChanged, NewMailedLink, committed};

/// By what the owner of an account shows who they are, beside the session or the token.
pub enum Proof {
    /// The password, and a code if the account has a second factor.
    Password(Password, Option<OneTimePassword>),
    /// A session that began then, of an account without a password: as for [`Accounts::delete_without_password`].
    Session(Timestamp),
}

impl Accounts {
    /// Makes a link by which an account confirms another address, to be mailed there, and says when it ends. The work is the same
    /// whether the address is free or not: that is looked at when the mail is written, and when the link is used.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::TooMany`] also if the account got such a link just now.
    pub async fn begin_email_change(
        &self,
        client: &Client,
        owner: Principal,
        proof: Proof,
        to: &EmailAddress,
    ) -> Result<(EmailChange, OneTimeToken, Timestamp), AccountError> {
        if !self.registration.is_closed() {
            // An account that could not be registered with an address does not get it later, either.
            self.registration.check(to)?;
        }
        match proof {
            Proof::Password(password, otp) => {
                self.confirm(client, owner, password, Event::LoginFail)
                    .await?;
                // A password by itself gets as far as this only where that is enough.
                self.check_new_email(owner, to).await?;
                self.confirm_factor(client, owner, otp.as_ref(), true)
                    .await?;
            }
            Proof::Session(began_at) => {
                if !self.is_recent(began_at) || self.has_password(owner).await? {
                    return Err(AccountError::WrongPassword);
                }
                self.check_new_email(owner, to).await?;
            }
        }
        let token = OneTimeToken::generate();
        let token = token.map_err(|error| AccountError::NoKey(error.to_string()))?;
        let now = self.clock.now();
        let link = NewMailedLink {
            hash: token.hash(),
            at: now,
            expires_at: now.after(LIFETIME),
        };
        match self.store.begin_email_change(owner, to, link).await? {
            BegunEmailChange::Done(change) => {
                Event::EmailChangeAsked.log(Some(owner.user), client.address());
                Ok((change, token, link.expires_at))
            }
            BegunEmailChange::TooSoon(from) => {
                let seconds = from.unix_seconds().saturating_sub(now.unix_seconds());
                let retry_after = Duration::from_secs(seconds.max(1));
                Err(TooMany { retry_after }.into())
            }
            BegunEmailChange::Gone => Err(AccountError::Gone),
        }
    }

    /// What is refused before a code is used up: the account's own address, and too many mails to one mailbox.
    async fn check_new_email(
        &self,
        owner: Principal,
        to: &EmailAddress,
    ) -> Result<(), AccountError> {
        if self.user(owner).await?.email == *to {
            return Err(AccountError::OwnEmail);
        }
        let mailbox = to.lookup_key();
        Ok(self.limiter.count(Action::MailedLink, &mailbox).await?)
    }

    /// The change that a link of this account confirms; `None` if the link was used or replaced, has expired, is another account's,
    /// or never was.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn email_change(
        &self,
        owner: Principal,
        token: &OneTimeToken,
    ) -> Result<Option<EmailChange>, AccountError> {
        let now = self.clock.now();
        Ok(self.store.email_change(owner, token.hash(), now).await?)
    }

    /// Gives an account the address that a link confirms. All its tokens and sessions end, as with another password: who signs in by
    /// what has changed, and a stranger's session must not outlive that. API keys go on. Returns the account with its next key, and when that was;
    /// `None` as for [`Accounts::email_change`].
    ///
    /// # Errors
    /// [`AccountError::EmailTaken`] if another account has the address by now; [`AccountError::Store`], [`AccountError::NoKey`].
    pub async fn use_email_change(
        &self,
        client: &Client,
        owner: Principal,
        token: &OneTimeToken,
    ) -> Result<Option<(Principal, EmailChange, Timestamp)>, AccountError> {
        let (key, now, address) = (new_key()?, self.clock.now(), client.address());
        let changed = self
            .store
            .use_email_change(owner, token.hash(), key, address, now);
        match changed.await? {
            EmailChanged::Done(change) => {
                committed();
                Event::EmailChange.log_with(owner.user, address, "e-mail address");
                Ok(Some((Principal { key, ..owner }, change, now)))
            }
            EmailChanged::Taken => Err(AccountError::EmailTaken),
            EmailChanged::Over => Ok(None),
        }
    }

    /// The tag of the language of another account that has the address that is asked for; `None` if no other account has it.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn language_of_other(
        &self,
        change: &EmailChange,
    ) -> Result<Option<String>, AccountError> {
        let (email, user) = (&change.to, change.user);
        Ok(self.store.language_of_other(email, user).await?)
    }
}
