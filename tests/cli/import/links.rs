//! `shunt import` into a running service.

use std::fs;

use serde_json::json;

use super::formats::sample;
use super::support::{Copy, all_links, import, own_link};
use crate::cli::support::{Person, Service};

#[test]
fn links_keep_their_codes_their_clicks_and_all_their_fields() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::of("own.csv");
    let out = import(&ada, &copy.path, "csv", &[]).succeeds();
    assert_eq!(
        out,
        "imported    2 links\nclicks      5 counted by the other service are the starting counts of these links\n"
    );
    let link = ada.runs(&["show", "--json", "all-fields"]).json();
    for (name, value) in [
        ("target_url", "https://example.org/all".into()),
        ("expires_at", "2099-01-31T17:00:00Z".into()),
        ("max_clicks", 1_000.into()),
        ("title", "=Title".into()),
        ("tags", json!(["print", "2099"])),
        ("aliases", json!(["all-too", "ALL-2"])),
        ("clicks", 5.into()),
        ("is_active", false.into()),
    ] {
        assert_eq!(link[name], value, "{name}");
    }
    for (column, cell) in own_link() {
        if let Ok(flag) = cell.parse::<bool>() {
            assert_eq!(link[&column], flag, "{column}");
        }
    }
    assert_eq!(copy.left(), Vec::<String>::new());
}

#[test]
fn clicks_are_counted_on_from_those_of_the_other_service() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::of("kutt.csv");
    import(&ada, &copy.path, "kutt", &[]).succeeds();
    let short_url = format!("{}/spring-sale", service.base);
    assert!(
        service
            .follow(&short_url)
            .contains("https://example.org/sale?from=spring")
    );
    let stats = ada.runs(&["stats", "--json", "spring-sale"]).json();
    assert_eq!(stats["clicks"], 1_205);
}

#[test]
fn refused_links_are_listed_and_can_be_imported_when_they_are_corrected() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::of("yourls.csv");
    let finished = import(&ada, &copy.path, "yourls", &[]);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert_eq!(finished.err, "shunt: 1 link was refused\n");
    assert!(
        finished.out.contains("refused     1 link, listed in "),
        "{finished:?}"
    );
    let refused = copy.beside(".refused.csv");
    let own = own_link();
    let columns: Vec<_> = own.iter().map(|(column, _)| column.as_str()).collect();
    let columns = columns.join(",").replace("custom_code", "short_code");
    let header = format!("line,reason,{columns}");
    // A field that the other service does not have is that of a new link.
    let cells = own.iter().map(|(column, cell)| match column.as_str() {
        "target_url" => "https://example.org/ozh",
        "custom_code" => "my",
        "title" => "Ozh",
        "clicks" => "42",
        "is_active" => "true",
        _ if cell.parse::<bool>().is_ok() => "false",
        _ => "",
    });
    let cells: Vec<_> = cells.collect();
    let reason = "keyword: is a word that this service uses itself; choose another; --new-codes gives the link a new code";
    assert_eq!(refused, [header, format!("2,{reason},{}", cells.join(","))]);
    let corrected = Copy::with(
        "corrected.csv",
        refused.join("\n").replace(",my,", ",ozh-2019,").as_bytes(),
    );
    import(&ada, &corrected.path, "shunt", &[]).succeeds();
    // YOURLS counts its codes from 1 on.
    for (code, clicks) in [("ozh-2019", 42), ("1", 0), ("docs2019", 1_031)] {
        let link = ada.runs(&["show", "--json", code]).json();
        assert_eq!(link["clicks"], clicks, "{code}");
    }
    let followed = service.follow(&format!("{}/1", service.base));
    assert!(followed.contains("https://example.org/"), "{followed}");
}

