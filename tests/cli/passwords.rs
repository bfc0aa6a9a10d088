//! Passwords of links on the command line: they are no arguments.

use crate::cli::support::{Person, Service};

const TARGET: &str = "https://example.org/secret";
const PASSWORD: &str = "open sesame";

#[test]
fn the_password_of_a_link_is_read_from_standard_input() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let arguments = ["shorten", TARGET, "--code", "locked", "--password"];
    ada.runs_with_input(&arguments, &format!("{PASSWORD}\n"))
        .succeeds();
    let link = ada.runs(&["show", "--json", "locked"]).json();
    assert_eq!(link["has_password"], true);
    let text = ada.runs(&["show", "locked"]).succeeds();
    assert!(text.contains("password   visitors need one\n"), "{text}");
    let list = ada.runs(&["list"]).succeeds();
    assert!(list.contains("  (password)\n"), "{list}");
    ada.runs(&["shorten", TARGET, "--password"])
        .fails(2, "no password");
    let given = ada.runs(&["shorten", TARGET, "--password=secret"]);
    assert_eq!(given.code, 2, "{given:?}");
}

#[test]
fn a_password_is_changed_and_taken_away_by_an_edit() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", TARGET, "--code", "edited"])
        .succeeds();
    let set = ada.runs_with_input(&["edit", "--json", "edited", "--password"], PASSWORD);
    assert_eq!(set.json()["has_password"], true);
    let kept = ada.runs(&["edit", "--json", "edited", "--title", "kept"]);
    assert_eq!(kept.json()["has_password"], true);
    let open = ada.runs(&["edit", "--json", "edited", "--no-password"]);
    assert_eq!(open.json()["has_password"], false);
    ada.runs_with_input(&["edit", "edited", "--password"], "abc")
        .fails(1, "password: must be 4 to 128 characters long");
}

#[test]
fn an_export_with_secrets_is_imported_as_a_whole() {
    let service = Service::start();
    let (ada, bob) = (
        Person::registered(&service, "ada@example.org"),
        Person::registered(&service, "bob@example.org"),
    );
    ada.runs_with_input(
        &["shorten", TARGET, "--code", "moved", "--password"],
        PASSWORD,
    )
    .succeeds();
    let open = ada.runs(&["export"]).succeeds();
    assert!(!open.contains("$argon2id$"), "{open}");
    let whole = ada.runs(&["export", "--secrets"]).succeeds();
    assert!(whole.contains("$argon2id$"), "{whole}");
    let folder = tempfile::tempdir().unwrap();
    let import = |text: &str, code: &str| {
        let file = folder.path().join(format!("{code}.csv"));
        std::fs::write(&file, text.replace("moved", code)).unwrap();
        bob.runs(&["import", file.to_str().unwrap(), "--from", "shunt"])
    };
    assert_eq!(import(&open, "refused").code, 1);
    import(&whole, "copied").succeeds();
    let copied = bob.runs(&["show", "--json", "copied"]).json();
    assert_eq!(copied["has_password"], true);
}
