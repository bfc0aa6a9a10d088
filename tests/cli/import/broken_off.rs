//! Imports that are broken off: killed, refused for the moment, or cut off from the service.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::gate::{Gate, Treatment};
use super::support::{Copy, all_links, import};
use crate::cli::support::{Finished, Person, Service, run};

/// The same through a gate.
fn import_through(gate: &Gate, person: &Person, file: &Path) -> Finished {
    let mut command =
        person.command(&["import", file.to_str().unwrap(), "--from", "csv", "--json"]);
    run(command.env("SHUNT_URL", &gate.url), "")
}

/// A person whose login is kept for a gate, too.
fn registered_through(gate: &Gate, service: &Service, email: &str) -> Person {
    let ada = Person::registered(service, email);
    let kept = fs::read_to_string(ada.token_file()).unwrap();
    let mut logins: Value = serde_json::from_str(&kept).unwrap();
    logins[&gate.url] = logins[&service.base].clone();
    fs::write(ada.token_file(), logins.to_string()).unwrap();
    ada
}

/// A table of so many links; every hundredth cannot be imported, and every second has no code.
fn table(lines: usize) -> Vec<u8> {
    let mut table = "target_url,custom_code,clicks\n".to_owned();
    for line in 0..lines {
        let code = if line % 2 == 0 {
            format!("code-{line}")
        } else {
            String::new()
        };
        let scheme = if line % 100 == 99 { "ftp" } else { "https" };
        writeln!(table, "{scheme}://example.org/{line},{code},1").unwrap();
    }
    table.into_bytes()
}

const LINES: usize = 2_500;
const REFUSED: usize = LINES / 100;

/// Checks that the table is imported, each line once.
#[track_caller]
fn is_imported_once(person: &Person, copy: &Copy, summary: &str) {
    let summary: Value = serde_json::from_str(summary).unwrap();
    assert_eq!(summary["imported"], LINES - REFUSED, "{summary}");
    assert_eq!(summary["clicks"], LINES - REFUSED, "{summary}");
    assert_eq!(summary["refused"], REFUSED, "{summary}");
    let mut targets: Vec<_> = all_links(person)
        .iter()
        .map(|link| link["target_url"].to_string())
        .collect();
    targets.sort_unstable();
    assert_eq!(targets.len(), LINES - REFUSED);
    targets.dedup();
    assert_eq!(targets.len(), LINES - REFUSED, "no line is imported twice");
    let refused = copy.beside(".refused.csv");
    assert_eq!(refused.len(), 1 + REFUSED, "no line is listed twice");
    assert!(refused[1].starts_with("101,target_url: "), "{refused:?}");
    assert_eq!(copy.left(), ["table.csv.refused.csv"], "the import is done");
}

#[test]
fn an_import_that_is_killed_goes_on_where_it_was() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    // The second batch reaches the service, and the client is killed before it knows.
    let gate = Gate::before(&service, &[Treatment::Pass, Treatment::KeepWaiting]);
    let ada = registered_through(&gate, &service, "ada@example.org");
    let copy = Copy::with("table.csv", &table(LINES));
    let mut killed = ada
        .command(&["import", copy.path.to_str().unwrap(), "--from", "csv"])
        .env("SHUNT_URL", &gate.url)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    gate.wait_for(2);
    let at_once = import_through(&gate, &ada, &copy.path);
    at_once.fails(1, "is already being imported by another process");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(
        copy.left(),
        ["table.csv.refused.csv", "table.csv.shunt-import.json"]
    );
    let finished = import_through(&gate, &ada, &copy.path);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert_eq!(gate.treated(), 4, "the first batch is not sent again");
    is_imported_once(&ada, &copy, &finished.out);
}

#[test]
fn a_batch_whose_response_is_lost_is_sent_again() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let gate = Gate::before(&service, &[Treatment::LoseResponse]);
    let ada = registered_through(&gate, &service, "ada@example.org");
    let copy = Copy::with("table.csv", &table(LINES));
    let finished = import_through(&gate, &ada, &copy.path);
    assert!(finished.err.contains("waiting 2 s: "), "{finished:?}");
    is_imported_once(&ada, &copy, &finished.out);
}

