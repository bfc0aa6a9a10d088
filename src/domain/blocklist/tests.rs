use std::fmt::Write;
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::domain::embedded_address::tests::{carried_in, written_as};

fn list(text: &str) -> Blocklist {
    Blocklist::parse(text, "list".into()).unwrap()
}

fn blocks(list: &Blocklist, target: &str) -> bool {
    list.blocks(target)
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
        "https://files.example/x?id=1&utm=mail#top",
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
        "line 2: must not be a public suffix, such as co.uk: the hosts of many owners end in it"
    );
}

#[test]
fn a_path_has_one_spelling() {
    let list = list("docs.example/a/bad/\nother.example/a;b/c\n");
    for target in [
        "https://docs.example/a/bad",
        "https://docs.example/a/bad/",
        "https://docs.example//a//bad",
        "https://docs.example/a/bad//x",
        "https://docs.example/a/./bad",
        "https://docs.example/a/x/../bad",
        "https://docs.example/a/x/%2e%2E/bad",
        "https://docs.example/a/x%2f..%2fbad",
        "https://docs.example/a%2fbad",
        "https://docs.example/a%5Cbad",
        "https://docs.example/%61/b%61d",
        "https://docs.example/a/bad;x=1",
        "https://docs.example/a;v=2/bad",
        "https://docs.example/;/a/bad",
        "https://docs.example/a/x/..;y/bad",
        "https://docs.example/a/x;y/../bad?q",
        "https://docs.example:8443/a/bad#top",
        "https://other.example/a;b/c",
    ] {
        assert!(blocks(&list, target), "{target}");
    }
    for target in [
        "https://docs.example/",
        "https://docs.example/a",
        "https://docs.example/A/bad",
        "https://docs.example/a/bader",
        "https://docs.example/a/good?/a/bad",
        "https://docs.example/x/a/bad",
        "https://docs.example/a%252fbad",
        "https://other.example/a/c",
    ] {
        assert!(!blocks(&list, target), "{target}");
    }
}

#[test]
fn a_query_has_one_spelling() {
    let list = list("files.example/x?id=1&name=a b&flag\nfiles.example/?only=1\n");
    for target in [
        "https://files.example/x?id=1&name=a%20b&flag",
        "https://files.example/x?flag=&name=a+b&id=1",
        "https://files.example/x/?&&id=1&&flag&name=a%20%62&=",
        "https://files.example/x?id=2&id=1&flag&flag&name=a+b&more=3",
        "https://files.example//x;y?i%64=%31&name=a+b&flag#part",
        "https://files.example?only=1",
        "https://files.example/?a&only=1",
    ] {
        assert!(blocks(&list, target), "{target}");
    }
    for target in [
        "https://files.example/x?id=1&name=a%20b",
        "https://files.example/x?id=1&name=a%2Bb&flag",
        "https://files.example/x/y?id=1&name=a%20b&flag",
        "https://files.example/x?ID=1&name=a%20b&flag",
        "https://files.example/x",
        "https://files.example/",
        "https://files.example/?only=12",
    ] {
        assert!(!blocks(&list, target), "{target}");
    }
}

/// The exception does not cover other parameters, or a way out of a folder.
#[test]
fn an_exception_is_no_way_past_the_list() {
    let list = list("docs.example\n!docs.example/good\n!docs.example/form?id=7\n");
    for target in [
        "https://docs.example/good/x?y=1",
        "https://docs.example/good;x/y",
        "https://docs.example/form?id=7",
        "https://docs.example/form/?id=%37#a",
    ] {
        assert!(!blocks(&list, target), "{target}");
    }
    for target in [
        "https://docs.example/good/../bad",
        "https://docs.example/good%2f..%2fbad",
        "https://docs.example/good/..;/bad",
        "https://docs.example/bad/..;/good",
        "https://docs.example/bad%2f..%2fgood",
        "https://docs.example/bad/%5c..%5c../good",
        "https://docs.example/form?id=7&id=8",
        "https://docs.example/form?id=7&to=evil",
        "https://docs.example/form",
        "https://docs.example/form/x?id=7",
        "https://docs.example/x;/good",
    ] {
        assert!(blocks(&list, target), "{target}");
    }
}

#[test]
fn a_way_out_of_a_listed_path_is_no_way_past_the_list() {
    let list = list("docs.example/a/bad\ndocs.example/kit.php\n");
    for target in [
        "https://docs.example/a/bad/..;/",
        "https://docs.example/a/bad/..;x=1/..;/y",
        "https://docs.example/a/bad/x%2f..%2f..",
        "https://docs.example/kit.php/%5c..%5c..",
        "https://docs.example/a;x/./bad;y/..;/",
        "https://docs.example/a/%2e%2e%2fa/bad",
    ] {
        assert!(blocks(&list, target), "{target}");
    }
    assert!(!blocks(&list, "https://docs.example/a/bad/../x"));
}

#[test]
fn a_backslash_leads_to_no_listed_url_as_a_slash_or_as_its_escape() {
    let list = list("docs.example/x\ndocs.example/a/y\n");
    for target in [
        r"https://docs.example/bad\/../x",
        r"https://docs.example/bad\..\x",
        r"https://docs.example/a\y",
        r"https://docs.example/a/b\/../y",
    ] {
        assert!(blocks(&list, target), "{target}");
    }
    assert!(!blocks(&list, r"https://docs.example/bad\x"));
}

