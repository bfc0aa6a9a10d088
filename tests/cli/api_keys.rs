//! API keys in the place of a login: `SHUNT_KEY`, and `shunt login --key`.

use std::fs;

use crate::cli::support::{Person, Service, run};

const TARGET: &str = "https://example.org/a";

/// A key of a person.
fn key_of(person: &Person, scope: &str) -> String {
    let made = person.runs(&["keys", "create", "a script", "--scope", scope, "--json"]);
    made.json()["key"].as_str().unwrap().to_owned()
}

#[test]
fn a_key_of_the_environment_is_used_without_a_login_and_before_it() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let key = key_of(&ada, "write");
    let script = Person::of(&service);
    let mut shorten = script.command(&["shorten", TARGET]);
    let short_url = run(shorten.env("SHUNT_KEY", &key), "").line();
    assert!(
        service
            .follow(&short_url)
            .contains(&format!("location: {TARGET}\r\n"))
    );
    assert!(!script.token_file().exists(), "it is kept nowhere");

    let bob = Person::registered(&service, "bob@example.org");
    let mut whoami = bob.command(&["whoami"]);
    let shown = run(whoami.env("SHUNT_KEY", &key), "").line();
    assert!(shown.starts_with("ada@example.org"), "{shown}");
    let mut whoami = bob.command(&["whoami"]);
    let shown = run(whoami.env("SHUNT_KEY", ""), "").line();
    assert!(shown.starts_with("bob@example.org"), "{shown}");
}

#[test]
fn a_key_of_the_environment_that_is_refused_is_named_without_its_text() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let key = key_of(&ada, "write");
    let with = |line: &[&str], key: &str| run(ada.command(line).env("SHUNT_KEY", key), "");
    with(&["keys", "list"], &key).fails(3, "the key in SHUNT_KEY is not accepted");
    with(&["list"], &format!("{key}0")).fails(3, "unset SHUNT_KEY");
    let wrong = with(&["list"], "eyJhbGciOi");
    assert!(!wrong.err.contains("eyJhbGciOi"), "{}", wrong.err);
    wrong.fails(2, "SHUNT_KEY: is not an API key");
}

#[test]
fn a_login_with_a_key_keeps_it_and_reads_it_from_standard_input() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let key = key_of(&ada, "read");
    let script = Person::of(&service);
    let done = script.runs_with_input(&["login", "--key"], &format!("{key}\n"));
    let expected = format!(
        "logged in at {} with a key of ada@example.org",
        service.base
    );
    assert_eq!(done.line(), expected);
    assert!(
        fs::read_to_string(script.token_file())
            .unwrap()
            .contains(&key)
    );
    script.runs(&["list"]).succeeds();
    script
        .runs(&["shorten", TARGET])
        .fails(1, "This key is read-only");
}

#[test]
fn a_login_with_a_key_that_is_not_valid_keeps_nothing() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let key = key_of(&ada, "write");
    let script = Person::of(&service);
    let mistyped = format!("{key}0");
    script
        .runs_with_input(&["login", "--key"], &mistyped)
        .fails(3, "the key is not valid");
    script
        .runs_with_input(&["login", "--key"], "secret words")
        .fails(2, "is not an API key");
    script
        .runs_with_input(&["login", "--key"], "")
        .fails(2, "no password or key");
    script.runs(&["list"]).fails(3, "not logged in");
    for line in [&["login", "--key", &key][..], &["login"]] {
        let refused = script.runs_with_input(line, "");
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(!refused.err.contains(&key), "{refused:?}");
    }
}

#[test]
fn a_create_key_shortens_and_shows_public_statistics() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let key = key_of(&ada, "create");
    let script = Person::of(&service);
    script.runs_with_input(&["login", "--key"], &key).succeeds();
    let short_url = script.runs(&["shorten", TARGET]).line();
    script.runs(&["stats", &short_url]).succeeds();
    script
        .runs(&["list"])
        .fails(1, "This key can only create links");
    let listed = ada.runs(&["keys", "list"]).succeeds();
    assert!(listed.contains("create"), "{listed}");
}
