//! Accounts and links from a terminal.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::support::{PASSWORD, Person, Service, run, shunt};

const TARGET: &str = "https://example.org/a/long/path?with=a&query#and-more";

#[test]
fn a_person_registers_shortens_lists_reads_statistics_and_deletes() {
    let service = Service::start();
    let ada = Person::of(&service);
    let finished = ada.runs_with_input(&["register", "ada@example.org"], &format!("{PASSWORD}\n"));
    let base = &service.base;
    assert_eq!(
        finished.line(),
        format!("registered and logged in at {base} as ada@example.org")
    );

    let short_url = ada.runs(&["shorten", TARGET]).line();
    let code = short_url.strip_prefix(&format!("{base}/")).unwrap();
    for _ in 0..3 {
        let response = service.follow(&short_url);
        assert!(response.contains(TARGET), "{response}");
    }
    assert_eq!(
        ada.runs(&["list"]).succeeds(),
        format!(
            "{:width$}  CLICKS  TARGET\n{short_url}       3  {TARGET}\n",
            "SHORT URL",
            width = short_url.len()
        )
    );
    // Statistics need no account, and take a code or a link, also as some programs write it.
    for given in [code, &short_url, &format!("{short_url}/")] {
        assert_eq!(
            Person::of(&service).runs(&["stats", given]).succeeds(),
            format!("code    {code}\ntarget  {TARGET}\nclicks  3\n")
        );
    }
    assert_eq!(
        ada.runs(&["rm", &short_url]).line(),
        format!("deleted {code}")
    );
    assert_eq!(ada.runs(&["list"]).line(), "SHORT URL  CLICKS  TARGET");
    let unknown = format!("{code}: URL not found");
    ada.runs(&["stats", code]).fails(4, &unknown);
    ada.runs(&["rm", code]).fails(4, &unknown);
    assert!(service.follow(&short_url).starts_with("HTTP/1.1 404"));
}

#[test]
fn statistics_of_a_link_whose_target_is_hidden_are_shown() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", TARGET, "--code", "later-on", "--start", "2d"])
        .line();
    let shown = ada.runs(&["stats", "later-on"]).succeeds();
    assert!(shown.contains("target  (hidden)"), "{shown}");
    let stats = ada.runs(&["stats", "--json", "later-on"]).json();
    assert_eq!(stats["target_url"], Value::Null);
}

#[test]
fn results_and_errors_are_json_with_json() {
    let service = Service::start();
    let ada = Person::of(&service);
    let finished = ada.runs_with_input(&["register", "ada@example.org", "--json"], PASSWORD);
    let finished = finished.json();
    assert_eq!(finished["url"], *service.base);
    assert_eq!(finished["email"], "ada@example.org");
    assert_eq!(finished["token_file"], *ada.token_file().to_str().unwrap());

    let made = ada.runs(&["shorten", "--json", TARGET]).json();
    let code = made["short_code"].as_str().unwrap();
    assert_eq!(made["short_url"], format!("{}/{code}", service.base));
    assert_eq!(made["target_url"], TARGET);
    assert_eq!(
        ada.runs(&["list", "--json"]).json(),
        Value::Array(vec![made.clone()])
    );
    let stats = ada.runs(&["stats", "--json", code]).json();
    assert_eq!((&stats["clicks"], &stats["total"]), (&0.into(), &0.into()));
    let breakdowns = stats["breakdowns"].as_array().unwrap().iter();
    let by: Vec<_> = breakdowns.map(|breakdown| &breakdown["by"]).collect();
    assert_eq!(
        by,
        [
            "referrer", "country", "browser", "os", "device", "rule", "bot"
        ]
    );
    assert_eq!(ada.runs(&["rm", "--json", code]).json()["deleted"], true);
    assert_eq!(ada.runs(&["list", "--json"]).json(), Value::Array(vec![]));

    let deleted = ada.runs(&["list", "--deleted", "--json"]).json();
    assert_eq!(deleted[0]["short_code"], code);
    let restored = ada.runs(&["rm", "--undo", "--json", code]).json();
    assert_eq!(restored["restored"], true);
    assert_eq!(ada.runs(&["list", "--json"]).json()[0]["short_code"], code);
    ada.runs(&["rm", code]).succeeds();
    let ended = ada.runs(&["rm", "--for-good", "--json", code]).json();
    assert_eq!(ended["deleted"], true);
    ada.runs(&["rm", "--for-good", code])
        .fails(4, "URL not found");
    ada.runs(&["rm", "--undo", code]).fails(4, "URL not found");

    let failed = ada.runs(&["rm", "--json", code]);
    failed.fails(4, "URL not found");
    let error: Value = serde_json::from_str(&failed.err).unwrap();
    assert_eq!(error["exit_code"], 4);
}

