//! Letters to owners of accounts: links for forgotten passwords, and what a change of the e-mail address brings.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::language::Language;
use super::page::Site;
use crate::accounts::{AccountError, Accounts};
use crate::domain::{EmailAddress, OneTimeToken};
use crate::mail::{AccountLetter, LetterAbout, Mail, Mailer};

/// Writes letters as long as there are any, and sends them.
pub async fn write_letters(
    accounts: Arc<Accounts>,
    site: Site,
    mailer: Mailer,
    mut queue: mpsc::Receiver<AccountLetter>,
) {
    while let Some(letter) = queue.recv().await {
        match written(&accounts, &site, letter).await {
            Ok(None) => {}
            Ok(Some(mail)) => mailer.send(mail),
            Err(error) => tracing::warn!(%error, "a letter to an account is not written"),
        }
    }
}

/// The mail of a letter, if somebody gets it.
async fn written(
    accounts: &Accounts,
    site: &Site,
    letter: AccountLetter,
) -> Result<Option<Mail>, AccountError> {
    let AccountLetter { about, languages } = letter;
    let of = |tag: &str| Words {
        site,
        language: Language::tagged(tag).unwrap_or_else(|| Language::of(&languages)),
    };
    Ok(match about {
        LetterAbout::ForgottenPassword(email, address) => {
            let begun = accounts.begin_reset(&email, &address).await?;
            begun.map(|(reset, token)| of(&reset.language).forgotten(reset.email, &token))
        }
        LetterAbout::NewEmail(change, token) => {
            Some(match accounts.language_of_other(&change).await? {
                None => of(&change.language).to_confirm(change.to, &token),
                Some(language) => of(&language).already_used(change.to),
            })
        }
        LetterAbout::EmailChanged(change, at) => {
            let words = of(&change.language);
            let moment = words.language.minute(at);
            Some(words.changed(change.from, &moment))
        }
    })
}

/// What letters are made of.
struct Words<'a> {
    site: &'a Site,
    language: Language,
}

impl Words<'_> {
    fn forgotten(&self, to: EmailAddress, token: &OneTimeToken) -> Mail {
        let url = format!("{}/app/forgot/{}", self.site.base_url(), token.expose());
        let text = ["mail_forgot_why", "mail_forgot_link", "mail_forgot_else"];
        self.mail(to, "mail_forgot_subject", &text, ("url", &url))
    }

    fn to_confirm(&self, to: EmailAddress, token: &OneTimeToken) -> Mail {
        let (base, token) = (self.site.base_url(), token.expose());
        let url = format!("{base}/app/account/email/{token}");
        let text = ["mail_email_why", "mail_email_link", "mail_email_else"];
        self.mail(to, "mail_email_subject", &text, ("url", &url))
    }

    fn already_used(&self, to: EmailAddress) -> Mail {
        let text = ["mail_email_taken_why", "mail_email_taken_else"];
        let url = ("url", self.site.base_url());
        self.mail(to, "mail_email_taken_subject", &text, url)
    }

    fn changed(&self, to: EmailAddress, moment: &str) -> Mail {
        let ask = if self.site.contact().is_some() {
            "mail_email_changed_contact"
        } else {
            "mail_email_changed_ask"
        };
        let text = ["mail_email_changed_what", ask];
        self.mail(to, "mail_email_changed_subject", &text, ("moment", moment))
    }

    /// A mail of these texts, in which one value is the letter's own.
    fn mail(&self, to: EmailAddress, subject: &str, text: &[&str], own: (&str, &str)) -> Mail {
        let values = [
            ("site", self.site.name()),
            ("email", to.as_str()),
            ("contact", self.site.contact_shown()),
            own,
        ];
        let text: Vec<_> = text
            .iter()
            .map(|name| self.language.with(name, &values))
            .collect();
        Mail {
            subject: self.language.with(subject, &values),
            text: text.join("\r\n\r\n"),
            to,
        }
    }
}
