//! The server that sends mail.

use clap::Args;
use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;

use super::ConfigError;
use super::parse::{known_parameters, whole_address};
use super::setting::{Optional, optional};

/// Mail of the service.
#[derive(Args, Clone)]
pub struct MailSettings {
    /// The mail server, `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`. Unset: no mail is sent, and pages name `SITE_CONTACT`.
    ///
    /// `smtp://` (port 587) begins in the clear and needs STARTTLS: a server without it gets neither password nor mail, unless the
    /// address ends with `?tls=none`. `smtps://` (port 465) is encrypted from the start. Needs `MAIL_FROM`.
    #[arg(
        long = "smtp-url",
        env = "SMTP_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(smtp))]
    pub smtp: Optional<SmtpServer>,
    /// The sender of mail, such as `links@example.org` or `Links <links@example.org>`.
    #[arg(long, env = "MAIL_FROM", value_name = "ADDRESS")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(sender))]
    pub mail_from: Optional<Mailbox>,
}

impl MailSettings {
    /// Refuses half of the settings.
    pub(super) fn agree(&self) -> Result<(), ConfigError> {
        match (&self.smtp, &self.mail_from) {
            (Some(_), None) => Err(ConfigError::new(
                "SMTP_URL",
                "mail needs a sender; set MAIL_FROM, too",
            )),
            (None, Some(_)) => Err(ConfigError::new(
                "MAIL_FROM",
                "there is no mail server; set SMTP_URL, too",
            )),
            _ => Ok(()),
        }
    }
}

/// How a connection to the mail server is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// From the start.
    Implicit,
    /// By STARTTLS, without which nothing is sent.
    StartTls,
    /// Not at all.
    None,
}

/// A mail server. It has no `Debug`, as it may have a password.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpServer {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How connections to it are encrypted.
    pub tls: SmtpTls,
    /// The user name and the password, if it wants them.
    pub credentials: Option<(String, String)>,
}

/// The address of a mail server.
pub(super) fn smtp(raw: &str) -> Result<SmtpServer, String> {
    const SHAPE: &str =
        "must be smtp://HOST:PORT or smtps://HOST:PORT, maybe with USER:PASSWORD@ before the host";
    whole_address(raw)?;
    let url = Url::parse(raw).map_err(|_| SHAPE)?;
    let host = url
        .host_str()
        .filter(|host| !host.is_empty())
        .ok_or(SHAPE)?;
    if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
        return Err(SHAPE.into());
    }
    known_parameters(&url, &["tls"])?;
    let wanted = url.query_pairs().find(|(name, _)| name == "tls");
    let tls = match (url.scheme(), wanted.as_ref().map(|(_, value)| &**value)) {
        ("smtps", None) => SmtpTls::Implicit,
        ("smtp", None | Some("required")) => SmtpTls::StartTls,
        ("smtp", Some("none")) => SmtpTls::None,
        ("smtp" | "smtps", _) => {
            return Err("tls must be required or none, and only smtp:// has it".into());
        }
        _ => return Err(SHAPE.into()),
    };
    let decoded = |part: &str| {
        let text = percent_decode_str(part).decode_utf8();
        text.map(std::borrow::Cow::into_owned)
            .map_err(|_| "user name and password must be UTF-8")
    };
    let credentials = match (url.username(), url.password()) {
        ("", None) => None,
        ("", Some(_)) | (_, None) => {
            return Err("give user name and password, or neither of them".into());
        }
        (user, Some(password)) => Some((decoded(user)?, decoded(password)?)),
    };
    let usual = match tls {
        SmtpTls::Implicit => 465,
        SmtpTls::StartTls => 587,
        SmtpTls::None => 25,
    };
    Ok(SmtpServer {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(usual),
        tls,
        credentials,
    })
}

fn sender(raw: &str) -> Result<Mailbox, String> {
    raw.parse()
        .map_err(|_| format!("`{raw}` is not a sender; give an address such as links@example.org"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_host_port_encryption_and_credentials() {
        let read = |raw: &str| {
            let server = smtp(raw).unwrap();
            (server.host, server.port, server.tls, server.credentials)
        };
        let credentials = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (raw, host, port, tls, of) in [
            (
                "smtp://mail.example.org",
                "mail.example.org",
                587,
                SmtpTls::StartTls,
                None,
            ),
            (
                "smtp://mail.example.org:2525?tls=required",
                "mail.example.org",
                2525,
                SmtpTls::StartTls,
                None,
            ),
            (
                "smtp://127.0.0.1?tls=none",
                "127.0.0.1",
                25,
                SmtpTls::None,
                None,
            ),
            (
                "smtps://a%40b:p%2Fw@[::1]",
                "::1",
                465,
                SmtpTls::Implicit,
                credentials("a@b", "p/w"),
            ),
        ] {
            assert_eq!(read(raw), (host.to_owned(), port, tls, of), "{raw}");
        }
    }

    #[test]
    fn an_address_that_is_unclear_is_refused_without_its_password() {
        for raw in [
            "mail.example.org",
            "http://mail.example.org",
            "smtp://",
            "smtp://mail.example.org/path",
            "smtp://mail.example.org?tls=maybe",
            "smtps://mail.example.org?tls=none",
            "smtp://mail.example.org?timeout=1",
            "smtp://user@mail.example.org",
            "smtp://user:secret/word@mail.example.org",
        ] {
            let why = smtp(raw).err().unwrap();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