#[test]
fn a_long_list_has_each_link_once_newest_first() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let mut made: Vec<String> = (0..230)
        .map(|n| {
            let target = format!("https://example.org/{n}");
            ada.runs(&["shorten", &target]).line()
        })
        .collect();
    made.reverse();
    let listed = ada.runs(&["list"]).succeeds();
    let listed: Vec<String> = listed
        .lines()
        .skip(1)
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(listed, made);
    let distinct: HashSet<_> = listed.iter().collect();
    assert_eq!(distinct.len(), 230);
    let all = ada.runs(&["list", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 230);
    for limit in [0, 1, 100, 101, 229] {
        let some = ada
            .runs(&["list", "--json", "-n", &limit.to_string()])
            .json();
        assert_eq!(some.as_array().unwrap().len(), limit);
    }
}

/// Runs a command whose output is closed; it succeeds.
#[track_caller]
fn succeeds_unread(command: &mut Command) {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn a_list_whose_reader_stops_early_is_no_error() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", TARGET]).line();
    succeeds_unread(&mut ada.command(&["list"]));
}

#[test]
fn all_links_are_deleted_although_the_output_is_closed() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let links: Vec<_> = (0..4)
        .map(|_| ada.runs(&["shorten", TARGET]).line())
        .collect();
    let mut arguments = vec!["rm"];
    arguments.extend(links.iter().map(String::as_str));
    // One link is named twice.
    arguments.push(&links[0]);
    succeeds_unread(&mut ada.command(&arguments));
    assert_eq!(
        ada.runs(&["list", "--json"])
            .json()
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn no_account_is_created_whose_token_could_not_be_kept() {
    let service = Service::start();
    let register = |home: &Path| {
        let mut command = shunt();
        command.args(["register", "ada@example.org", "--server", &service.base]);
        run(command.env("HOME", home), PASSWORD)
    };
    let nowhere = register(Path::new("/proc"));
    assert_eq!(nowhere.code, 1, "{nowhere:?}");
    let home = tempfile::tempdir().unwrap();
    let then = register(home.path());
    assert_eq!(then.code, 0, "{then:?}");
}

#[test]
fn an_error_that_cannot_be_printed_has_its_exit_code() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = shunt();
    let status = command.args(["stats", "x", "--server", "http://127.0.0.1:1"]);
    let status = status.stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(5));
}

#[test]
fn the_token_is_kept_for_each_service_and_for_its_owner_only() {
    let (one, other) = (Service::start(), Service::start());
    let ada = Person::registered(&one, "ada@example.org");
    let elsewhere = ["--server", &other.base];
    ada.runs(&["list", elsewhere[0], elsewhere[1]])
        .fails(3, "shunt login");
    let register = ["register", "ada@example.com", elsewhere[0], elsewhere[1]];
    ada.runs_with_input(&register, PASSWORD).succeeds();
    ada.runs(&["list", elsewhere[0], elsewhere[1]]).succeeds();
    ada.runs(&["list"]).succeeds();

    let path = ada.token_file();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.as_path()), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept.as_object().unwrap().len(), 2);
    assert!(
        !kept.to_string().contains(PASSWORD),
        "passwords are not kept"
    );

    let moved = tempfile::tempdir().unwrap();
    let mut login = ada.command(&["login", "ada@example.org"]);
    run(login.env("XDG_CONFIG_HOME", moved.path()), PASSWORD).succeeds();
    assert_eq!(mode(&moved.path().join("shunt/token.json")), 0o600);
}

