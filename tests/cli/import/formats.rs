//! Exports of other services as `shunt import --dry-run` reads them. `exports/README.md` says where their forms come from.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::support::{Finished, run, shunt};

/// A sample of an export.
pub(super) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/import/exports")
        .join(name)
}

fn dry_run(name: &str, from: &str, more: &[&str]) -> Finished {
    let mut command = shunt();
    command
        .args(["import", "--dry-run", "--from", from])
        .args(more);
    run(command.arg(sample(name)), "")
}

/// Checks the outcome of a sample: the numbers, and the lines that are refused with their reasons.
#[track_caller]
fn comes_to(name: &str, from: &str, numbers: &Value, refused: &[(u64, &str)]) {
    let finished = dry_run(name, from, &["--json"]);
    let summary: Value = serde_json::from_str(&finished.out).unwrap();
    for (number, expected) in numbers.as_object().unwrap() {
        assert_eq!(
            summary[number], *expected,
            "{number} of {name}: {finished:?}"
        );
    }
    assert_eq!(summary["refused"], refused.len(), "{finished:?}");
    for (line, why) in refused {
        let expected = format!("shunt: line {line}: {why}");
        let found = finished.err.lines().any(|line| line.starts_with(&expected));
        assert!(found, "{expected}: {finished:?}");
    }
    assert_eq!(
        finished.code,
        i32::from(!refused.is_empty()),
        "{finished:?}"
    );
}

const SHAPE: &str =
    "must be 1 to 64 of the characters A-Z a-z 0-9 - _; --new-codes gives the link a new code";
const RESERVED: &str = "is a word that this service uses itself; choose another; --new-codes gives the link a new code";
const PROTECTED: &str = "password: is protected by a password whose hash is missing, ";

#[test]
fn kutt() {
    let numbers = json!({ "imported": 2, "clicks": 1204 });
    comes_to(
        "kutt.json",
        "kutt",
        &numbers,
        &[(20, &format!("address: {RESERVED}")), (41, PROTECTED)],
    );
    let numbers = json!({ "imported": 3, "clicks": 1224 });
    comes_to("kutt.csv", "kutt", &numbers, &[]);
}

#[test]
fn yourls() {
    let numbers = json!({ "imported": 2, "clicks": 1031 });
    comes_to(
        "yourls.csv",
        "yourls",
        &numbers,
        &[(2, &format!("keyword: {RESERVED}"))],
    );
    comes_to("yourls-plugin.csv", "yourls", &numbers, &[]);
}

#[test]
fn shlink() {
    let numbers = json!({ "imported": 2, "clicks": 328, "notes": { "redirect_rules": 1 } });
    comes_to(
        "shlink.json",
        "shlink",
        &numbers,
        &[(18, &format!("shortCode: {SHAPE}"))],
    );
    comes_to(
        "shlink.csv",
        "shlink",
        &json!({ "imported": 2, "clicks": 1357 }),
        &[],
    );
    comes_to(
        "shlink-import.csv",
        "shlink",
        &json!({ "imported": 2, "clicks": 0 }),
        &[],
    );
}

#[test]
fn bitly() {
    let numbers = json!({ "imported": 2, "clicks": 0 });
    comes_to("bitly.json", "bitly", &numbers, &[]);
    let numbers = json!({ "imported": 2, "clicks": 512 });
    comes_to("bitly.csv", "bitly", &numbers, &[]);
}

#[test]
fn chhoto() {
    comes_to(
        "chhoto.json",
        "chhoto",
        &json!({ "imported": 2, "clicks": 19 }),
        &[],
    );
}

#[test]
fn dub() {
    let numbers = json!({ "imported": 1, "clicks": 42 });
    comes_to(
        "dub.json",
        "dub",
        &numbers,
        &[(9, &format!("key: {SHAPE}"))],
    );
}

#[test]
fn sink() {
    comes_to(
        "sink.json",
        "sink",
        &json!({ "imported": 2, "clicks": 0 }),
        &[],
    );
}

#[test]
fn polr() {
    comes_to(
        "polr.csv",
        "polr",
        &json!({ "imported": 3, "clicks": 21 }),
        &[],
    );
}

#[test]
fn a_table_of_ones_own() {
    comes_to(
        "own.csv",
        "csv",
        &json!({ "imported": 2, "clicks": 5 }),
        &[],
    );
}

#[test]
fn a_code_that_cannot_be_had_is_replaced_if_asked_for() {
    let finished = dry_run("kutt.json", "kutt", &["--new-codes"]);
    assert!(
        finished.out.contains("new codes   1 link\n"),
        "{finished:?}"
    );
    assert!(
        finished.out.contains("refused     1 link\n"),
        "{finished:?}"
    );
}

#[test]
fn the_wrong_service_is_noticed() {
    let finished = dry_run("yourls.csv", "kutt", &[]);
    finished.fails(1, "line 1: the header line has no column `target`");
}
