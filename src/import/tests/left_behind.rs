//! What a link has no room for, what of an entry cannot be read, and what is not in the file: it is kept or said.

use serde_json::json;

use super::super::note::Note;
use super::super::own::columns;
use super::super::pages::OtherPages;
use super::{Source, links, read, read_whole};

#[test]
fn a_title_and_tags_for_which_there_is_no_room_are_cut_and_noted() {
    let title = format!("{0}\n{0}", "é".repeat(150));
    let file = json!([{ "longlink": "https://a.example", "shortlink": "abcd", "notes": title }]);
    let link = links(Source::Chhoto, &file.to_string()).remove(0);
    assert_eq!(link.title().unwrap().chars().count(), 200);
    assert_eq!(link.notes, [(Note::TitleCut, title)]);

    let long = "x".repeat(51);
    let mut tags: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    tags[1].clone_from(&"Q1, 2024".to_owned());
    tags[2].clone_from(&long);
    tags.push("last".into());
    let file = json!([{ "longUrl": "https://a.example", "shortCode": "abcd", "tags": tags }]);
    let link = links(Source::Shlink, &file.to_string()).remove(0);
    assert_eq!(
        (link.tags().len(), &*link.tags()[1], link.tags()[2].len()),
        (20, "Q1 2024", 50)
    );
    let expected = [
        (Note::TagCut, "Q1, 2024".to_owned()),
        (Note::TagCut, long),
        (Note::TagLeftOut, "last".into()),
    ];
    assert_eq!(link.notes, expected);
}

#[test]
fn rules_of_shlink_that_are_in_the_file_are_those_of_the_link() {
    let entry = |rules: serde_json::Value| json!([{ "longUrl": "https://a.example", "shortCode": "abcd", "hasRedirectRules": true, "redirectRules": rules }]);
    let phones = json!([{ "type": "device", "matchKey": null, "matchValue": "ios" }]);
    let rules =
        json!([{ "longUrl": "https://b.example/app", "priority": 1, "conditions": phones }]);
    let link = links(Source::Shlink, &entry(rules).to_string()).remove(0);
    let expected = json!([{ "target_url": "https://b.example/app", "when": { "os": "iOS" } }]);
    let read = link.fields.rules.as_given().map(|rules| &rules.0);
    assert_eq!((read, link.notes), (Some(&expected), Vec::new()));
    let cities =
        json!([{ "type": "geolocation-city-name", "matchKey": null, "matchValue": "Berlin" }]);
    let rules = json!([{ "longUrl": "https://b.example/app", "conditions": cities }]);
    let (refused, _) = read_whole(Source::Shlink, entry(rules).to_string().as_bytes());
    let why = refused[0]
        .refusal(&crate::domain::OwnHost::unknown())
        .unwrap();
    assert!(
        why.starts_with("redirectRules: a condition of the type"),
        "{why}"
    );
    let without =
        json!([{ "longUrl": "https://a.example", "shortCode": "abcd", "hasRedirectRules": true }]);
    let link = links(Source::Shlink, &without.to_string()).remove(0);
    assert_eq!(link.notes, [(Note::RedirectRules, String::new())]);
}

/// The cells of a list for the first link of a file, by their columns.
fn listed(source: Source, file: &str) -> Vec<(&'static str, String)> {
    let (links, _) = read_whole(source, file.as_bytes());
    let read = &links[0];
    let code = read.link.code().unwrap_or_default();
    let cells = read
        .cells(code)
        .into_iter()
        .map(|cell| String::from_utf8(cell).unwrap());
    let named = columns().into_iter().zip(cells);
    named
        .filter(|(_, cell)| !cell.is_empty() && cell != "0")
        .collect()
}

