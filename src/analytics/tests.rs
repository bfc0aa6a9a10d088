use std::fs::write;

use super::countries::mmdb::file;
use super::*;
use crate::domain::Dimension;

const FIREFOX: &[u8] = b"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

fn classifier() -> Classifier {
    Classifier::new(&Analytics::new(Countries::default()))
}

fn visitor<'a>(agent: &'a [u8], referrer: &'a [u8]) -> Visitor<'a> {
    Visitor {
        address: &|| "192.0.2.1".to_owned(),
        agent: Some(agent),
        referrer: Some(referrer),
        languages: None,
        query: None,
        is_speculative: false,
        opts_out: false,
        unlocked: None,
        connection: None,
    }
}

#[test]
fn visitors_with_the_same_headers_share_one_class() {
    let classifier = classifier();
    let visitor = visitor(FIREFOX, b"https://www.example.com/path?query");
    let class = classifier.class_of(&visitor).unwrap();
    let values = Dimension::ALL.map(|dimension| class.value(dimension));
    let expected = [
        "example.com",
        "",
        "Firefox",
        "Linux",
        "desktop",
        "",
        "",
        "false",
    ];
    assert_eq!(values.map(Option::unwrap_or_default), expected);
    assert!(Arc::ptr_eq(&class, &classifier.class_of(&visitor).unwrap()));
}

#[test]
fn nothing_is_known_of_a_visitor_that_opts_out_or_whose_headers_are_out_of_bounds() {
    let classifier = classifier();
    let opts_out = Visitor {
        opts_out: true,
        ..visitor(FIREFOX, b"")
    };
    let (long_agent, long_referrer) = ([b'a'; 2_049], [b'a'; 1_025]);
    for visitor in [
        opts_out,
        visitor(&long_agent, b""),
        visitor(FIREFOX, &long_referrer),
        visitor(b"caf\xe9", b""),
    ] {
        assert_eq!(
            *classifier.class_of(&visitor).unwrap(),
            ClickClass::unknown()
        );
    }
}

#[test]
fn of_a_long_agent_the_beginning_is_read_and_no_character_is_cut_in_two() {
    let classifier = classifier();
    let class = |agent: &[u8]| classifier.class_of(&visitor(agent, b"")).unwrap();
    let long = [b"-", FIREFOX, "\u{e9}".repeat(900).as_bytes()].concat();
    assert!(str::from_utf8(&long[..512]).is_err());
    assert_eq!(class(&long).value(Dimension::Browser), Some("Firefox"));
    let hidden = ["a ".repeat(256).as_bytes(), b"Googlebot"].concat();
    assert_eq!(class(&hidden).value(Dimension::Bot), Some("false"));
}

/// Agents that no browser sends, each of which takes longer to read than a hundred real agents.
fn made_up(number: usize) -> String {
    format!("{number} {}", "bot".repeat(168))
}

fn class_at(classifier: &Classifier, address: &str, agent: &str) -> Arc<ClickClass> {
    let visitor = Visitor {
        address: &|| address.to_owned(),
        ..visitor(agent.as_bytes(), b"https://example.com/")
    };
    classifier.class_of(&visitor).unwrap()
}

#[test]
fn one_who_makes_up_agents_makes_none_of_others_unknown() {
    let classifier = classifier();
    let known = str::from_utf8(FIREFOX).unwrap();
    let before = class_at(&classifier, "192.0.2.1", known);
    let is_browser = |class: &ClickClass| class.value(Dimension::Browser) == Some("Firefox");
    assert!(is_browser(&before));
    for number in 0..20_000 {
        class_at(&classifier, "192.0.2.2", &made_up(number));
    }
    // What was known is known, of whomever; what is new is read for everybody else.
    assert!(is_browser(&class_at(&classifier, "192.0.2.2", known)));
    assert!(Arc::ptr_eq(
        &before,
        &class_at(&classifier, "192.0.2.1", known)
    ));
    let new = format!("{known} new");
    assert!(is_browser(&class_at(&classifier, "192.0.2.1", &new)));
    let kept = classifier.0.memos.lock().unwrap();
    assert!(kept.agents.len() < 2_000, "{}", kept.agents.len());
}

#[test]
fn past_the_budget_only_bots_by_their_plain_words_are_known() {
    let classifier = classifier();
    let agent = |number: usize, rest: &str| format!("{number} {rest}");
    for number in 0..20_000 {
        class_at(&classifier, "192.0.2.2", &made_up(number));
    }
    let mut values = Vec::new();
    for number in 0..100 {
        for rest in [
            "Googlebot/2.1",
            "Android 4.2.2; Googlebot/2.1",
            "Firefox/145.0",
        ] {
            // The budget of the next second.
            class_at(&classifier, "192.0.2.2", &made_up(20_000 + number));
            let class = class_at(&classifier, "192.0.2.2", &agent(number, rest));
            values.push((rest, class.value(Dimension::Bot).map(str::to_owned)));
        }
    }
    let of = |word| {
        values
            .iter()
            .filter(move |(rest, _)| rest.starts_with(word))
    };
    let is = |value: &'static str| {
        move |found: &&(&str, Option<String>)| found.1.as_deref() == Some(value)
    };
    assert_eq!(of("Googlebot").filter(is("true")).count(), 100);
    assert_eq!(of("Android").filter(is("false")).count(), 0);
    assert_eq!(of("Firefox").filter(is("true")).count(), 0);
}

fn over<'a>(last_class: &'a LastClass, visitor: Visitor<'a>) -> Visitor<'a> {
    let connection = VisitorConnection {
        last_class,
        forwarded_for: b"",
    };
    Visitor {
        connection: Some(connection),
        ..visitor
    }
}

#[test]
fn a_class_past_the_budget_is_not_that_of_the_connections_next_request() {
    let classifier = classifier();
    let mut is_past = false;
    for number in 0..20_000 {
        let (last_class, agent) = (LastClass::default(), made_up(number));
        let visitor = over(&last_class, visitor(agent.as_bytes(), b""));
        let class = classifier.class_of(&visitor).unwrap();
        let kept = last_class.get([agent.as_bytes(), b"", b""], None);
        let mut memos = classifier.0.memos.lock().unwrap();
        let is_whole = memos.agents.get(agent.as_bytes(), agent.len()).is_some();
        assert_eq!(kept, is_whole.then_some(class));
        is_past |= !is_whole;
    }
    assert!(is_past);
}

#[test]
fn another_file_of_countries_is_used_by_the_next_request_of_a_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countries.mmdb");
    write(&path, file([192, 0, 2], "DE")).unwrap();
    let countries = Countries::open(&path).unwrap();
    let classifier = Classifier::new(&Analytics::new(countries.clone()));
    let last_class = LastClass::default();
    let visitor = over(&last_class, visitor(FIREFOX, b""));
    let country = || {
        let class = classifier.class_of(&visitor).unwrap();
        class.value(Dimension::Country).map(str::to_owned)
    };
    assert_eq!(
        [country(), country()],
        ["DE", "DE"].map(|code| Some(code.to_owned()))
    );
    write(&path, [file([192, 0, 2], "FR"), vec![0]].concat()).unwrap();
    assert!(countries.refresh().unwrap());
    assert_eq!(country().as_deref(), Some("FR"));
}

#[test]
fn no_classes_are_noted_where_that_is_switched_off() {
    assert_eq!(
        Classifier::new(&Analytics::off(Countries::default())).class_of(&visitor(FIREFOX, b"")),
        None
    );
}
