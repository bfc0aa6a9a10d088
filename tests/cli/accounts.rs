//! The account from a terminal: whose login it is, its end, its password, and API keys.

use std::fs;

use serde_json::{Value, json};

use crate::cli::support::{PASSWORD, Person, Service};

const NEW_PASSWORD: &str = "staple of a wrong horse";
const TARGET: &str = "https://example.org/a";

/// A second home of the same person, with a login of its own.
fn elsewhere(service: &Service, email: &str) -> Person {
    let person = Person::of(service);
    person.runs_with_input(&["login", email], PASSWORD).line();
    person
}

#[test]
fn whoami_shows_the_account_of_the_login() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    assert_eq!(
        ada.runs(&["whoami"]).line(),
        format!("ada@example.org at {}", service.base)
    );
    let shown = ada.runs(&["whoami", "--json"]).json();
    assert_eq!(
        shown,
        json!({ "url": service.base, "id": 1, "email": "ada@example.org" })
    );
    Person::of(&service)
        .runs(&["whoami"])
        .fails(3, "not logged in");
}

#[test]
fn a_logout_forgets_the_token_of_this_service_and_no_other() {
    let (one, other) = (Service::start(), Service::start());
    let ada = Person::registered(&one, "ada@example.org");
    let register = ["register", "ada@example.org", "--server", &other.base];
    ada.runs_with_input(&register, PASSWORD).succeeds();
    let token = fs::read_to_string(ada.token_file()).unwrap();
    let token: Value = serde_json::from_str(&token).unwrap();
    let token = token[&one.base]["access_token"].as_str().unwrap();

    assert_eq!(
        ada.runs(&["logout"]).line(),
        format!("logged out of {}", one.base)
    );
    assert!(
        !fs::read_to_string(ada.token_file())
            .unwrap()
            .contains(token)
    );
    ada.runs(&["whoami"]).fails(3, "not logged in");
    ada.runs(&["whoami", "--server", &other.base]).succeeds();
}

#[test]
fn a_logout_without_a_login_is_no_error_and_makes_no_file() {
    let service = Service::start();
    let ada = Person::of(&service);
    assert_eq!(
        ada.runs(&["logout"]).line(),
        format!("was not logged in at {}", service.base)
    );
    let said = ada.runs(&["logout", "--json"]).json();
    assert_eq!(said["was_logged_in"], false);
    assert!(!ada.token_file().parent().unwrap().exists());
    ada.runs(&["logout", "--everywhere"])
        .fails(3, "not logged in");
}

#[test]
fn a_logout_needs_the_service_only_to_end_the_tokens_of_other_machines() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let laptop = elsewhere(&service, "ada@example.org");
    laptop.runs(&["logout"]).line();
    ada.runs(&["whoami"]).succeeds();
    let laptop = elsewhere(&service, "ada@example.org");
    let said = laptop.runs(&["logout", "--everywhere", "--json"]).json();
    assert_eq!(
        said,
        json!({ "url": service.base, "was_logged_in": true, "everywhere": true })
    );
    laptop.runs(&["whoami"]).fails(3, "not logged in");
    ada.runs(&["whoami"]).fails(3, "no longer valid");

    let base = service.base.clone();
    ada.runs_with_input(&["login", "ada@example.org"], PASSWORD)
        .line();
    drop(service);
    ada.runs(&["logout", "--everywhere"])
        .fails(5, "cannot be reached");
    assert_eq!(
        ada.runs(&["logout"]).line(),
        format!("logged out of {base}"),
        "the token of a failed attempt stays until then"
    );
}

#[test]
fn a_password_is_changed_and_this_login_goes_on_while_others_end() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let laptop = elsewhere(&service, "ada@example.org");
    let changed = ada.runs_with_input(&["password"], &format!("{PASSWORD}\n{NEW_PASSWORD}\n"));
    let base = &service.base;
    assert_eq!(
        changed.line(),
        format!("password of ada@example.org at {base} changed; all other log-ins are revoked")
    );
    ada.runs(&["whoami"]).succeeds();
    laptop.runs(&["whoami"]).fails(3, "no longer valid");
    laptop
        .runs_with_input(&["login", "ada@example.org"], PASSWORD)
        .fails(3, "Incorrect email or password");
    laptop
        .runs_with_input(&["login", "ada@example.org"], NEW_PASSWORD)
        .line();
    let back = format!("{NEW_PASSWORD}\n{PASSWORD}\n");
    let changed = ada.runs_with_input(&["password", "--json"], &back).json();
    assert_eq!(changed["changed"], true);
}

