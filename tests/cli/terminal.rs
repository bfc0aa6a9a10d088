//! What is different on a terminal; `script` (bsdutils, on every Debian) lends one.

use std::process::Command;

use crate::support::{PASSWORD, Person, Said, Service, run};

/// Runs a command line on a terminal, with this typed.
fn on_terminal(person: &Person, line: &[&str], typed: &str, settings: &[(&str, &str)]) -> Said {
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
        &words.join(" "),
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
    run(&mut script, typed)
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.says(&["shorten", "https://example.org/"]).line();
    let coloured = on_terminal(&ada, &["list"], "", &[]);
    assert!(coloured.out.contains("\u{1b}["), "{coloured:?}");
    let plain = on_terminal(&ada, &["list"], "", &[("NO_COLOR", "1")]);
    assert_eq!(plain.code, 0, "{plain:?}");
    assert!(!plain.out.contains('\u{1b}'), "{plain:?}");
    assert!(
        !ada.says(&["list"]).out.contains('\u{1b}'),
        "a pipe is no terminal"
    );
}

#[test]
fn a_password_is_asked_for_and_not_shown() {
    let service = Service::start();
    let ada = Person::of(&service);
    let typed = format!("{PASSWORD}\n{PASSWORD}\n");
    let told = on_terminal(&ada, &["register", "ada@example.org"], &typed, &[]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("Password: "), "{told:?}");
    assert!(told.out.contains("The same again: "), "{told:?}");
    assert!(!told.out.contains(PASSWORD), "{told:?}");
    let told = on_terminal(&ada, &["login", "ada@example.org"], &typed, &[]);
    assert!(told.out.contains("logged in at"), "{told:?}");
    let typed = format!("{PASSWORD}\nanother one\n");
    let told = on_terminal(&ada, &["register", "bob@example.org"], &typed, &[]);
    assert_eq!(told.code, 2, "{told:?}");
    assert!(told.out.contains("differ"), "{told:?}");
}
