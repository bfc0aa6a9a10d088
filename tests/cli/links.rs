//! Links with all their fields, from a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::support::{Finished, Person, Service, eventually, run};
use crate::support::links;

const TARGET: &str = "https://example.org/a";

/// Lines of an output.
fn lines(out: &str) -> Vec<&str> {
    out.lines().collect()
}

impl Finished {
    /// Checks that it succeeded with one note on standard error; returns its output.
    #[track_caller]
    fn succeeds_with_note(&self, note: &str) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.err, format!("shunt: {note}\n"));
        self.out.trim_end()
    }
}

#[test]
fn a_link_is_made_with_all_its_fields_and_shown() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let line = [
        "shorten",
        TARGET,
        "--code",
        "spring-sale",
        "--expiry",
        "2099-01-31T18:00:00+01:00",
        "--max-clicks",
        "1000",
        "--title",
        "Spring sale",
        "--tag",
        "print,sale",
        "--tag",
        "2099",
        "--forward-query",
        "--note",
        "Printed\nin May",
        "--noindex",
    ];
    let short_url = format!("{}/spring-sale", service.base);
    assert_eq!(ada.runs(&line).line(), short_url);
    let shown = ada.runs(&["show", "spring-sale"]).succeeds();
    let shown: Vec<&str> = lines(&shown)
        .into_iter()
        .filter(|line| !line.starts_with("created"))
        .collect();
    let expected = [
        &format!("short URL  {short_url}"),
        "target     https://example.org/a",
        "title      Spring sale",
        "tags       print, sale, 2099",
        "clicks     0 of 1000",
        "status     active",
        "expires    2099-01-31T17:00:00Z",
        "query      a visit's query is added to the target",
        "robots     search engines are asked not to list it",
        "note       Printed",
        "           in May",
    ];
    assert_eq!(shown, expected);
    let shown = ada.runs(&["show", "--json", &short_url]).json();
    assert_eq!(shown["tags"], json!(["print", "sale", "2099"]));
    ada.runs(&["shorten", TARGET, "--code", "spring-sale"])
        .fails(1, "custom_code: is taken");
    ada.runs(&["shorten", TARGET, "--expiry", "soon"]);
    let wrong = ada.runs(&["shorten", TARGET, "--expiry", "soon"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn an_edit_changes_what_is_named_and_takes_values_away() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let code = "spring-sale";
    ada.runs(&[&["shorten", TARGET, "--code", code], &links::ARGUMENTS[..]].concat())
        .line();
    let edited = |line: &[&str]| ada.runs(&[&["edit", "--json", code], line].concat()).json();
    let before = ada.runs(&["show", "--json", code]).json();
    let titled = edited(&["--title", "Spring sale"]);
    assert_eq!(titled["title"], "Spring sale");
    let kept = before.as_object().unwrap().iter();
    for (same, value) in kept.filter(|(name, _)| !["title", "updated_at"].contains(&name.as_str()))
    {
        assert_eq!(titled[same], *value, "{same}");
    }
    let plain = ada.runs(&["shorten", "--json", TARGET]).json();
    let bare = edited(&links::NO_ARGUMENTS);
    for (name, _) in links::fields() {
        assert_ne!(before[name], plain[name], "{name}");
        assert_eq!(bare[name], plain[name], "{name}");
    }
    assert_eq!(edited(&["--inactive"])["status"], "inactive");
    let text = ada
        .runs(&[
            "edit",
            code,
            "--active",
            "--target",
            "https://example.org/b",
        ])
        .succeeds();
    assert!(
        text.contains("target     https://example.org/b\n"),
        "{text}"
    );
    assert!(text.contains("status     active\n"), "{text}");
    ada.runs(&["edit", code]).fails(2, "nothing to change");
    ada.runs(&["edit", "nothing", "--title", "x"])
        .fails(4, "nothing: URL not found");
    let both = ada.runs(&["edit", code, "--title", "x", "--no-title"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn several_targets_are_shortened_from_the_line_and_from_standard_input() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let input = "https://example.org/2\n\n  https://example.org/3\r\n";
    let made = ada
        .runs_with_input(&["shorten", "https://example.org/1", "-"], input)
        .succeeds();
    let targets: Vec<Value> = lines(&made)
        .into_iter()
        .map(|url| ada.runs(&["show", "--json", url]).json()["target_url"].take())
        .collect();
    let expected = [
        "https://example.org/1",
        "https://example.org/2",
        "https://example.org/3",
    ];
    assert_eq!(targets, expected);
    ada.runs(&["shorten", TARGET, TARGET, "--code", "both"])
        .fails(2, "--code is for one link");
}

#[test]
fn a_target_that_is_refused_stops_no_other() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let made = ada.runs(&[
        "shorten",
        "https://example.org/1",
        "ftp://example.org",
        "https://example.org/3",
    ]);
    assert_eq!(made.code, 1, "{made:?}");
    assert_eq!(lines(&made.out).len(), 2, "{made:?}");
    assert_eq!(lines(&made.err).len(), 1, "{made:?}");
    assert!(
        made.err.starts_with("shunt: ftp://example.org: target_url"),
        "{made:?}"
    );
}

#[test]
fn a_limit_ends_a_list_of_targets_and_the_first_that_is_left_is_named() {
    let service = Service::start_with(&[("LIMIT_CREATE", "2")]);
    let ada = Person::registered(&service, "ada@example.org");
    let targets = (1..=4).map(|number| format!("https://example.org/{number}\n"));
    let made = ada.runs_with_input(&["shorten", "-"], &targets.collect::<String>());
    assert_eq!(made.code, 5, "{made:?}");
    assert_eq!(made.out.lines().count(), 2, "{made:?}");
    let left = "shunt: https://example.org/3 and all after it: Too many requests";
    assert!(made.err.starts_with(left), "{made:?}");
}

#[test]
fn a_missing_scheme_is_added_and_said() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let made = ada.runs(&["shorten", "example.org/x"]);
    let short_url = made.succeeds_with_note("https:// was added: https://example.org/x");
    let shown = ada.runs(&["show", "--json", short_url]).json();
    assert_eq!(shown["target_url"], "https://example.org/x");
    let stats = ada.runs(&["stats", short_url, "--server", service.address()]);
    let note = format!(
        "the address of the service has no scheme; using {}",
        service.base
    );
    stats.succeeds_with_note(&note);
}

#[test]
fn short_urls_are_those_of_the_service_and_are_taken_for_codes() {
    let service = Service::start_with(&[("BASE_URL", "https://sho.rt")]);
    let ada = Person::registered(&service, "ada@example.org");
    let short_url = ada.runs(&["shorten", TARGET]).line();
    assert!(short_url.starts_with("https://sho.rt/"), "{short_url}");
    let code = short_url.rsplit('/').next().unwrap();
    for given in [
        code,
        &short_url,
        &short_url["https://".len()..],
        &format!("{}/{code}", service.base),
    ] {
        let shown = ada.runs(&["show", "--json", given]).json();
        assert_eq!(shown["short_url"], *short_url, "{given}");
    }
    // The code of this link below the address of another service is no link of this one.
    let elsewhere = format!("https://other.example/{code}");
    ada.runs(&["rm", &elsewhere])
        .fails(2, "neither a short code nor a short link");
    ada.runs(&["show", code]).succeeds();
}

#[test]
fn a_link_that_cannot_be_deleted_stops_no_other() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let (one, other) = (
        ada.runs(&["shorten", TARGET]).line(),
        ada.runs(&["shorten", TARGET]).line(),
    );
    let deleted = ada.runs(&["rm", &one, "absent", &other]);
    assert_eq!(deleted.code, 4, "{deleted:?}");
    assert_eq!(deleted.err, "shunt: absent: URL not found\n");
    assert_eq!(lines(&deleted.out).len(), 2, "{deleted:?}");
    for gone in [one, other] {
        ada.runs(&["show", &gone]).fails(4, "URL not found");
    }
}