#[test]
fn a_password_that_cannot_be_changed_stays_and_the_login_too() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let change = |input: &str| ada.runs_with_input(&["password"], input);
    change(&format!("a wrong one\n{NEW_PASSWORD}\n")).fails(3, "Incorrect password");
    change(&format!("{PASSWORD}\nshort\n")).fails(1, "new_password");
    change(&format!("{PASSWORD}\n")).fails(2, "no password");
    change("").fails(2, "no password");
    ada.runs(&["whoami"]).succeeds();
    Person::of(&service)
        .runs_with_input(&["password"], "")
        .fails(3, "not logged in");
}

#[test]
fn a_key_is_shown_once_listed_and_refused_once_it_is_deleted() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let made = ada.runs(&["keys", "create", "backup script"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(
        made.err,
        "shunt: key 1 (read) is shown only once; save it where its program reads it\n"
    );
    let key = made.out.trim_end();
    assert!(key.starts_with("shunt_r"), "{key}");
    let line = [
        "keys", "create", "import", "--scope", "write", "--expiry", "30d", "--json",
    ];
    let write = ada.runs(&line).json();
    assert_eq!(write["scope"], "write");
    assert!(write["expires_at"].is_string(), "{write}");

    let listed = ada.runs(&["keys", "list"]).succeeds();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines[2].ends_with("backup script"), "{listed}");
    assert!(!listed.contains(key), "{listed}");
    let listed = ada.runs(&["keys", "list", "--json"]).json();
    assert_eq!(listed[0]["id"], write["id"]);
    assert_eq!(listed[1]["name"], "backup script");
    assert_eq!(listed[1]["last_used_on"], Value::Null);

    // A program's key in the place of the login's token.
    let program = Person::registered(&service, "bob@example.org");
    let use_key = |key: &Value| {
        let kept = fs::read_to_string(program.token_file()).unwrap();
        let mut kept: Value = serde_json::from_str(&kept).unwrap();
        kept[&service.base]["access_token"] = key.clone();
        fs::write(program.token_file(), kept.to_string()).unwrap();
    };
    use_key(&key.into());
    program.runs(&["list"]).succeeds();
    program.runs(&["shorten", TARGET]).fails(1, "key");
    program.runs(&["keys", "list"]).fails(3, "");
    use_key(&write["key"]);
    program.runs(&["shorten", TARGET]).line();
    assert_eq!(ada.runs(&["keys", "delete", "2"]).line(), "deleted key 2");
    program.runs(&["list"]).fails(3, "no longer valid");
}

#[test]
fn a_key_that_cannot_be_deleted_does_not_stop_the_others() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for name in ["one", "two"] {
        ada.runs(&["keys", "create", "--json", name]).json();
    }
    let deleted = ada.runs(&["keys", "delete", "1", "77", "2", "1"]);
    assert_eq!(deleted.code, 4, "{deleted:?}");
    assert_eq!(deleted.out, "deleted key 1\ndeleted key 2\n");
    assert_eq!(deleted.err, "shunt: 77: key not found\n");
    assert_eq!(ada.runs(&["keys", "list", "--json"]).json(), json!([]));
    let failed = ada.runs(&["keys", "delete", "--json", "1"]);
    failed.fails(4, "key not found");
    let error: Value = serde_json::from_str(&failed.err).unwrap();
    assert_eq!(error["exit_code"], 4);
}

#[test]
fn a_key_that_cannot_be_made_says_why() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["keys", "create", ""]).fails(1, "name");
    for wrong in [["--scope", "all"], ["--expiry", "soon"]] {
        let line = [&["keys", "create", "x"][..], &wrong].concat();
        let failed = ada.runs(&line);
        assert_eq!(failed.code, 2, "{failed:?}");
    }
    Person::of(&service)
        .runs(&["keys", "create", "x"])
        .fails(3, "not logged in");
}

#[test]
fn a_password_may_be_typed_in_another_spelling() {
    let service = Service::start();
    let ada = Person::of(&service);
    let register = ["register", "ada@example.org"];
    ada.runs_with_input(&register, "Pässwörd eins\n").succeeds();
    let login = ["login", "ada@example.org"];
    ada.runs_with_input(&login, "Pa\u{308}sswo\u{308}rd eins\n")
        .succeeds();
    let change = "Pa\u{308}sswo\u{308}rd eins\nZwe\u{308}i Wörter\n";
    ada.runs_with_input(&["password"], change).succeeds();
    ada.runs_with_input(&login, "Zwëi Wörter\n").succeeds();
}
