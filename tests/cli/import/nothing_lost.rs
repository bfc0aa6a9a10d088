//! What a file has is imported, refused or named: nothing of it is lost without a word.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::gate::{Gate, Treatment};
use super::support::{Copy, all_links, import, own_link, table};
use crate::cli::support::{Person, Service, run};

#[test]
fn a_refused_row_keeps_every_cell_and_stays_refused_until_it_is_mended() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let link = own_link();
    let flags = link
        .iter()
        .filter(|(_, cell)| ["true", "false"].contains(&&**cell));
    let flags = flags.map(|(column, _)| (&**column, "no way"));
    let faults = [
        ("max_clicks", "5.0"),
        ("expires_at", "2099-13-45T00:00:00Z"),
        ("expires_at", "2099-12-01"),
        ("clicks", "-3"),
        ("title", "My\u{0}title"),
        ("row", "one more"),
    ];
    for (column, fault) in flags.chain(faults) {
        let (columns, mut cells): (Vec<_>, Vec<_>) = link.iter().cloned().unzip();
        match columns.iter().position(|name| name == column) {
            Some(at) => cells[at] = fault.to_owned(),
            None => cells.push(fault.to_owned()),
        }
        let file = table(&columns, &cells);
        let mut copy = Copy::with("links.csv", &file);
        // As often as it is imported, under whichever name.
        for from in ["csv", "shunt", "kutt", "csv"] {
            let refused = import(&ada, &copy.path, from, &[]);
            assert_eq!(
                (refused.code, refused.err.as_str()),
                (1, "shunt: 1 link was refused\n")
            );
            let list = copy.beside(".refused.csv");
            assert!(
                list[1].starts_with("2,") && list[1].contains(&format!("{column}: ")),
                "{list:?}"
            );
            for cell in &cells {
                let quoted = cell.replace('"', "\"\"");
                assert!(list[1].contains(&quoted), "{cell}: {list:?}");
            }
            copy = Copy::with("list.csv", list.join("\n").as_bytes());
        }
    }
    assert_eq!(all_links(&ada), Vec::<Value>::new());
}

#[test]
fn bytes_that_are_no_text_are_kept_in_the_list_and_refused_again() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let file = b"target_url,custom_code,title\nhttps://example.org/1,code-1,caf\xe9\nhttps://example.org/2,code-2,caf\xc3\xa9\n";
    let copy = Copy::with("links.csv", file);
    assert_eq!(import(&ada, &copy.path, "csv", &[]).code, 1);
    let list = fs::read(format!("{}.refused.csv", copy.path.display())).unwrap();
    assert!(
        list.windows(4).any(|bytes| bytes == b"caf\xe9"),
        "{}",
        String::from_utf8_lossy(&list)
    );
    let copy = Copy::with("list.csv", &list);
    assert_eq!(import(&ada, &copy.path, "shunt", &[]).code, 1);
    assert_eq!(all_links(&ada).len(), 1);
}

#[test]
fn what_would_be_more_open_stays_refused_in_the_list() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for (name, from, refused) in [("kutt.json", "kutt", 2), ("shlink.json", "shlink", 2)] {
        let copy = Copy::of(name);
        import(&ada, &copy.path, from, &[]);
        let list = Copy::with(
            "list.csv",
            copy.beside(".refused.csv").join("\n").as_bytes(),
        );
        let again = import(&ada, &list.path, "shunt", &["--json"]);
        let summary: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(
            (&summary["imported"], &summary["refused"]),
            (&json!(0), &json!(refused)),
            "{again:?}"
        );
    }
}

#[test]
fn a_quote_that_is_never_closed_is_named_and_the_import_goes_on_once_it_is_closed() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let table = "longUrl,shortCode,title\nhttps://example.org/1,shp-1,t1\nhttps://example.org/2,shp-2,\"open title\nhttps://example.org/3,shp-3,t3\n";
    let copy = Copy::with("links.csv", table.as_bytes());
    let broken = import(&ada, &copy.path, "shlink", &[]);
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(
        broken
            .err
            .contains("line 3: the quote that opens here is never closed"),
        "{broken:?}"
    );
    assert!(broken.err.contains("1 entries are done"), "{broken:?}");
    assert_eq!(all_links(&ada).len(), 1);
    fs::write(&copy.path, table.replace("open title", "open title\"")).unwrap();
    import(&ada, &copy.path, "shlink", &[]).succeeds();
    assert_eq!(all_links(&ada).len(), 3);
}

