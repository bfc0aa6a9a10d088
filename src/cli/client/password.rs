//! The password, or a key: from the terminal without echo, or from standard input.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shunt::domain::{io_reason, prepared_password};
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use super::Failure;

/// Longer than any password.
const MAX_LINE: u64 = 4096;

/// Reads the password of an account. A new password is asked for twice, because it is not shown while it is typed.
pub(super) fn read(is_new: bool) -> Result<String, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return next_line(&mut stdin.lock());
    }
    let terminal = Terminal::new().map_err(|error| unreadable(&error))?;
    if is_new {
        terminal.ask_twice("Password: ")
    } else {
        terminal.ask("Password: ")
    }
}

/// Reads an API key.
pub(super) fn read_key() -> Result<String, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return next_line(&mut stdin.lock());
    }
    let terminal = Terminal::new().map_err(|error| unreadable(&error))?;
    terminal.ask("API key: ")
}

/// Reads a one-time password.
pub(super) fn read_otp() -> Result<String, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return next_line(&mut stdin.lock());
    }
    let terminal = Terminal::new().map_err(|error| unreadable(&error))?;
    terminal.ask("Code of your app, or a recovery code: ")
}

/// Reads the new password of a link.
pub(super) fn read_of_link() -> Result<String, Failure> {
    read(true)
}

/// Reads the old password of an account and the new one.
pub(super) fn read_change() -> Result<(String, String), Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let mut lines = stdin.lock();
        return Ok((next_line(&mut lines)?, next_line(&mut lines)?));
    }
    let terminal = Terminal::new().map_err(|error| unreadable(&error))?;
    let old = terminal.ask("Old password: ")?;
    Ok((old, terminal.ask_twice("New password: ")?))
}

/// A terminal that is restored, also after Ctrl-C: rpassword raises the signal before it turns the echo on again.
struct Terminal {
    /// Whether the signal ends the process at once.
    is_ended_at_once: Arc<AtomicBool>,
}

impl Terminal {
    fn new() -> io::Result<Self> {
        let is_ended_at_once = Arc::new(AtomicBool::new(true));
        flag::register_conditional_default(SIGINT, Arc::clone(&is_ended_at_once))?;
        Ok(Self { is_ended_at_once })
    }

    /// Asks for a new password.
    fn ask_twice(&self, prompt: &str) -> Result<String, Failure> {
        let password = self.ask(prompt)?;
        let again = self.ask("Repeat the password: ")?;
        if prepared_password(&again) != prepared_password(&password) {
            return Err(Failure::Usage("the two passwords differ".into()));
        }
        Ok(password)
    }

    fn ask(&self, prompt: &str) -> Result<String, Failure> {
        self.is_ended_at_once.store(false, Ordering::SeqCst);
        let typed = rpassword::prompt_password(prompt);
        self.is_ended_at_once.store(true, Ordering::SeqCst);
        typed.map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                // Ends the process as the signal does; if that fails, the error below does.
                let _ = low_level::emulate_default_handler(SIGINT);
            }
            unreadable(&error)
        })
    }
}

fn next_line(input: &mut impl BufRead) -> Result<String, Failure> {
    let mut line = String::new();
    let read = input.by_ref().take(MAX_LINE).read_line(&mut line);
    read.map_err(|error| unreadable(&error))?;
    // Some programs begin what they pass on with a byte order mark.
    let password = line.strip_prefix('\u{feff}').unwrap_or(&line);
    let password = password.strip_suffix('\n').unwrap_or(password);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() {
        return Err(Failure::Usage(
            "no password or key: standard input is not a terminal, and its first line is empty or missing"
                .into(),
        ));
    }
    Ok(password.to_owned())
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::Failed(format!(
        "the password or key cannot be read: {}",
        io_reason(error)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_password() {
        for (input, expected) in [
            ("secret words\n", Some("secret words")),
            ("secret\r\nmore\n", Some("secret")),
            ("\u{feff}secret\r\n", Some("secret")),
            (" spaces stay ", Some(" spaces stay ")),
            ("", None),
            ("\nlate", None),
        ] {
            assert_eq!(
                next_line(&mut input.as_bytes()).ok().as_deref(),
                expected,
                "{input:?}"
            );
        }
    }
}
