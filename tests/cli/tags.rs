//! Tags from a terminal.

use serde_json::json;

use crate::cli::support::{Person, Service};

const TARGET: &str = "https://example.org/a";

#[test]
fn tags_are_listed_renamed_and_taken_off() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for tags in ["old", "old,a/b"] {
        let code = ada.runs(&["shorten", TARGET, "--tag", tags]);
        code.succeeds();
    }
    let tag = |tag: &str, links: u64| json!({"tag": tag, "links": links, "clicks": 0});
    assert_eq!(
        ada.runs(&["tags", "--json"]).json(),
        json!([tag("a/b", 1), tag("old", 2)])
    );
    let listed = ada.runs(&["tags"]);
    assert_eq!(
        listed.out,
        "LINKS  CLICKS  TAG\n    1       0  a/b\n    2       0  old\n"
    );
    assert_eq!(
        ada.runs(&["tags", "rename", "old", "new"]).line(),
        "renamed old to new, which 2 links have"
    );
    let merged = ada.runs(&["tags", "rename", "a/b", "new", "--json"]);
    assert_eq!(merged.json(), tag("new", 2));
    let unsure = ada.runs(&["tags", "rm", "new"]);
    unsure.fails(2, "say so with --yes");
    assert_eq!(
        ada.runs(&["tags", "rm", "new", "--yes"]).line(),
        "deleted new"
    );
    ada.runs(&["tags", "rm", "new", "--yes"])
        .fails(4, "new: no link has this tag");
    ada.runs(&["tags", "rename", "a", "b"])
        .fails(4, "a: no link has this tag");
    let refused = ada.runs(&["tags", "rename", "a", "b,c", "--json"]);
    refused.fails(1, "tags: must not contain commas");
    assert_eq!(ada.runs(&["tags", "--json"]).json(), json!([]));
}