#[test]
fn what_cannot_be_read_is_kept_as_it_is() {
    let both = |column, value: &str| {
        vec![
            ("target_url", "https://a.example".to_owned()),
            ("short_code", "abcd".into()),
            (column, value.into()),
        ]
    };
    for (source, entry, column, value) in [
        (
            Source::Kutt,
            json!({ "target": "https://a.example", "address": "abcd", "visit_count": -1 }),
            "clicks",
            "-1",
        ),
        (
            Source::Kutt,
            json!({ "target": "https://a.example", "address": "abcd", "expire_in": "soon" }),
            "expires_at",
            "soon",
        ),
        (
            Source::Shlink,
            json!({ "longUrl": "https://a.example", "shortCode": "abcd", "meta": { "maxVisits": 5.5 } }),
            "max_clicks",
            "5.5",
        ),
        (
            Source::Shlink,
            json!({ "longUrl": "https://a.example", "shortUrl": "https://s.test/abcd", "tags": 5 }),
            "tags",
            "5",
        ),
        (
            Source::Chhoto,
            json!({ "longlink": "https://a.example", "shortlink": "abcd", "expiry_time": "never" }),
            "expires_at",
            "never",
        ),
        (
            Source::Csv,
            json!({ "target_url": "https://a.example", "custom_code": "abcd", "is_active": "perhaps" }),
            "is_active",
            "perhaps",
        ),
    ] {
        let cells = listed(source, &json!([entry]).to_string());
        for expected in both(column, value) {
            assert!(cells.contains(&expected), "{expected:?}: {cells:?}");
        }
    }
    let password = json!([{ "target": "https://a.example", "address": "abcd", "password": true }]);
    assert!(listed(Source::Kutt, &password.to_string()).contains(&("has_password", "true".into())));
    let later = json!([{ "longUrl": "https://a.example", "shortCode": "abcd", "meta": { "validSince": "2999-01-01T00:00:00Z" } }]);
    assert!(
        listed(Source::Shlink, &later.to_string())
            .contains(&("starts_at", "2999-01-01T00:00:00Z".into()))
    );
}

#[test]
fn what_is_on_other_pages_is_said() {
    let link = json!({ "longUrl": "https://a.example", "shortCode": "abcd" });
    let page = |current, last, total: Option<u64>| {
        json!({ "shortUrls": {
        "data": [link], "pagination": { "currentPage": current, "pagesCount": last, "totalItems": total },
    } }).to_string()
    };
    let shlink = |file: &str| read_whole(Source::Shlink, file.as_bytes()).1.unwrap();
    assert_eq!(shlink(&page(1, 3, Some(40))), Some(OtherPages::Links(39)));
    assert_eq!(shlink(&page(1, 3, None)), Some(OtherPages::Some));
    assert_eq!(shlink(&page(1, 1, Some(1))), None);
    // All pages, one below the other.
    assert_eq!(
        shlink(&format!("{}{}", page(1, 2, Some(2)), page(2, 2, Some(2)))),
        None
    );
    let bitly = |next: &str| {
        let file = json!({
            "pagination": { "next": next }, "links": [{ "long_url": "https://a.example", "link": "https://bit.ly/abcd" }],
        });
        read_whole(Source::Bitly, file.to_string().as_bytes())
            .1
            .unwrap()
    };
    assert_eq!(
        bitly("https://api-ssl.bitly.com/v4/next"),
        Some(OtherPages::Some)
    );
    assert_eq!(bitly(""), None);
}

#[test]
fn json_of_another_shape_is_no_empty_file() {
    let named = json!({ "links": { "link_1": { "shorturl": "https://s.test/abcd", "url": "https://a.example" } }, "stats": { "total_links": "3" } });
    let (links, others) = read_whole(Source::Yourls, named.to_string().as_bytes());
    assert_eq!(links[0].link.code(), Some("abcd"));
    assert_eq!(
        (links[0].fault.as_ref(), others),
        (None, Ok(Some(OtherPages::Links(2))))
    );
    for other in [
        json!({ "links": { "x": 1 } }),
        json!({ "data": "x" }),
        json!({ "data": { "items": [] } }),
        json!("x"),
        json!(5),
        json!({ "results": [{ "url": "https://a.example" }] }),
        json!({ "error": "no" }),
        json!([["x"]]),
        json!(null),
    ] {
        let (entries, ended) = read(Source::Yourls, other.to_string().as_bytes());
        assert!(
            ended.is_some() || entries.iter().any(|(_, link)| link.is_err()),
            "{other}"
        );
    }
}