#[test]
fn the_tables_of_all_spreadsheets_are_read() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let table = |code: &str| {
        format!(
            "sep=;\r\nTarget_URL;custom_code;title\r\nhttps://example.org/1;{code};\"Eins; zwei für 5 €\"\r\nhttps://example.org/2;{code}-b\r\n"
        )
    };
    let utf_16 = |text: &str, bytes: fn(u16) -> [u8; 2]| {
        text.encode_utf16().flat_map(bytes).collect::<Vec<_>>()
    };
    let windows = |text: &str| {
        let byte = |character| match character {
            '€' => 0x80,
            other => u8::try_from(other).unwrap(),
        };
        text.chars().map(byte).collect::<Vec<_>>()
    };
    for (code, bytes) in [
        ("utf-8", table("utf-8").into_bytes()),
        ("mark", [b"\xef\xbb\xbf", table("mark").as_bytes()].concat()),
        ("windows", windows(&table("windows"))),
        (
            "utf-16",
            utf_16(&format!("\u{feff}{}", table("utf-16")), u16::to_le_bytes),
        ),
        (
            "utf-16b",
            utf_16(&format!("\u{feff}{}", table("utf-16b")), u16::to_be_bytes),
        ),
        ("no-mark", utf_16(&table("no-mark"), u16::to_le_bytes)),
    ] {
        let copy = Copy::with("links.csv", &bytes);
        let out = import(&ada, &copy.path, "csv", &[]).succeeds();
        assert_eq!(
            out.contains("was read as Windows-1252"),
            code == "windows",
            "{out}"
        );
        assert!(out.starts_with("imported    2 links\n"), "{code}: {out}");
        let link = ada.runs(&["show", "--json", code]).json();
        assert_eq!(link["title"], "Eins; zwei für 5 €", "{code}");
    }
}

#[test]
fn other_pages_and_what_is_left_behind_are_named() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let page = json!({ "shortUrls": {
        "data": [{ "shortCode": "pg-1", "longUrl": "https://example.org/1", "visitsCount": 2, "tags": [], "meta": {} }],
        "pagination": { "currentPage": 1, "pagesCount": 3, "itemsPerPage": 1, "totalItems": 40 },
    } });
    let copy = Copy::with("shlink.json", page.to_string().as_bytes());
    let out = import(&ada, &copy.path, "shlink", &[]).succeeds();
    assert!(
        out.contains("note        the export has 39 more links on pages"),
        "{out}"
    );

    let halves = json!({ "links": [{
        "link": "https://bit.ly/x1", "long_url": "https://example.org/1", "tags": ["Q1, 2024"],
        "custom_bitlinks": ["https://bit.ly/half-a", "https://brand.example/half-b"],
    }] });
    let copy = Copy::with("bitly.json", halves.to_string().as_bytes());
    let out = import(&ada, &copy.path, "bitly", &[]).succeeds();
    assert!(out.contains("Q1, 2024"), "{out}");
    let link = ada.runs(&["show", "--json", "half-a"]).json();
    assert_eq!(link["tags"], json!(["Q1 2024"]));
    assert_eq!(link["aliases"], json!(["half-b", "x1"]));
    let expected = [
        "line,short_code,what,value",
        "1,half-a,\"tag shortened: at most 50 characters, no commas\",\"Q1, 2024\"",
    ];
    assert_eq!(copy.beside(".left-behind.csv"), expected);
}

#[test]
fn json_of_another_shape_is_never_imported_as_nothing() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let named = json!({ "links": { "link_1": {
        "shorturl": "http://sho.example/ab1c", "url": "https://example.org/1", "title": "One", "clicks": "3",
    } } });
    let copy = Copy::with("yourls.json", named.to_string().as_bytes());
    let out = import(&ada, &copy.path, "yourls", &[]).succeeds();
    assert!(out.starts_with("imported    1 link\n"), "{out}");
    for (from, other) in [
        ("kutt", json!({ "data": { "items": [] } })),
        ("shlink", json!({ "shortUrls": { "rows": [1] } })),
        ("bitly", json!({ "links": "none" })),
        ("chhoto", json!({ "error": "no" })),
        ("yourls", json!({ "links": { "a": "b" } })),
    ] {
        let copy = Copy::with("other.json", other.to_string().as_bytes());
        let refused = import(&ada, &copy.path, from, &[]);
        assert_eq!(refused.code, 1, "{other}: {refused:?}");
    }
}