#[test]
fn a_code_that_is_a_word_of_the_service_is_replaced_if_asked_for() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let file = fs::read_to_string(sample("chhoto.json")).unwrap();
    let copy = Copy::with("chhoto.json", file.replace("\"zz\"", "\"r\"").as_bytes());
    let out = import(&ada, &copy.path, "chhoto", &["--new-codes"]).succeeds();
    assert!(out.contains("new codes   1 link, listed in "), "{out}");
    let new = copy.beside(".new-codes.csv");
    let cells: Vec<_> = new[1].split(',').collect();
    assert_eq!(
        (cells[0], cells[1], cells[3]),
        ("3", "r", "https://example.org/zz")
    );
    assert_eq!(ada.runs(&["show", "--json", cells[2]]).json()["clicks"], 7);
}

#[test]
fn a_code_of_another_account_is_refused() {
    let service = Service::start();
    let bob = Person::registered(&service, "bob@example.org");
    bob.runs(&["shorten", "https://example.org/bob", "--code", "all-fields"])
        .line();
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::of("own.csv");
    import(&ada, &copy.path, "csv", &[]);
    assert!(copy.beside(".refused.csv")[1].starts_with("2,custom_code: is taken,"));
    assert_eq!(all_links(&ada).len(), 1);
}

#[test]
fn links_that_are_there_already_are_not_made_again() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::of("shlink.csv");
    import(&ada, &copy.path, "shlink", &[]).succeeds();
    let out = import(&ada, &copy.path, "shlink", &[]).succeeds();
    assert!(
        out.starts_with("imported    2 links, 2 of them already existed\n"),
        "{out}"
    );
    ada.runs(&["edit", "12C18", "--target", "https://example.org/elsewhere"])
        .succeeds();
    import(&ada, &copy.path, "shlink", &[]);
    let refused = copy.beside(".refused.csv");
    let why = "2,shortCode: is taken by your link to https://example.org/elsewhere,";
    assert!(refused[1].starts_with(why), "{refused:?}");
}

#[test]
fn an_export_is_imported_as_it_was() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    import(&ada, &Copy::of("own.csv").path, "csv", &[]).succeeds();
    for (code, title) in [
        ("formula", "=1+1"),
        ("apostrophe", "'=1"),
        ("space", " =1"),
        ("full-width", "＝1"),
        ("comma", "a,\"b\"; c"),
    ] {
        ada.runs(&[
            "shorten",
            "https://example.org/+1",
            "--code",
            code,
            "--title",
            title,
        ])
        .line();
    }
    let kept = |person: &Person| {
        let mut links = all_links(person);
        for link in &mut links {
            for name in ["id", "short_url", "created_at", "updated_at"] {
                link.as_object_mut().unwrap().remove(name);
            }
        }
        links.sort_by_key(|link| link["short_code"].to_string());
        links
    };
    for format in ["csv", "ndjson"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("links");
        let path = file.to_str().unwrap();
        ada.runs(&["export", "--secrets", "--format", format, "-o", path])
            .succeeds();
        let printed = ada
            .runs(&["export", "--secrets", "--format", format])
            .succeeds();
        assert_eq!(fs::read_to_string(&file).unwrap(), printed);
        let elsewhere = Service::start();
        let bob = Person::registered(&elsewhere, "bob@example.org");
        import(&bob, &file, "shunt", &[]).succeeds();
        assert_eq!(kept(&bob), kept(&ada), "{format}");
    }
}

#[test]
fn entries_before_one_that_cannot_be_read_are_imported() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let lines = "{\"target_url\": \"https://example.org/1\"}\n{\"target_url\": https}\n{\"target_url\": \"https://example.org/3\"}\n";
    let copy = Copy::with("links.ndjson", lines.as_bytes());
    let broken = import(&ada, &copy.path, "shunt", &[]);
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(
        broken
            .err
            .contains("line 2: is not valid JSON at column 16: a value is missing"),
        "{broken:?}"
    );
    assert_eq!(all_links(&ada).len(), 1);
    fs::write(
        &copy.path,
        lines.replace("https}", "\"https://example.org/2\"}"),
    )
    .unwrap();
    import(&ada, &copy.path, "shunt", &[]).succeeds();
    assert_eq!(all_links(&ada).len(), 3);
}

