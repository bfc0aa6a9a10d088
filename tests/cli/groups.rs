//! Groups from a terminal.

use serde_json::json;

use crate::cli::support::{Person, Service};

#[test]
fn groups_are_made_filled_and_act() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let bob = Person::registered(&service, "bob@example.org");
    let made = ada.runs(&["groups", "new", "Marketing", "--json"]).json();
    let group = made["id"].to_string();
    let added = ada.runs(&[
        "groups",
        "add",
        &group,
        "bob@example.org",
        "--role",
        "editor",
    ]);
    assert_eq!(added.line(), "bob@example.org is editor now");
    let members = ada.runs(&["groups", "members", &group]);
    assert_eq!(
        members.out,
        "ROLE    E-MAIL\nowner   ada@example.org\neditor  bob@example.org\n"
    );
    let shared = [
        "shorten",
        "https://example.org/a",
        "--code",
        "shared",
        "--group",
        &group,
    ];
    bob.runs(&shared).succeeds();
    let list = ada.runs(&["list", "--group", &group, "--json"]).json();
    assert_eq!(list[0]["short_code"], "shared", "{list}");
    assert_eq!(bob.runs(&["list", "--json"]).json(), json!([]));
    let taken = bob.runs(&["groups", "move", "me", "shared", "--group", &group]);
    assert_eq!(taken.line(), "moved shared");
    assert_eq!(
        bob.runs(&["groups", "move", &group, "shared"]).line(),
        "moved shared"
    );
    let removed = ada.runs(&["groups", "rm", &group, "bob@example.org"]);
    assert_eq!(removed.line(), "removed bob@example.org");
    bob.runs(&["list", "--group", &group])
        .fails(4, "Group not found");
    bob.runs(&["groups", "members", &group])
        .fails(4, "Group not found");
    assert_eq!(bob.runs(&["groups", "list", "--json"]).json(), json!([]));
    let listed = ada.runs(&["groups", "list"]);
    let width = group.len().max(2);
    assert_eq!(
        listed.out,
        format!(
            "{:width$}  ROLE   MEMBERS  NAME\n{group:width$}  owner  1        Marketing\n",
            "ID"
        )
    );
}