#[test]
fn a_wrong_missing_or_expired_login_has_its_own_exit_code() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs_with_input(&["login", "ada@example.org"], "wrong password")
        .fails(3, "Incorrect email or password");
    ada.runs_with_input(&["register", "ada@example.org"], PASSWORD)
        .fails(1, "Email already registered");
    ada.runs_with_input(&["register", "bob@example.org"], "short")
        .fails(1, "password");
    ada.runs_with_input(&["login", "ada@example.org"], "short")
        .fails(3, "Incorrect email or password");
    ada.runs(&["login", "ada@example.org"])
        .fails(2, "no password");
    ada.runs(&["list"]).succeeds();

    Person::of(&service)
        .runs(&["list"])
        .fails(3, "not logged in");
    let kept = fs::read_to_string(ada.token_file()).unwrap();
    fs::write(ada.token_file(), kept.replace("eyJ", "eyK")).unwrap();
    ada.runs(&["list"]).fails(
        3,
        "(the token is malformed, or was not issued by this service); run `shunt login",
    );
    fs::write(ada.token_file(), "{").unwrap();
    ada.runs(&["list"]).fails(1, "token.json is malformed");
}

#[test]
fn each_kind_of_error_has_its_message_and_exit_code() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", "ftp://example.org"])
        .fails(1, "target_url");
    ada.runs(&["shorten", &service.base]).fails(1, "target_url");
    ada.runs(&["stats", "nothing"]).fails(4, "nothing: ");
    ada.runs(&["stats", "a/b"])
        .fails(2, "neither a short code nor a short link");
    ada.runs(&["stats", "https://example.org/abc"])
        .fails(2, "neither");
    let bob = Person::registered(&service, "bob@example.org");
    let adas = ada.runs(&["shorten", TARGET]).line();
    bob.runs(&["rm", &adas]).fails(4, "URL not found");
    // A typing error deletes nothing.
    ada.runs(&["rm", &adas, "a/b"]).fails(2, "a/b");
    ada.runs(&["stats", &adas]).succeeds();

    let absent = ["stats", "abc", "--server", "http://127.0.0.1:1"];
    ada.runs(&absent)
        .fails(5, "http://127.0.0.1:1 cannot be reached");
    let misuse = ada.runs(&["stats", "abc", "--server", "ftp://sho.rt"]);
    assert_eq!(misuse.code, 2, "{misuse:?}");
    assert!(misuse.err.contains("--server"), "{misuse:?}");
    let misuse = ada.runs(&["stats", "abc", "--server", "http://me:s3cret@sho.rt"]);
    assert_eq!(misuse.code, 2, "{misuse:?}");
    assert!(
        misuse.err.contains("must be without a user name"),
        "{misuse:?}"
    );
    assert!(!misuse.err.contains("s3cret"), "{misuse:?}");
}

/// U+202E shows what follows from right to left: a target could look like another one.
#[test]
fn characters_that_hide_or_reorder_text_are_shown_as_what_they_are() {
    const DECEPTIVE: [char; 8] = [
        '\u{202e}', '\u{202a}', '\u{2066}', '\u{2069}', '\u{200f}', '\u{61c}', '\u{200b}',
        '\u{2028}',
    ];
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    for character in DECEPTIVE {
        let target = format!("https://example.org/{character}gpj.exe");
        let code = ada.runs(&["shorten", &target]).line();
        let escaped = format!(
            "https://example.org/\\u{{{:x}}}gpj.exe",
            u32::from(character)
        );
        for line in [&["stats", &code][..], &["list", "-n", "1"]] {
            let shown = ada.runs(line).succeeds();
            assert!(!shown.contains(character), "{line:?}: {shown:?}");
            assert!(shown.contains(&escaped), "{line:?}: {shown:?}");
        }
        for line in [
            &["stats", "--json", &code][..],
            &["list", "--json", "-n", "1"],
        ] {
            let shown = ada.runs(line).succeeds();
            assert!(!shown.contains(character), "{line:?}: {shown:?}");
            assert!(
                shown.contains(&format!("\\u{:04x}", u32::from(character))),
                "{shown:?}"
            );
            let read: Value = serde_json::from_str(&shown).unwrap();
            let link = read.as_array().map_or(&read, |links| &links[0]);
            assert_eq!(
                link["target_url"], target,
                "machines read the target unchanged"
            );
        }
    }
}
