//! Mail: short texts to one person each, sent in the background through one bounded queue. No request waits for a mail server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{StreamExt, poll_fn};
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use metrics::counter;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::{SmtpServer, SmtpTls};
use crate::domain::EmailAddress;
use crate::telemetry::metrics::MAILS;
use crate::telemetry::throttle::LogThrottle;

mod letters;

pub use letters::{AccountLetter, AccountMail, InvitationMail, LetterAbout};

/// Mails that wait; further ones are dropped.
const QUEUE: usize = 256;

/// Mails that are sent at once.
const AT_ONCE: usize = 4;

/// How long the server may take with a mail.
const DEADLINE: Duration = Duration::from_secs(20);

/// The pauses before the second attempt and the third, which is the last one.
const PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];

/// A mail to one person.
pub struct Mail {
    /// To whom.
    pub to: EmailAddress,
    /// One line.
    pub subject: String,
    /// Plain text.
    pub text: String,
}

/// Why no mail can be sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MailerError(String);

/// Takes mails; cheap to clone.
#[derive(Clone)]
pub struct Mailer {
    queue: mpsc::Sender<Mail>,
    unsent: Arc<AtomicU64>,
}

/// Sends the mails that a [`Mailer`] took.
pub struct Deliveries {
    queue: mpsc::Receiver<Mail>,
    unsent: Arc<AtomicU64>,
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// Puts a mail into the queue. It never waits: without room in the queue the mail is dropped, counted and logged.
    pub fn send(&self, mail: Mail) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send(mail).is_err() {
            self.unsent.fetch_sub(1, Ordering::Relaxed);
            dropped(1, "the queue is full, or the service stops");
        }
    }
}

/// A queue, and what empties it by a mail server. No connection is made before the first mail.
///
/// # Errors
/// [`MailerError`] without root certificates.
pub fn mailer(server: &SmtpServer, from: Mailbox) -> Result<(Mailer, Deliveries), MailerError> {
    let host = server.host.clone();
    let parameters =
        || TlsParameters::new(host.clone()).map_err(|error| MailerError(error.to_string()));
    let tls = match server.tls {
        SmtpTls::Implicit => Tls::Wrapper(parameters()?),
        SmtpTls::StartTls => Tls::Required(parameters()?),
        SmtpTls::None => Tls::None,
    };
    let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
        .port(server.port)
        .tls(tls)
        .timeout(Some(DEADLINE));
    if let Some((user, password)) = &server.credentials {
        transport = transport.credentials(Credentials::new(user.clone(), password.clone()));
    }
    let (sender, receiver) = mpsc::channel(QUEUE);
    let unsent = Arc::<AtomicU64>::default();
    for result in ["sent", "failed", "dropped"] {
        counter!(MAILS, "result" => result).increment(0);
    }
    let mailer = Mailer {
        queue: sender,
        unsent: Arc::clone(&unsent),
    };
    let deliveries = Deliveries {
        queue: receiver,
        unsent,
        transport: transport.build(),
        from,
    };
    Ok((mailer, deliveries))
}

impl Deliveries {
    /// Sends mails until `stop`, and then what is left, for as long as `last`.
    pub async fn run(self, stop: CancellationToken, last: Duration) {
        let Self {
            mut queue,
            unsent,
            transport,
            from,
        } = self;
        let next = poll_fn(|context| queue.poll_recv(context));
        let (transport, from, left) = (&transport, &from, &*unsent);
        let sending = next.for_each_concurrent(AT_ONCE, |mail| async move {
            deliver(transport, from, mail).await;
            left.fetch_sub(1, Ordering::Relaxed);
        });
        let mut sending = std::pin::pin!(sending);
        tokio::select! {
            () = &mut sending => return,
            () = stop.cancelled() => {}
        }
        let emptied = async {
            tokio::select! {
                () = &mut sending => {}
                () = is_empty(left) => {}
            }
        };
        if timeout(last, emptied).await.is_err() {
            dropped(left.load(Ordering::Relaxed), "the service stops");
        }
    }
}

/// Returns once no mail is left.
async fn is_empty(unsent: &AtomicU64) {
    while unsent.load(Ordering::Relaxed) > 0 {
        sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a mail, in a few attempts. The log never has its address or text.
async fn deliver(transport: &AsyncSmtpTransport<Tokio1Executor>, from: &Mailbox, mail: Mail) {
    let message = match message(from, mail) {
        Ok(message) => message,
        Err(why) => return failed(&why),
    };
    let mut pauses = PAUSES.iter();
    loop {
        let sent = timeout(DEADLINE, transport.send(message.clone())).await;
        let why = match sent {
            Ok(Ok(_)) => return counter!(MAILS, "result" => "sent").increment(1),
            Ok(Err(error)) if error.is_permanent() => return failed(&cause(&error)),
            Ok(Err(error)) => cause(&error),
            Err(_) => format!("no answer within {} s", DEADLINE.as_secs()),
        };
        let Some(pause) = pauses.next() else {
            return failed(&why);
        };
        tracing::warn!(why, "a mail is not sent yet; it is tried again");
        sleep(*pause).await;
    }
}

/// The mail as it is sent. A header can have no second line: lettre encodes what is not plain.
fn message(from: &Mailbox, mail: Mail) -> Result<Message, String> {
    let to: Address =
        (mail.to.as_str().parse()).map_err(|_| "the address cannot be mailed to".to_owned())?;
    let message = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(mail.subject)
        .header(ContentType::TEXT_PLAIN);
    message.body(mail.text).map_err(|error| error.to_string())
}

/// What a server said in its refusal may name the address: only the kind of the failure is told, and what the system says.
fn cause(error: &lettre::transport::smtp::Error) -> String {
    if let Some(code) = error.status() {
        return format!("the mail server refused it ({code})");
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

fn failed(why: &str) {
    counter!(MAILS, "result" => "failed").increment(1);
    tracing::error!(why, "a mail is given up");
}

fn dropped(mails: u64, why: &str) {
    static LOG: LogThrottle = LogThrottle::new();
    counter!(MAILS, "result" => "dropped").increment(mails);
    if mails > 0 && LOG.is_due() {
        tracing::error!(mails, why, "mails are dropped; this is said once a second");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_mail_makes_a_header_of_its_own() {
        let mail = Mail {
            to: EmailAddress::parse("ada@example.org".into()).unwrap(),
            subject: "Hello\r\nBcc: eve@example.org\r\n\r\nö".into(),
            text: "text\r\n.\r\nMAIL FROM:<eve@example.org>".into(),
        };
        let from: Mailbox = "shunt <links@example.org>".parse().unwrap();
        let sent = String::from_utf8(message(&from, mail).unwrap().formatted()).unwrap();
        let head = sent.split("\r\n\r\n").next().unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(
            head.contains("Content-Type: text/plain; charset=utf-8"),
            "{head}"
        );
    }
}