#[test]
fn a_forwarded_query_is_read_only_if_the_list_has_one_for_the_page() {
    let list = list("docs.example/form?id=7\n");
    let forwarded =
        |target: &str, query: &str| list.blocks_forwarded(target, &format!("{target}?{query}"));
    assert!(forwarded("https://docs.example/form", "a=1&id=7"));
    assert!(!forwarded("https://docs.example/form", "a=1&id=8"));
    let very_many = "a&".repeat(1_000);
    assert!(forwarded("https://docs.example/form", &very_many));
    assert!(!forwarded("https://docs.example/other", &very_many));
}

#[test]
fn only_a_list_with_queries_has_queries_looked_at() {
    for (text, looks) in [
        ("", false),
        (
            "bad.example\n*.bad.example\nbad.example/a\nbad.example/a?\n",
            false,
        ),
        ("bad.example/a?b", true),
        ("bad.example\n!bad.example/a?b=1", true),
    ] {
        let current = CurrentBlocklist::default();
        current.set(list(text));
        assert_eq!(current.looks_at_queries(), looks, "{text}");
    }
}

/// The letters of a text, some of them percent-encoded, in either case.
fn respelt(text: &str, choices: &[u8]) -> String {
    let letters = text.chars().enumerate().map(|(at, letter)| {
        let code = u32::from(letter);
        match choices[at % choices.len()] % 4 {
            0 if letter.is_ascii_alphanumeric() => format!("%{code:02x}"),
            1 if letter.is_ascii_alphanumeric() => format!("%{code:02X}"),
            _ => letter.to_string(),
        }
    });
    letters.collect()
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

    #[test]
    fn every_spelling_of_a_listed_url_is_listed(
        host in "[a-c]{1,3}\\.example",
        segments in proptest::collection::vec("[a-c]{1,3}", 1..4),
        pairs in proptest::collection::vec("[a-c]{1,2}=[a-c]{0,2}", 0..4),
        further in proptest::collection::vec("[d-f]{1,2}=[a-c]{0,2}", 0..3),
        joints in proptest::collection::vec(proptest::sample::select(vec!["/", "//", "/./", "/%2e/", "/x/../", "/x/%2E./", "/;y/", "%2f", "/x%2f..%2f"]), 4),
        ends in proptest::collection::vec(proptest::sample::select(vec!["", ";v", ";v=1"]), 4),
        end in proptest::sample::select(vec!["", "/", "//", "/."]),
        choices in proptest::collection::vec(any::<u8>(), 16),
        order in any::<u64>(),
    ) {
        let entry = format!("{host}/{}", segments.join("/"));
        let entry = if pairs.is_empty() { entry } else { format!("{entry}?{}", pairs.join("&")) };
        let spelt = segments.iter().enumerate();
        let spelt = spelt.map(|(at, segment)| format!("{}{}{}", joints[at], respelt(segment, &choices), ends[at]));
        // The path of a URL begins with a slash as it is.
        let path = format!("/{}{end}", spelt.collect::<String>());
        let mut given: Vec<_> = pairs.iter().chain(&pairs).chain(&further).map(|pair| respelt(pair, &choices)).collect();
        let length = given.len().max(1);
        given.rotate_left(usize::try_from(order % length as u64).unwrap());
        let host = respelt(&host.to_uppercase(), &choices);
        let scheme = ["http", "HTTPS"][usize::from(choices[0] % 2)];
        let port = ["", ":443", ":80", ":8080", ":"][usize::from(choices[1] % 5)];
        let dot = ["", "."][usize::from(choices[2] % 2)];
        let target = format!("{scheme}://{host}{dot}{port}{path}?{}#{}", given.join("&&"), choices[3]);
        prop_assert!(blocks(&list(&entry), &target), "{} is not of {}", target, entry);
        let target = target.replace('?', "?new=1&");
        prop_assert!(blocks(&list(&entry), &target), "{} is not of {}", target, entry);
    }

    #[test]
    fn every_form_of_a_listed_address_is_listed(bits in 2_u32.., path in "(/[a-c]{1,3}){0,2}") {
        let address = std::net::Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = address.octets();
        let entry = format!("{address}{path}");
        let list_of = |entry: &str| list(if path.is_empty() { entry.trim_end_matches('/') } else { entry });
        let of_address = list_of(&entry);
        let written: Vec<_> = [bits.to_string(), format!("{bits:#x}"), format!("0{a:o}.{b:#x}.{c}.{d}"), format!("{address}.")]
            .into_iter()
            .chain(written_as(address).into_iter().map(|host| format!("[{host}]")))
            .collect();
        for host in &written {
            prop_assert!(blocks(&of_address, &format!("https://{host}{path}")), "{}", host);
            // An entry in another spelling is the same entry.
            let of_host = list_of(&format!("{host}{path}"));
            prop_assert!(blocks(&of_host, &format!("https://{address}{path}")), "{}", host);
        }
        for host in carried_in(address) {
            prop_assert!(blocks(&of_address, &format!("http://[{host}]:81{path}/x")), "{}", host);
        }
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
