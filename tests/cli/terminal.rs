//! Behaviour on a terminal; `script` (bsdutils, on every Debian) provides one.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::cli::support::{Finished, PASSWORD, Person, Service, run};

/// Runs a command line on a terminal, with this input typed.
fn on_terminal(person: &Person, line: &[&str], typed: &str, settings: &[(&str, &str)]) -> Finished {
    run(&mut terminal(person, line, "", settings), typed)
}

/// A terminal with a shell that runs a command line and does something more `afterwards`.
fn terminal(
    person: &Person,
    line: &[&str],
    afterwards: &str,
    settings: &[(&str, &str)],
) -> Command {
    let asked = person.command(line);
    let words = std::iter::once(asked.get_program()).chain(asked.get_args());
    let words: Vec<String> = words
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut script = Command::new("script");
    script.args([
        "--quiet",
        "--return",
        "--echo",
        "never",
        "--command",
        // The shell outlives a Ctrl-C that comes before the program reads keys.
        &format!("trap : INT; {}{afterwards}", words.join(" ")),
        "/dev/null",
    ]);
    script
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm");
    script.envs(
        asked
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    script.envs(settings.iter().copied());
    script
}

/// The output on a terminal so far.
struct Screen {
    shown: String,
    more: Receiver<String>,
}

impl Screen {
    fn of(mut output: impl Read + Send + 'static) -> Self {
        let (sender, more) = channel();
        thread::spawn(move || {
            let mut part = [0; 1024];
            while let Ok(length @ 1..) = output.read(&mut part) {
                let part = String::from_utf8_lossy(&part[..length]).into_owned();
                if sender.send(part).is_err() {
                    return;
                }
            }
        });
        Self {
            shown: String::new(),
            more,
        }
    }

    /// Whether this text is shown within the time.
    fn shows(&mut self, text: &str, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !self.shown.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            match self.more.recv_timeout(left) {
                Ok(part) => self.shown += &part,
                Err(_) => return false,
            }
        }
        true
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", "https://example.org/"]).line();
    let coloured = on_terminal(&ada, &["list"], "", &[]);
    assert!(coloured.out.contains("\u{1b}["), "{coloured:?}");
    let plain = on_terminal(&ada, &["list"], "", &[("NO_COLOR", "1")]);
    assert_eq!(plain.code, 0, "{plain:?}");
    assert!(!plain.out.contains('\u{1b}'), "{plain:?}");
    assert!(
        !ada.runs(&["list"]).out.contains('\u{1b}'),
        "a pipe is no terminal"
    );
}

#[test]
fn the_progress_of_an_import_is_shown_on_a_terminal() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.csv");
    let targets = (0..2_000).map(|line| format!("https://example.org/{line}\n"));
    fs::write(
        &file,
        format!("target_url\n{}", targets.collect::<String>()),
    )
    .unwrap();
    let line = ["import", file.to_str().unwrap(), "--from", "csv"];
    let shown = on_terminal(&ada, &line, "", &[]);
    assert!(shown.out.contains(" %  1000 links  "), "{shown:?}");
    let again = ada.runs(&line).succeeds();
    assert!(!again.contains('%'), "{again}");
}

#[test]
fn a_password_is_asked_for_and_not_shown() {
    let service = Service::start();
    let ada = Person::of(&service);
    let typed = format!("{PASSWORD}\n{PASSWORD}\n");
    let finished = on_terminal(&ada, &["register", "ada@example.org"], &typed, &[]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.out.contains("Password: "), "{finished:?}");
    assert!(
        finished.out.contains("Repeat the password: "),
        "{finished:?}"
    );
    assert!(!finished.out.contains(PASSWORD), "{finished:?}");
    let finished = on_terminal(&ada, &["login", "ada@example.org"], &typed, &[]);
    assert!(finished.out.contains("logged in at"), "{finished:?}");
    let typed = format!("{PASSWORD}\na new password\na new password\n");
    let finished = on_terminal(&ada, &["password"], &typed, &[]);
    assert!(finished.out.contains("Old password: "), "{finished:?}");
    assert!(finished.out.contains("New password: "), "{finished:?}");
    assert!(!finished.out.contains("a new"), "{finished:?}");
    assert_eq!(finished.code, 0, "{finished:?}");
    let typed = format!("{PASSWORD}\nanother one\n");
    let finished = on_terminal(&ada, &["register", "bob@example.org"], &typed, &[]);
    assert_eq!(finished.code, 2, "{finished:?}");
    assert!(finished.out.contains("differ"), "{finished:?}");
}

#[test]
fn ctrl_c_at_the_password_ends_the_command_and_leaves_the_terminal_as_it_was() {
    let service = Service::start();
    let ada = Person::of(&service);
    let line = ["login", "ada@example.org"];
    let mut script = terminal(&ada, &line, "; echo ended with $?; stty -a", &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = script.stdin.take().unwrap();
    let mut screen = Screen::of(script.stdout.take().unwrap());
    let soon = Duration::from_secs(30);
    assert!(screen.shows("Password: ", soon), "{}", screen.shown);
    // The prompt is shown just before the program reads keys.
    let ended = (0..10).any(|_| {
        keys.write_all(b"\x03").unwrap();
        screen.shows("ended with", Duration::from_secs(2))
    });
    assert!(
        ended && screen.shows("ended with 130", soon),
        "{}",
        screen.shown
    );
    for mode in ["\nisig", " icanon"] {
        assert!(screen.shows(mode, soon), "{mode}: {}", screen.shown);
    }
    drop(keys);
    script.wait().unwrap();
}