#[test]
fn starting_clicks_are_named_only_if_they_were_set() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", "https://example.org/1", "--code", "there-1"])
        .line();
    let table = "target_url,custom_code,clicks\nhttps://example.org/1,there-1,5\nhttps://example.org/2,new-2,7\n";
    let copy = Copy::with("links.csv", table.as_bytes());
    let out = import(&ada, &copy.path, "csv", &[]).succeeds();
    let expected = "imported    2 links, 1 of them already existed\n\
                    clicks      7 counted by the other service are the starting counts of these links\n\
                    note        1 link had more clicks at the other service; the counts here are unchanged\n";
    assert_eq!(out, expected);
    let again = import(&ada, &copy.path, "csv", &["--json"]);
    let summary: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(
        (&summary["already_there"], &summary["clicks"]),
        (&json!(2), &json!(0)),
        "{again:?}"
    );
}

#[test]
fn a_dry_run_looks_up_which_codes_are_taken_and_makes_nothing() {
    let service = Service::start();
    let (ada, bob) = (
        Person::registered(&service, "ada@example.org"),
        Person::registered(&service, "bob@example.org"),
    );
    bob.runs(&["shorten", "https://example.org/bob", "--code", "of-bob"])
        .line();
    ada.runs(&["shorten", "https://example.org/mine", "--code", "mine-1"])
        .line();
    let table = "target_url,custom_code\nhttps://example.org/1,of-bob\nhttps://example.org/mine,mine-1\nhttps://example.org/3,free-3\nhttps://example.org/4,\n";
    let copy = Copy::with("links.csv", table.as_bytes());
    let looked_at = import(&ada, &copy.path, "csv", &["--dry-run"]);
    assert_eq!(looked_at.code, 1, "{looked_at:?}");
    assert!(
        looked_at
            .out
            .starts_with("importable  3 links, 1 of them already existed\n"),
        "{looked_at:?}"
    );
    assert!(
        looked_at.err.contains("line 2: custom_code: is taken\n"),
        "{looked_at:?}"
    );
    assert_eq!((all_links(&ada).len(), copy.left()), (1, Vec::new()));
    let elsewhere = run(
        ada.command(&[
            "import",
            copy.path.to_str().unwrap(),
            "--from",
            "csv",
            "--dry-run",
        ])
        .env("SHUNT_URL", "http://127.0.0.1:9"),
        "",
    );
    assert!(
        elsewhere
            .out
            .contains("could not check which codes are taken: not logged in"),
        "{elsewhere:?}"
    );
}

#[test]
fn a_finished_import_that_is_repeated_makes_no_link_again() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let table = "target_url,title\nhttps://example.org/1,\nhttps://example.org/1,\nhttps://example.org/2,Two\n";
    let copy = Copy::with("links.csv", table.as_bytes());
    import(&ada, &copy.path, "csv", &[]).succeeds();
    let before = all_links(&ada);
    assert_eq!(before.len(), 3);
    let code = before[0]["short_code"].as_str().unwrap();
    ada.runs(&["edit", code, "--target", "https://example.org/elsewhere"])
        .succeeds();
    let out = import(&ada, &copy.path, "csv", &[]).succeeds();
    assert_eq!(out, "imported    3 links, 3 of them already existed\n");
    assert_eq!(all_links(&ada).len(), 3);
    // Another account gets links of its own.
    let bob = Person::registered(&service, "bob@example.org");
    import(&bob, &copy.path, "csv", &[]).succeeds();
    assert_eq!(all_links(&bob).len(), 3);
}

#[test]
fn requests_that_fail_together_wait_under_one_line() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let ada = Person::registered(&service, "ada@example.org");
    let table = (0..64).fold("target_url,custom_code\n".to_owned(), |table, row| {
        format!("{table}https://example.org/{row},code-{row}\n")
    });
    let copy = Copy::with("links.csv", table.as_bytes());
    import(&ada, &copy.path, "csv", &[]).succeeds();
    // All codes are there, so that eight look-ups run at once, and each of them is refused the first time.
    let gate = Gate::before(&service, &[Treatment::Pass]);
    gate.refuse_look_ups(8);
    let kept = fs::read_to_string(ada.token_file()).unwrap();
    let mut logins: Value = serde_json::from_str(&kept).unwrap();
    logins[&gate.url] = logins[&service.base].clone();
    fs::write(ada.token_file(), logins.to_string()).unwrap();
    let mut command = ada.command(&["import", copy.path.to_str().unwrap(), "--from", "csv"]);
    let finished = run(
        command.env("SHUNT_URL", &gate.url).stdout(Stdio::piped()),
        "",
    );
    assert_eq!(
        (finished.code, finished.err.as_str()),
        (0, "shunt: waiting 2 s: Busy\n"),
        "{finished:?}"
    );
}
