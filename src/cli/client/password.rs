//! The password: from the terminal without echo, or from standard input.

use std::io::{self, BufRead, IsTerminal};

use super::Failure;

/// More than any password; what is longer is no line of a person's.
const MOST: u64 = 4096;

/// Reads the password of an account; a new one is asked for twice, as nobody sees what they type.
pub(super) fn read(is_new: bool) -> Result<String, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return first_line(stdin.lock());
    }
    let password = ask("Password: ")?;
    if is_new && ask("The same again: ")? != password {
        return Err(Failure::Usage("the two passwords differ".into()));
    }
    Ok(password)
}

fn ask(prompt: &str) -> Result<String, Failure> {
    rpassword::prompt_password(prompt).map_err(|error| unreadable(&error))
}

fn first_line(input: impl BufRead) -> Result<String, Failure> {
    let mut line = String::new();
    let read = input.take(MOST).read_line(&mut line);
    read.map_err(|error| unreadable(&error))?;
    let password = line.strip_suffix('\n').unwrap_or(&line);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() {
        return Err(Failure::Usage(
            "standard input is no terminal and its first line is empty: no password".into(),
        ));
    }
    Ok(password.to_owned())
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::Failed(format!("the password cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_password() {
        for (input, expected) in [
            ("secret words\n", Some("secret words")),
            ("secret\r\nmore\n", Some("secret")),
            (" spaces stay ", Some(" spaces stay ")),
            ("", None),
            ("\nlate", None),
        ] {
            assert_eq!(
                first_line(input.as_bytes()).ok().as_deref(),
                expected,
                "{input:?}"
            );
        }
    }
}
