use proptest::prelude::*;

use super::*;

fn hosts(given: &[&str]) -> Hosts {
    Hosts::new(given.iter().zip(1..).map(|(host, number)| ServedHost {
        id: DomainId::parse(number).unwrap(),
        host: DomainHost::parse(host).unwrap(),
        root: None,
        not_found: None,
    }))
}

#[test]
fn a_host_is_found_whatever_its_case_its_port_and_the_dot_at_its_end() {
    let hosts = hosts(&["Go.Example.org:8443", "[2001:DB8::1]"]);
    for (named, id) in [
        ("go.example.org", 1),
        ("GO.example.ORG", 1),
        ("go.example.org.", 1),
        ("go.example.org.:80", 1),
        (" go.example.org:8443", 1),
        ("[2001:db8::1]", 2),
        ("[2001:DB8::1]:80", 2),
    ] {
        let found = hosts.named(named.as_bytes()).map(|host| host.id.number());
        assert_eq!(found, Some(id), "{named}");
    }
    for other in [
        "",
        ":",
        "example.org",
        "go.example.org..",
        "xgo.example.org",
        "[",
        "]",
    ] {
        assert!(hosts.named(other.as_bytes()).is_none(), "{other}");
    }
}

#[test]
fn a_host_is_kept_as_it_was_given() {
    for (raw, given, name) in [
        (
            "Go.Example.org:8443",
            "Go.Example.org:8443",
            "go.example.org",
        ),
        (" sho.rt ", "sho.rt", "sho.rt"),
        (
            "b\u{fc}cher.example:80",
            "xn--bcher-kva.example:80",
            "xn--bcher-kva.example",
        ),
    ] {
        let host = DomainHost::parse(raw).unwrap();
        assert_eq!((host.as_str(), host.name()), (given, name));
    }
    for raw in [
        "",
        "a b",
        "https://a.example",
        "a.example/",
        "a.example:",
        "a.example:0",
        "a.example:99999",
        "*.example",
        "a.example:+1",
    ] {
        assert_eq!(DomainHost::parse(raw), Err(InvalidDomain::Host), "{raw}");
    }
    // The short form of an address is written in many lengths.
    let long = "0".repeat(261);
    assert_eq!(DomainHost::parse(&long), Err(InvalidDomain::Host));
}

#[test]
fn a_view_sees_each_change() {
    let current = CurrentHosts::default();
    let mut view = current.view();
    let code = ShortCode::parse("abc").unwrap();
    let mut domain = |host: &[u8]| view.code_at(host, code.clone()).domain().number();
    assert_eq!(domain(b"a.example"), 0);
    current.set(hosts(&["a.example"]));
    for _ in 0..2 {
        for named in ["a.example", "A.example:80", "a.example."] {
            assert_eq!(domain(named.as_bytes()), 1, "{named}");
        }
        assert_eq!(domain(b"b.example"), 0);
        let long = format!("a.example{}", " ".repeat(60));
        assert_eq!(domain(long.as_bytes()), 1);
        assert_eq!(domain(b""), 0);
        assert_eq!(domain(b"a.example"), 1);
        assert_eq!(domain(&[b'a'; 300]), 0);
    }
    current.set(hosts(&["b.example", "a.example"]));
    assert_eq!(domain(b"a.example"), 2);
    current.set(Hosts::default());
    assert_eq!(domain(b"a.example"), 0);
}

#[test]
fn people_see_a_code_with_its_host() {
    let current = CurrentHosts::default();
    current.set(hosts(&["a.example:81"]));
    let code = current.parse_code("A.example/abc").unwrap();
    assert_eq!((code.as_key(), code.as_str()), ("1/abc", "abc"));
    assert_eq!(current.shown_key(code.as_key()), "a.example:81/abc");
    assert_eq!(current.shown_key("abc"), "abc");
    assert_eq!(current.host_of(&code).as_deref(), Some("a.example:81"));
    // The number of a domain is not a host.
    assert_eq!(current.parse_code("1/abc"), None);
}

proptest! {
    #[test]
    fn no_bytes_make_the_search_for_a_host_panic(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
        assert!(hosts(&["a.example"]).named(&raw).is_none());
    }

    #[test]
    fn a_host_that_is_taken_is_found_as_it_was_given(raw in "\\PC{0,20}|[a-zA-Z0-9.-]{1,20}(:[0-9]{1,5})?") {
        if let Ok(host) = DomainHost::parse(&raw) {
            let hosts = hosts(&[&raw]);
            prop_assert!(hosts.named(host.as_str().as_bytes()).is_some(), "{}", host);
            prop_assert!(host.as_str().is_ascii());
        }
    }
}