#[test]
fn a_refused_line_has_its_target_and_its_code_wherever_the_file_names_them() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let copy = Copy::of("kutt.json");
    assert_eq!(import(&ada, &copy.path, "kutt", &[]).code, 1);
    let refused = copy.beside(".refused.csv");
    let protected = "41,\"password: is protected by a password whose hash is missing, and here it would be open to everyone; \
                     export it with the hash, or leave the link out\",\
                     https://example.org/members,members,go.example.org,,,Members only,,false,,,,false,,,true,,,17,true";
    assert_eq!(refused[2], protected);

    let file = "target_url,custom_code,max_clicks,title\n\
                https://example.org/1,code-1,many,\n\
                https://example.org/2,code-2,,caf\u{0}\n\
                https://example.org/3,code-3,,three,more\n\
                ,code-4,,\n";
    let copy = Copy::with("links.csv", file.as_bytes());
    assert_eq!(import(&ada, &copy.path, "csv", &[]).code, 1);
    let refused = copy.beside(".refused.csv");
    let expected = [
        "2,max_clicks: must be a whole number from 1 to 9007199254740991,https://example.org/1,code-1,,,many,,,false,,,,false,,,false,,,0,true",
        "3,title: `caf\u{0}` has a NUL byte,https://example.org/2,code-2,,,,caf\u{0},,false,,,,false,,,false,,,0,true",
        "4,\"row: has 5 cells, but the header line has only 4\",https://example.org/3,code-3,,,,three,,false,,,,false,,,false,,,0,true,more",
        "5,target_url: must not be empty,,code-4,,,,,,false,,,,false,,,false,,,0,true",
    ];
    assert_eq!(refused[1..], expected);
}

#[test]
fn an_export_of_another_service_is_refused_and_nothing_is_imported() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for (name, from, format) in [
        ("kutt.json", "yourls", "an export of YOURLS"),
        ("kutt.json", "shlink", "an export of Shlink"),
        ("kutt.json", "bitly", "an export of Bitly"),
        ("kutt.json", "chhoto", "an export of Chhoto URL"),
        ("kutt.json", "shunt", "an export of shunt"),
        ("kutt.json", "csv", "a table with the names of the API"),
        ("kutt.csv", "yourls", "an export of YOURLS"),
        ("kutt.csv", "shlink", "an export of Shlink"),
        ("shlink.json", "bitly", "an export of Bitly"),
        ("shlink.json", "kutt", "an export of Kutt"),
        ("shlink.csv", "bitly", "an export of Bitly"),
        ("shlink-import.csv", "bitly", "an export of Bitly"),
        ("bitly.json", "shlink", "an export of Shlink"),
        ("bitly.csv", "kutt", "an export of Kutt"),
        ("yourls.csv", "kutt", "an export of Kutt"),
        ("yourls-plugin.csv", "kutt", "an export of Kutt"),
        ("yourls.csv", "csv", "a table with the names of the API"),
        ("chhoto.json", "bitly", "an export of Bitly"),
        ("own.csv", "shlink", "an export of Shlink"),
    ] {
        let copy = Copy::of(name);
        let refused = import(&ada, &copy.path, from, &[]);
        assert_eq!(refused.code, 1, "{name} as {from}: {refused:?}");
        let question = format!("is this {format}?");
        // Whoever says that a file is a table knows that: only its columns are named.
        let is_named = from == "csv" && refused.err.contains("is not known here");
        let said = if is_named || refused.err.contains(&question) {
            refused.err
        } else {
            copy.beside(".refused.csv").join("\n")
        };
        assert!(
            is_named || said.contains(&question),
            "{name} as {from}: {said}"
        );
    }
    assert_eq!(all_links(&ada).len(), 0);
}
