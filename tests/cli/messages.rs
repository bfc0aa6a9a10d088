//! What commands say when they cannot do what was asked: one sentence for people, one object for programs.

use std::fs;

use serde_json::Value;

use crate::cli::support::{PASSWORD, Person, Service, run, shunt};

/// Words of libraries that no person should read.
const RAW: [&str; 11] = [
    "invalid digit",
    "too large to fit",
    "target type",
    "relative URL",
    "without a base",
    "struct ",
    "unix_wait_status",
    "expected value",
    "EOF",
    "os error",
    "invalid type",
];

/// A command line without a service, and words of its refusal.
const REFUSED: [(&[&str], &str); 16] = [
    (&["list", "--limit", "abc"], "must be a whole number from 0"),
    (&["list", "--limit=-1"], "must be a whole number from 0"),
    (
        &["stats", "abc", "--timeout", "x"],
        "must be a whole number from 1 to 86400",
    ),
    (
        &["stats", "abc", "--timeout", "0"],
        "must be a whole number from 1 to 86400",
    ),
    (
        &["shorten", "https://example.org", "--max-clicks", "5.0"],
        "must be a whole number from 1 to 9007199254740991",
    ),
    (
        &["edit", "abc", "--max-clicks", "99999999999999999999"],
        "must be a whole number from 1 to 9007199254740991",
    ),
    (
        &["keys", "delete", "x"],
        "must be a whole number from 1 to 9223372036854775807",
    ),
    (
        &["qr", "abc", "-o", "x.svg", "--size", "x"],
        "must be a whole number from 64 to 2048",
    ),
    (
        &["healthcheck", "--timeout", "x"],
        "must be a whole number from 1 to 300",
    ),
    (&["admin", "revoke", "x"], "must be a whole number from 1"),
    (
        &[
            "admin", "remove", "link", "abc", "--reason", "x", "--status", "x",
        ],
        "must be 410 or 451",
    ),
    (
        &["stats", "abc", "--server", "foo"],
        "is not an address; give an address such as https://sho.rt",
    ),
    (
        &["stats", "abc", "--server", "http://h:99999"],
        "is not an address; give an address such as https://sho.rt",
    ),
    (&["keys", "create", "x", "--scope", "y"], "read, write"),
    (&["shorten"], "<URL>"),
    (&["nonsense"], "nonsense"),
];

#[test]
fn no_refusal_of_a_command_line_has_words_of_a_library() {
    for (line, words) in REFUSED {
        let refused = run(shunt().args(line), "");
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(words), "{refused:?}");
        for raw in RAW {
            assert!(!refused.err.contains(raw), "{raw}: {refused:?}");
        }
    }
}

#[test]
fn a_refusal_of_a_command_line_is_json_with_json() {
    let of_settings: [(&[&str], i32); 3] = [
        (&["config", "--bind", "x"], 1),
        (&["config", "--nonsense"], 2),
        (&["list", "--nonsense"], 2),
    ];
    let refused = REFUSED.map(|(line, _)| (line, 2));
    for (line, code) in refused.into_iter().chain(of_settings) {
        let refused = run(shunt().args(line).arg("--json"), "");
        assert_eq!((refused.code, refused.out.as_str()), (code, ""), "{line:?}");
        assert_eq!(refused.err.lines().count(), 1, "{line:?}: {refused:?}");
        let error: Value = serde_json::from_str(&refused.err).unwrap();
        assert_eq!(error["exit_code"], code, "{line:?}");
        assert!(error["error"].as_str().is_some_and(|text| text.len() > 10));
    }
}

#[test]
fn a_wrong_value_is_refused_with_all_that_are_right_in_json_too() {
    let line = ["list", "--sort", "x", "--json"];
    run(shunt().args(line), "").fails(2, "-created_at, created_at, -clicks, clicks");
}

