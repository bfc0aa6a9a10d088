//! Letters that several parts of the service send. Pages write them: they have the texts in all languages.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::domain::{EmailAddress, EmailChange, Invitation, OneTimeToken, Timestamp};

/// Letters to owners of accounts that wait to be written; further ones are dropped.
const QUEUE: usize = 256;

/// Writes and sends the mail of an invitation: to be given the languages that its maker likes best (`Accept-Language`), and its link.
type Letter = dyn Fn(&str, &Invitation, &str) + Send + Sync;

/// Mails invitations; cheap to clone. Without a mail server it does nothing.
#[derive(Clone, Default)]
pub struct InvitationMail(Option<Arc<Letter>>);

impl InvitationMail {
    /// By this function.
    #[must_use]
    pub fn by(letter: Arc<Letter>) -> Self {
        Self(Some(letter))
    }

    /// Mails an invitation with its link. Returns whether the service sends mail.
    #[must_use]
    pub fn send(&self, languages: &str, invitation: &Invitation, url: &str) -> bool {
        if let Some(letter) = &self.0 {
            letter(languages, invitation, url);
        }
        self.0.is_some()
    }
}

/// A letter to the owner of an account, who gets it in the language of the account.
pub struct AccountLetter {
    /// What it is about.
    pub about: LetterAbout,
    /// The languages of the request (`Accept-Language`), for an account that has chosen none.
    pub languages: String,
}

/// What a letter to the owner of an account is about.
pub enum LetterAbout {
    /// Somebody at this address of a client forgot the password of the account with this e-mail address, if there is one.
    ForgottenPassword(EmailAddress, String),
    /// An account is to have another address, which this link confirms, unless another account has it.
    NewEmail(EmailChange, OneTimeToken),
    /// An account has another address since this moment: the former one is told.
    EmailChanged(EmailChange, Timestamp),
}

/// Takes letters to owners of accounts; cheap to clone.
///
/// Who gets a letter, if anybody does, is looked up when it is written. So a request does the same work for every address.
#[derive(Clone, Default)]
pub struct AccountMail {
    queue: Option<mpsc::Sender<AccountLetter>>,
    contact: Option<Arc<str>>,
}

impl AccountMail {
    /// Letters, and the queue of those to be written.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<AccountLetter>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let mail = Self {
            queue: Some(sender),
            contact: None,
        };
        (mail, queue)
    }

    /// Without a mail server: no letter is sent, and people ask this contact.
    #[must_use]
    pub fn without_server(contact: Option<&str>) -> Self {
        Self {
            queue: None,
            contact: contact.map(Arc::from),
        }
    }

    /// Whether the service sends mail; if not, the error is whom to ask.
    ///
    /// # Errors
    /// The address of the contact; `None` if the operator names none.
    pub fn is_sent(&self) -> Result<(), Option<&str>> {
        match self.queue {
            Some(_) => Ok(()),
            None => Err(self.contact.as_deref()),
        }
    }

    /// Has a letter written and sent.
    pub fn send(&self, letter: AccountLetter) {
        let sent = self.queue.as_ref().map(|queue| queue.try_send(letter));
        if let Some(Err(_)) = sent {
            tracing::warn!("a letter to an account is dropped: too many are asked for at once");
        }
    }
}