#[test]
fn limits_and_a_busy_service_are_waited_for() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let gate = Gate::before(
        &service,
        &[
            Treatment::Refuse(
                "429 Too Many Requests",
                "retry-after: 2\r\n",
                "Too many requests",
            ),
            Treatment::Refuse(
                "503 Service Unavailable",
                "retry-after: 1\r\n",
                "The service is busy",
            ),
        ],
    );
    let ada = registered_through(&gate, &service, "ada@example.org");
    let copy = Copy::with("table.csv", &table(LINES));
    let finished = import_through(&gate, &ada, &copy.path);
    for note in [
        "shunt: waiting 2 s: Too many requests; try again in 2 s\n",
        "shunt: waiting 1 s: The service is busy; try again in 1 s\n",
    ] {
        assert!(finished.err.contains(note), "{finished:?}");
    }
    is_imported_once(&ada, &copy, &finished.out);
}

#[test]
fn a_service_that_stays_busy_is_given_up_and_the_import_goes_on_later() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let busy = Treatment::Refuse(
        "503 Service Unavailable",
        "retry-after: 0\r\n",
        "The service is busy",
    );
    let mut treatments = vec![Treatment::Pass];
    treatments.resize(15, busy);
    let gate = Gate::before(&service, &treatments);
    let ada = registered_through(&gate, &service, "ada@example.org");
    let copy = Copy::with("table.csv", &table(LINES));
    let given_up = import_through(&gate, &ada, &copy.path);
    assert_eq!(given_up.code, 5, "{given_up:?}");
    let note = "1000 entries are done; the same command goes on after them";
    assert!(given_up.err.contains(note), "{given_up:?}");
    let finished = import_through(&gate, &ada, &copy.path);
    is_imported_once(&ada, &copy, &finished.out);
}

#[test]
fn an_account_without_room_ends_the_import_until_there_is_room() {
    let service = Service::start_with(&[("LINKS_PER_ACCOUNT", "3")]);
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::with("table.csv", &table(5));
    let full = import(&ada, &copy.path, "csv", &[]);
    assert_eq!(full.code, 1, "{full:?}");
    assert!(full.err.contains("3 entries are done"), "{full:?}");
    assert!(full.err.contains("has the maximum of"), "{full:?}");
    ada.runs(&["rm", "code-0", "code-2"]).succeeds();
    let out = import(&ada, &copy.path, "csv", &[]).succeeds();
    assert!(out.starts_with("imported    5 links\n"), "{out}");
}

#[test]
fn an_import_goes_on_with_the_same_file_and_account_alone() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let lost = Treatment::Refuse("422 Unprocessable Content", "", "no such route");
    let gate = Gate::before(&service, &[Treatment::Pass, lost, lost]);
    let ada = registered_through(&gate, &service, "ada@example.org");
    let copy = Copy::with("table.csv", &table(LINES));
    assert_eq!(import_through(&gate, &ada, &copy.path).code, 1);
    let bob = registered_through(&gate, &service, "bob@example.org");
    let refused = import_through(&gate, &bob, &copy.path);
    refused.fails(1, "remove it to start again");

    let text = String::from_utf8(table(LINES)).unwrap();
    fs::write(&copy.path, text.replace("/7,", "/seven,")).unwrap();
    let refused = import_through(&gate, &ada, &copy.path);
    assert!(
        refused
            .err
            .contains("the file has changed before the point at which the import was interrupted"),
        "{refused:?}"
    );
    // An entry that is not done yet may be corrected.
    fs::write(&copy.path, text.replace("/2001,", "/corrected,")).unwrap();
    assert!(
        import_through(&gate, &ada, &copy.path)
            .err
            .contains("no such route")
    );
    let finished = import_through(&gate, &ada, &copy.path);
    is_imported_once(&ada, &copy, &finished.out);
}
