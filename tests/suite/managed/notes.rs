//! Private notes of the owners of links.

use reqwest::Method;
use serde_json::{Value, json};

use super::{make, patch, show};
use crate::suite::abuse::admin;
use crate::suite::web::browser::ACCEPT;
use crate::support::{Response, both_modes};

const TARGET: &str = "https://example.org/";

both_modes! {
    async fn a_note_has_lines_and_is_taken_away_by_null_or_nothing(app) {
        let token = app.register().await;
        let longest = "\u{1f600}".repeat(2_000);
        for (given, kept) in [("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"), (&*longest, &*longest)] {
            let made = make(app, &token, &json!({"target_url": TARGET, "note": given})).await.json();
            assert_eq!(made["note"], kept);
            let code = made["short_code"].as_str().unwrap();
            assert_eq!(show(app, &token, code).await.json()["note"], kept);
            for nothing in [Value::Null, json!("")] {
                patch(app, &token, code, &json!({"note": given})).await;
                let cleared = patch(app, &token, code, &json!({"note": nothing})).await;
                assert_eq!(cleared.json()["note"], Value::Null);
            }
            patch(app, &token, code, &json!({"note": "a\tb"})).await
                .is_error(422, "note: must not contain control characters other than line breaks");
        }
    }

    async fn a_note_fits_however_json_escapes_its_letters(app) {
        let token = app.register().await;
        let code = app.shorten(&token, TARGET).await;
        let escaped = format!("{{\"note\":\"{}\"}}", "\\ud83d\\ude00".repeat(2_000));
        let request = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
        let edited = Response::of(request.body(escaped)).await;
        assert_eq!(edited.status, 200, "{}", edited.text);
        assert_eq!(edited.json()["note"], "\u{1f600}".repeat(2_000));
    }

    async fn a_note_is_seen_and_found_by_its_owner_only(app) {
        let (ada, bob, admin) = (app.register().await, app.register().await, admin(app).await);
        let note = "For the needles\nof Ávila";
        make(app, &ada, &json!({"target_url": TARGET, "custom_code": "with-note", "note": note})).await;
        make(app, &ada, &json!({"target_url": TARGET, "title": "needles"})).await;
        let found = async |token: &str, path: &str| app.get_as(token, path).await.json();
        let own = found(&ada, "/urls/my?q=NEEDLES%20%C3%A1vila&view=full").await;
        assert_eq!((own.as_array().unwrap().len(), &own[0]["note"]), (1, &json!(note)));
        // In an order by clicks other links are read.
        let own = found(&ada, "/urls/my?q=needles%20for&sort=-clicks").await;
        assert_eq!((own.as_array().unwrap().len(), &own[0]["short_code"]), (1, &json!("with-note")));
        assert_eq!(found(&bob, "/urls/my?q=needles").await, json!([]));
        let seen = found(&admin, "/admin/links?q=avila").await;
        assert_eq!(seen["links"], json!([]));
        for path in ["/with-note", "/with-note+", "/urls/with-note/stats", "/urls/with-note/stats/series", "/urls/with-note/qr"] {
            for accept in [ACCEPT, "*/*"] {
                let public = Response::of(app.request(Method::GET, path).header("accept", accept)).await;
                assert!(!public.text.contains("needles"), "{path}: {public:?}");
                assert!(public.headers.values().all(|value| !value.as_bytes().windows(7).any(|part| part == b"needles")));
            }
        }
        assert!(!app.get_as(&admin, "/admin/links").await.text.contains("needles of"));
        show(app, &admin, "with-note").await.is_error(404, "URL not found");
    }

    async fn a_note_is_exported_and_imported_with_its_lines(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let note = "=1+1, \"quoted\"\nsecond; line\n";
        make(app, &ada, &json!({"target_url": TARGET, "custom_code": "exported", "note": note, "noindex": true})).await;
        for (format, kind) in [("csv", "text/csv"), ("ndjson", "application/x-ndjson")] {
            let export = app.get_as(&ada, &format!("/urls/export?format={format}")).await.text;
            let other = export.replace("exported", &format!("as-{format}"));
            let import = app.request(Method::POST, "/urls/bulk").bearer_auth(&bob);
            let made = Response::of(import.header("content-type", kind).body(other)).await;
            assert_eq!(made.json()[0]["status"], 200, "{made:?}");
            let shown = show(app, &bob, &format!("as-{format}")).await.json();
            assert_eq!((&shown["note"], &shown["noindex"]), (&json!(note), &json!(true)));
        }
    }
}
