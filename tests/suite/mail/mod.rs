//! Mail, against a real mail server: `tests/mail/server`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::support::{App, Mode, command, eventually};

mod another_address;
mod forgotten;
mod invited;
mod reported;
mod servers;

const PASSWORD: &str = "correct horse";

/// A mail server, and the mails that it took.
struct MailServer {
    process: Child,
    port: u16,
    mails: Arc<Mutex<Vec<Value>>>,
}

impl MailServer {
    fn start(args: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mail/server");
        let mut command = Command::new(script);
        let mut process = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        let mails = Arc::<Mutex<Vec<Value>>>::default();
        let taken = Arc::clone(&mails);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                taken
                    .lock()
                    .unwrap()
                    .push(serde_json::from_str(&line).unwrap());
            }
        });
        Self {
            process,
            port,
            mails,
        }
    }

    /// The settings of a service that sends by this server.
    fn settings(&self, rest: &str) -> [(&'static str, String); 2] {
        settings_of(&format!("smtp://127.0.0.1:{}{rest}", self.port))
    }

    fn mails(&self) -> Vec<Value> {
        self.mails.lock().unwrap().clone()
    }

    /// The newest mail, once there are this many.
    async fn mail(&self, number: usize) -> Value {
        eventually("the mail is there", async || self.mails().len() >= number).await;
        let mails = self.mails();
        assert_eq!(mails.len(), number);
        mails[number - 1].clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// A service that sends by a mail server, with further settings.
async fn start(mode: Mode, server: &MailServer, further: &[(&str, &str)]) -> App {
    let settings = server.settings("?tls=none");
    let settings = settings.iter().map(|(name, value)| (*name, value.as_str()));
    let settings: Vec<_> = settings.chain(further.iter().copied()).collect();
    App::start_with(mode, &settings).await
}

/// What a command of `shunt admin` prints, or why it fails.
fn operator(app: &App, args: &[&str]) -> String {
    let mut command = command(&app.backend.settings());
    let output = command.arg("admin").args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

fn settings_of(url: &str) -> [(&'static str, String); 2] {
    [
        ("SMTP_URL", url.to_owned()),
        ("MAIL_FROM", "Links <links@example.org>".to_owned()),
    ]
}

/// The text of a mail that is not encoded, or encoded as quoted-printable.
fn text_of(mail: &Value) -> String {
    let text = mail["text"].as_str().unwrap();
    text.replace("=\r\n", "").replace("=3D", "=")
}

/// The link to this path in a mail.
fn link_in(mail: &Value, path: &str) -> String {
    let text = text_of(mail);
    let start = text.find(path).expect(&text);
    let end = text[start..].find(char::is_whitespace);
    text[start..][..end.unwrap_or(text.len() - start)].to_owned()
}