#[test]
fn every_client_command_has_its_service_by_server_and_by_its_old_name() {
    let service = Service::start();
    let ada = Person::of(&service);
    let elsewhere = "http://127.0.0.1:1";
    for name in ["--server", "--url"] {
        let mut command = ada.command(&["register", "ada@example.org", name, &service.base]);
        command.env("SHUNT_URL", elsewhere);
        // The second time the address is taken: the service was reached.
        let finished = run(&mut command, PASSWORD);
        assert!(matches!(finished.code, 0 | 1), "{finished:?}");
    }
    for command in ["register", "shorten", "list", "stats", "import", "export"] {
        let help = run(shunt().args([command, "--help"]), "").succeeds();
        assert!(help.contains("--server <URL>"), "{help}");
        assert!(!help.contains("--url"), "{help}");
    }
}

#[test]
fn a_file_of_tokens_that_cannot_be_read_is_refused_in_a_sentence() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for text in ["", "[1]", "{\"x\":1}", "{\"x\":{\"email\":1}}", "\u{0}"] {
        fs::write(ada.token_file(), text).unwrap();
        let refused = ada.runs(&["whoami"]);
        refused.fails(1, "is malformed; remove it, and log in again");
        for raw in RAW {
            assert!(!refused.err.contains(raw), "{raw}: {refused:?}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_imported_is_refused_without_words_of_a_library() {
    let folder = tempfile::tempdir().unwrap();
    for (text, words) in [
        (None, "no such file or directory"),
        (
            Some("[{\"target_url\": \"https://example.org\"},"),
            "it ends too early",
        ),
        (Some("[{\"target_url\" 5}]"), "a colon is missing"),
        (Some("{\"data\": 5}"), "must be an array or an object"),
    ] {
        let file = folder.path().join("links.json");
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        let mut command = shunt();
        command
            .args(["import", "--dry-run", "--from", "shunt"])
            .arg(file);
        let refused = run(&mut command, "");
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(words), "{refused:?}");
        for raw in RAW {
            assert!(!refused.err.contains(raw), "{raw}: {refused:?}");
        }
    }
}

#[test]
fn a_browser_that_cannot_be_started_leaves_the_address() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let short_url = ada.runs(&["shorten", "https://example.org"]);
    let short_url = short_url.out.trim_end();
    let mut command = ada.command(&["open", short_url]);
    command.env("PATH", "/nonexistent");
    let sentence = format!("no browser can be started; open {short_url} yourself");
    run(&mut command, "").fails(1, &sentence);
}

#[test]
fn the_help_of_commands_of_operators_is_short_and_says_where_all_settings_are() {
    for command in [
        "serve",
        "migrate",
        "config",
        "drop-parked-clicks",
        "admin audit",
    ] {
        let words = command.split(' ').chain(["--help"]);
        let help = run(shunt().args(words), "").succeeds();
        assert!(help.lines().count() < 70, "{command}: {help}");
        assert!(help.contains("[env: DATABASE_URL"), "{command}: {help}");
        assert!(help.contains("`shunt --help`"), "{command}: {help}");
    }
    let all = run(shunt().arg("--help"), "").succeeds();
    assert!(all.contains("--flush-interval-ms"), "{all}");
}

#[test]
fn settings_are_refused_without_words_of_a_library() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings");
    fs::write(&file, b"LIMIT_LOGIN=1\n\xff").unwrap();
    let file = file.to_str().unwrap();
    for (name, value, words) in [
        (
            "RUST_LOG",
            "shunt=bogus",
            "is not a valid filter; give a level",
        ),
        ("SETTINGS_FILE", file, "is not UTF-8"),
        ("JWT_SECRET_FILE", file, "is not UTF-8"),
        ("BLOCKLIST", file, "is not UTF-8"),
    ] {
        let mut command = shunt();
        command.args(["serve", "--bind", "127.0.0.1:0"]);
        command.env(
            "DATABASE_URL",
            format!("sqlite://{}/x.db", folder.path().display()),
        );
        let refused = run(command.env(name, value), "");
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(words), "{refused:?}");
        assert!(!refused.err.contains("stream did not"), "{refused:?}");
    }
}
