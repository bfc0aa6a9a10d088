//! Pools from a terminal.

use std::fs;

use serde_json::json;

use crate::cli::support::{Person, Service};

const TARGET: &str = "https://example.org/a";

#[test]
fn targets_of_a_pool_are_added_shown_and_taken_away() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", TARGET, "--code", "coupons"])
        .succeeds();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("targets");
    fs::write(&file, "https://example.org/1\nhttps://example.org/2\n").unwrap();
    let added = ada.runs(&["pool", "add", "coupons", file.to_str().unwrap()]);
    assert_eq!(added.line(), "2 left, 0 given");
    let more = ada.runs_with_input(
        &["pool", "add", "coupons", "-", "--json"],
        "https://example.org/3\n",
    );
    assert_eq!(more.json(), json!({"left": 3, "given": 0}));
    let refused = ada.runs_with_input(&["pool", "add", "coupons", "-"], "example.org\n");
    assert!(
        refused.err.contains("line 1: must be an absolute"),
        "{refused:?}"
    );
    assert_eq!(
        ada.runs(&["pool", "empty", "coupons"]).line(),
        "emptied coupons"
    );
    assert_eq!(
        ada.runs(&["pool", "show", "coupons"]).line(),
        "0 left, 0 given"
    );
    assert_eq!(ada.runs(&["pool", "empty", "coupons", "--end"]).code, 0);
    assert_eq!(ada.runs(&["pool", "show", "coupon"]).code, 4);
    let missing = ada.runs(&["pool", "add", "coupons", "no-such-file"]);
    assert!(
        missing
            .err
            .contains("no-such-file cannot be read: no such file"),
        "{missing:?}"
    );
}
