//! Letters that several parts of the service send. Pages write them: they have the texts in all languages.

use std::sync::Arc;

use crate::domain::Invitation;

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