#[test]
fn a_link_is_opened_in_the_browser() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let short_url = ada.runs(&["shorten", TARGET]).line();
    let programs = tempfile::tempdir().unwrap();
    let opened = programs.path().join("opened");
    let browser = programs.path().join("xdg-open");
    fs::write(
        &browser,
        format!(
            "#!/bin/sh\nprintf %s \"$1\" > {0}.new; mv {0}.new {0}\n",
            opened.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let code = short_url.rsplit('/').next().unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    run(ada.command(&["open", code]).env("PATH", path), "").succeeds();
    eventually(Duration::from_secs(30), || {
        fs::read_to_string(&opened).is_ok_and(|url| url == short_url)
    });
    ada.runs(&["open", "absent"])
        .fails(4, "absent: URL not found");
}

#[test]
fn a_service_that_does_not_answer_in_time_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let service = Service::start();
    let ada = Person::of(&service);
    let url = format!("http://{}", silent.local_addr().unwrap());
    ada.runs(&["stats", "code", "--server", &url, "--timeout", "1"])
        .fails(5, "no answer in time");
}

/// The text of a QR code in an image.
fn scanned(png: &Path) -> String {
    let read = Command::new("zbarimg")
        .args(["--quiet", "--raw"])
        .arg(png)
        .output()
        .unwrap();
    String::from_utf8(read.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

#[test]
fn the_list_is_searched_and_sorted() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for (code, more) in [
        ("spring-sale", &["--tag", "print", "--title", "Sale"][..]),
        ("summer-sale", &["--tag", "print,web"]),
        ("autumn-news", &["--title", "News"]),
    ] {
        ada.runs(&[&["shorten", TARGET, "--code", code], more].concat())
            .line();
    }
    service.follow(&format!("{}/summer-sale", service.base));
    ada.runs(&["edit", "autumn-news", "--inactive"]).succeeds();
    let codes = |line: &[&str]| {
        let listed = ada.runs(&[&["list", "--json"], line].concat()).json();
        let codes = listed.as_array().unwrap().iter();
        codes
            .map(|link| link["short_code"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for (line, expected) in [
        (&[][..], &["autumn-news", "summer-sale", "spring-sale"][..]),
        (&["--q", "SALE"], &["summer-sale", "spring-sale"]),
        (&["--tag", "web"], &["summer-sale"]),
        (&["--status", "inactive"], &["autumn-news"]),
        (&["--sort", "created_at", "--limit", "1"], &["spring-sale"]),
        (&["--q", "sale", "--tag", "web", "--status", "used_up"], &[]),
    ] {
        assert_eq!(codes(line), expected, "{line:?}");
    }
    let table = ada.runs(&["list"]).succeeds();
    assert!(
        table.contains("https://example.org/a  (inactive)\n"),
        "{table}"
    );
}

#[test]
fn a_qr_code_is_written_as_an_image() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let short_url = ada.runs(&["shorten", TARGET]).line();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let write = |name: &str| {
        Person::of(&service).runs(&["qr", &short_url, "-o", file(name).to_str().unwrap()])
    };
    assert_eq!(write("code.png").succeeds(), "");
    assert_eq!(scanned(&file("code.png")), short_url);
    write("code.svg").succeeds();
    assert!(
        fs::read_to_string(file("code.svg"))
            .unwrap()
            .starts_with("<svg")
    );
    write("code.gif").fails(2, "must end in .svg or .png");
    ada.runs(&["qr", "absent"])
        .fails(4, "absent: URL not found");
}

#[test]
fn a_qr_code_is_drawn_in_half_blocks() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let short_url = ada.runs(&["shorten", TARGET]).line();
    let drawn = ada.runs(&["qr", &short_url]).succeeds();
    // A portable grey map of it, for a scanner: dark modules are 0.
    let lines: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
    let (width, height) = (lines[0].len(), 2 * lines.len());
    let rows = lines.iter().flat_map(|line| {
        ["█▀", "█▄"].map(|light| {
            let row = line
                .iter()
                .map(|block| u8::from(light.contains(*block)) * 255);
            row.flat_map(|module| [module; 4])
                .collect::<Vec<u8>>()
                .repeat(4)
        })
    });
    let mut image = format!("P5 {} {} 255\n", 4 * width, 4 * height).into_bytes();
    image.extend(rows.flatten());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.pgm");
    fs::write(&file, image).unwrap();
    assert_eq!(scanned(&file), short_url);
}
