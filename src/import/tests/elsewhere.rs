//! Services that send some visitors elsewhere: their targets become rules.

use serde_json::{Value, json};

use super::super::source::Source;
use super::read;
use crate::import::ImportedLink;

fn link(source: Source, entry: &Value) -> ImportedLink {
    let mut links = read(source, json!([entry]).to_string().as_bytes()).0;
    links.remove(0).1.unwrap()
}

/// The link as `POST /urls/bulk` gets it.
fn sent(source: Source, entry: &Value) -> Value {
    serde_json::to_value(link(source, entry)).unwrap()
}

#[test]
fn dub() {
    let found = sent(
        Source::Dub,
        &json!({
            "id": "link_1", "domain": "dub.sh", "key": "spring", "url": "https://a.example/", "shortLink": "https://dub.sh/spring",
            "archived": false, "expiresAt": "2027-01-31T18:00:00.000Z", "expiredUrl": "https://a.example/over", "password": "open sesame",
            "title": "Spring", "comments": "for the fair", "tags": [{"id": "tag_1", "name": "fair", "color": "red"}],
            "ios": "https://a.example/ios", "android": null, "doIndex": false, "clicks": 7,
            "geo": {"DE": "https://a.example/de", "AT": "https://a.example/de", "FR": "https://a.example/fr"},
            "testVariants": [{"url": "https://a.example/1", "percentage": 30}, {"url": "https://a.example/2", "percentage": 70}],
        }),
    );
    assert_eq!(
        found["rules"],
        json!([
            {"when": {"os": "iOS"}, "target_url": "https://a.example/ios"},
            {"when": {"country": ["AT", "DE"]}, "target_url": "https://a.example/de"},
            {"when": {"country": ["FR"]}, "target_url": "https://a.example/fr"},
            {"split": [
                {"target_url": "https://a.example/1", "weight": 30},
                {"target_url": "https://a.example/2", "weight": 70},
            ]},
        ])
    );
    for (name, value) in [
        ("custom_code", json!("spring")),
        ("fallback_url", json!("https://a.example/over")),
        ("expires_at", json!("2027-01-31T18:00:00Z")),
        ("note", json!("for the fair")),
        ("tags", json!(["fair"])),
        ("noindex", json!(true)),
        ("forward_query", json!(true)),
        ("password", json!("open sesame")),
        ("clicks", json!(7)),
    ] {
        assert_eq!(found[name], value, "{name}: {found}");
    }
}

#[test]
fn sink() {
    let found = sent(
        Source::Sink,
        &json!({
            "id": "x", "slug": "app", "url": "https://a.example/", "comment": "ours", "expiration": 1_800_000_000,
            "apple": "https://apps.apple.com/app/id1", "google": "https://play.google.com/store/apps/details?id=a",
            "redirectWithQuery": true, "password": "open sesame",
        }),
    );
    assert_eq!(found["rules"][0]["when"], json!({"os": "iOS"}));
    assert_eq!(found["rules"][1]["when"], json!({"os": "Android"}));
    assert_eq!(
        (&found["expires_at"], &found["forward_query"]),
        (&json!("2027-01-15T08:00:00Z"), &json!(true))
    );
}

#[test]
fn short_io() {
    let found = sent(
        Source::Shortio,
        &json!({
            "path": "promo", "originalURL": "https://a.example/", "shortURL": "https://s.test/promo", "clicksLimit": 500,
            "expiresAt": 1_800_000_000_000_u64, "expiredURL": "https://a.example/over", "skipQS": true, "iphoneURL": "https://a.example/ios",
            "splitURL": "https://a.example/b", "splitPercent": 25, "hasPassword": false,
        }),
    );
    assert_eq!(found["max_clicks"], 500);
    assert_eq!(found["expires_at"], "2027-01-15T08:00:00Z");
    assert_eq!(found["forward_query"], false);
    assert_eq!(
        found["rules"][1]["split"],
        json!([
            {"target_url": "https://a.example/", "weight": 75},
            {"target_url": "https://a.example/b", "weight": 25},
        ])
    );
}

#[test]
fn polr_and_tinyurl() {
    let secret = json!({"short_url": "1", "long_url": "https://a.example/", "clicks": "12", "secret_key": "4f6a", "is_disabled": 1});
    let found = sent(Source::Polr, &secret);
    assert_eq!(
        (
            &found["custom_code"],
            &found["password"],
            &found["is_active"]
        ),
        (&json!("1"), &json!("4f6a"), &json!(false))
    );
    let found = sent(
        Source::TinyUrl,
        &json!({
            "domain": "tinyurl.com", "alias": "example", "deleted": false, "archived": true, "tags": ["one"],
            "tiny_url": "https://tinyurl.com/example", "url": "https://a.example/", "expires_at": null,
        }),
    );
    assert_eq!(
        (&found["custom_code"], &found["tags"]),
        (&json!("example"), &json!(["one"]))
    );
}

#[test]
fn firebase() {
    let long = "https://example.page.link/?link=https%3A%2F%2Fa.example%2Fwelcome%3Fx%3D1&apn=com.example.android&afl=https://a.example/a\
        &ibi=com.example.ios&ofl=https://a.example/desk";
    let found = sent(
        Source::Firebase,
        &json!({"short_link": "https://example.page.link/m9Mm", "long_link": long, "link_name": "Welcome"}),
    );
    assert_eq!(found["target_url"], "https://a.example/welcome?x=1");
    assert_eq!(found["custom_code"], "m9Mm");
    assert_eq!(
        found["rules"],
        json!([
            {"when": {"os": "Android"}, "target_url": "https://a.example/a"},
            {"when": {"device": "desktop"}, "target_url": "https://a.example/desk"},
        ])
    );
}
