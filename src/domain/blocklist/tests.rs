use std::fmt::Write;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn list(text: &str) -> Blocklist {
    Blocklist::parse(text, "list".into()).unwrap()
}

fn blocks(list: &Blocklist, target: &str) -> bool {
    list.blocks(&TargetUrl::from_stored(target))
}

#[test]
fn hosts_tops_and_paths_are_blocked_in_all_spellings() {
    let list = list(
        "# a comment\n\nexample.org\r\n*.evil.example\nhttps://docs.example/forms/a\nfiles.example/x?id=1\nbücher.example\n",
    );
    for target in [
        "https://example.org/",
        "http://EXAMPLE.org:8080/a",
        "https://example.org./",
        "https://evil.example/",
        "https://a.b.evil.example/x",
        "https://docs.example/forms/a",
        "http://docs.example:81/forms/a/b?c",
        "https://docs.example/forms/%61/",
        "https://docs.example/forms/a?b",
        "https://docs.example/x/../forms/a#top",
        "https://files.example/x?id=1",
        "https://xn--bcher-kva.example/",
    ] {
        assert!(blocks(&list, target), "{target}");
    }
    for target in [
        "https://www.example.org/",
        "https://notevil.example/",
        "https://docs.example/",
        "https://docs.example/forms/ab",
        "https://files.example/x?id=12",
        "https://files.example/x",
    ] {
        assert!(!blocks(&list, target), "{target}");
    }
}

#[test]
fn exceptions_go_before_all_other_entries() {
    let list = list("*.example.org\n!good.example.org\n! example.org/docs\n");
    assert!(blocks(&list, "https://example.org/"));
    assert!(blocks(&list, "https://bad.example.org/"));
    assert!(!blocks(&list, "https://good.example.org/"));
    assert!(!blocks(&list, "https://example.org/docs/a"));
}

#[test]
fn no_shared_host_is_blocked_by_accident() {
    let refused = |line: &str| {
        let text = format!("example.org\n{line}\n");
        Blocklist::parse(&text, String::new()).unwrap_err()
    };
    for line in ["*.com", "*.co.uk", "*.github.io", "!*.com"] {
        let why = InvalidEntry::Host(InvalidHostPattern::PublicSuffix);
        assert_eq!(refused(line), InvalidBlocklist { line: 2, why }, "{line}");
    }
    for line in [
        "https://docs.example",
        "https://docs.example/",
        "docs.example/",
    ] {
        assert_eq!(refused(line).why, InvalidEntry::WholeHost, "{line}");
    }
    for line in [
        "docs.example:8080/a",
        "user@docs.example/a",
        "docs.example/a#b",
    ] {
        assert_eq!(refused(line).why, InvalidEntry::Port, "{line}");
    }
    for line in ["*", "a b", "*.example.org/a", "/path", "!"] {
        assert_eq!(
            refused(line).why,
            InvalidEntry::Host(InvalidHostPattern::NoHost),
            "{line}"
        );
    }
    assert_eq!(
        refused("*.com").to_string(),
        "line 2: must not be all of a public suffix, below which others have their names"
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}|[a-c*.!/?:@%# \n]{0,40}", target in "https?://[a-c.]{1,9}(/[a-c%?]{0,5}){0,3}") {
        if let Ok(list) = Blocklist::parse(&text, String::new()) {
            let blocked = blocks(&list, &target);
            prop_assert!(!blocked || list.entries() > 0);
        }
    }

    #[test]
    fn what_is_listed_is_blocked_and_what_is_excepted_is_not(host in "[a-c]{1,3}\\.example", path in "(/[a-c]{1,3}){1,3}", more in "(/[a-c]{1,3}){0,2}") {
        let entry = format!("{host}{path}");
        let target = format!("https://{host}{path}{more}");
        prop_assert!(blocks(&list(&entry), &target));
        prop_assert!(blocks(&list(&host), &target));
        let excepted = format!("{host}\n!{entry}");
        prop_assert!(!blocks(&list(&excepted), &target));
    }
}

/// `cargo test --release --lib a_check_of_a_million_lines -- --ignored --nocapture` prints it.
#[test]
#[ignore = "a measurement, in release mode"]
fn a_check_of_a_million_lines_takes_less_than_ten_microseconds() {
    const CHECKS: u32 = 100_000;
    let mut text = String::new();
    for n in 0..400_000 {
        let _ = writeln!(text, "host{n}.example");
        let _ = writeln!(text, "*.top{n}.example");
    }
    for n in 0..200_000 {
        let _ = writeln!(text, "https://docs.example/forms/{n}/view");
    }
    let started = Instant::now();
    let list = list(&text);
    let read = started.elapsed();
    let count =
        |of: &Entries| of.hosts.len() + of.tops.len() + of.prefixes.len() + of.lengths.len();
    let bytes = 8 * (count(&list.blocked) + count(&list.excepted));
    let targets: Vec<_> = (0..CHECKS)
        .map(|n| match n % 4 {
            0 => format!("https://www.some{n}.example.com/a/b/c?d=e"),
            1 => format!("https://docs.example/forms/{}/edit?a=b", n * 7),
            2 => format!("https://host{n}.example/"),
            _ => format!("https://a.b.c.top{n}.example/x"),
        })
        .map(|target| TargetUrl::from_stored(&target))
        .collect();
    let started = Instant::now();
    let blocked = targets.iter().filter(|target| list.blocks(target)).count();
    let each = started.elapsed() / CHECKS;
    println!(
        "{} entries, read in {read:?}, {} MB; a check takes {each:?}; {blocked} of {CHECKS} blocked",
        list.entries(),
        bytes / 1_000_000
    );
    assert_eq!(blocked, CHECKS as usize / 2);
    assert!(each.as_micros() < 10, "{each:?}");
}
