//! Making links, and what is refused.

use serde_json::{Value, json};

use super::{make, send, show};
use crate::support::{Response, both_modes, links};
use reqwest::Method;

const YEARS: &str = "expires_at: must be in the years 0 to 9999, up to 9999-12-30T22:00:00Z, such as 2027-01-31T18:00:00+01:00";

both_modes! {
    async fn the_moments_of_a_link_have_all_their_digits(app) {
        let token = app.register().await;
        let link = json!({"target_url": "https://example.org/", "view": "full"});
        // One moment in ten ends in a zero.
        for _ in 0..40 {
            let made = send(app, Method::POST, &token, "/urls/shorten", &link).await.json();
            for name in ["created_at", "updated_at"] {
                let moment = made[name].as_str().unwrap();
                assert_eq!(moment.len(), "2027-01-31T18:00:00.123456Z".len(), "{name}: {moment}");
            }
        }
        let csv = app.get_as(&token, "/urls/export?format=csv").await.text;
        let moments = csv.split(',').filter(|cell| cell.starts_with("20") && cell.ends_with('Z'));
        let lengths: Vec<_> = moments.map(str::len).collect();
        assert_eq!(lengths, vec![27; 80]);
    }

    async fn a_link_has_all_that_its_owner_gave_it(app) {
        let token = app.register().await;
        let made = make(app, &token, &links::with_every_field("https://example.org/a", "Spring-sale_26")).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let link = made.json();
        let fields: Vec<_> = link.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields.len(), 12 + links::fields().len(), "{fields:?}");
        let base = &app.server.base;
        for (field, value) in [
            ("short_code", json!("Spring-sale_26")),
            ("short_url", json!(format!("{base}/Spring-sale_26"))),
            ("target_url", json!("https://example.org/a")),
            ("clicks", json!(0)),
            ("is_active", json!(true)),
            ("status", json!("active")),
        ].into_iter().chain(links::fields()) {
            assert_eq!(link[field], value, "{field}");
        }
        assert_eq!(link["created_at"], link["updated_at"]);
        let shortlink = format!("<{base}/Spring-sale_26>; rel=\"shortlink\"");
        assert_eq!(made.header("link"), shortlink);
        let shown = show(app, &token, "Spring-sale_26").await;
        assert_eq!((shown.status.as_u16(), shown.text.as_str()), (200, made.text.as_str()));
        assert_eq!(shown.header("etag"), made.header("etag"));
        assert_eq!(shown.header("link"), shortlink);
    }

    async fn the_query_takes_the_same_parameters_and_the_plain_answer_has_five_fields(app) {
        let token = app.register().await;
        let query = "target_url=https%3A%2F%2Fexample.org%2F&custom_code=by-query&title=&tags=a,%20b&max_clicks=5";
        let made = send(app, Method::POST, &token, &format!("/urls/shorten?{query}"), &json!({})).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let fields: Vec<_> = made.json().as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields, ["clicks", "id", "is_active", "short_code", "target_url"]);
        let full = show(app, &token, "by-query").await.json();
        assert_eq!((&full["tags"], &full["title"], &full["max_clicks"]), (&json!(["a", "b"]), &Value::Null, &json!(5)));
        assert_eq!(full["expires_at"], Value::Null);
        let mut query = form_urlencoded::Serializer::new("target_url=https%3A%2F%2Fexample.org%2F&custom_code=by-texts".to_owned());
        for (field, value) in links::fields() {
            let text = match &value {
                Value::String(text) => text.clone(),
                Value::Array(words) if words.iter().all(Value::is_string) => words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(","),
                other => other.to_string(),
            };
            query.append_pair(field, &text);
        }
        let made = send(app, Method::POST, &token, &format!("/urls/shorten?{}", query.finish()), &json!({})).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let full = show(app, &token, "by-texts").await.json();
        for (field, value) in links::fields() {
            assert_eq!(full[field], value, "{field}");
        }
    }

    async fn an_end_in_a_query_may_have_its_plus_as_it_is(app) {
        let token = app.register().await;
        for plus in ["+", "%2B"] {
            let path = format!("/urls/shorten?view=full&target_url=https://example.org&expires_at=2999-01-31T18:00:00{plus}01:00");
            let made = send(app, Method::POST, &token, &path, &json!({})).await;
            assert_eq!(made.json()["expires_at"], "2999-01-31T17:00:00Z", "{path}");
        }
    }

    async fn each_refusal_names_the_field_and_the_mend(app) {
        let token = app.register().await;
        let target = "https://example.org/";
        for (body, detail) in [
            (json!({"target_url": target, "custom_code": "abc"}), "custom_code: must be at least 4 characters long"),
            (json!({"target_url": target, "custom_code": "a.bc"}), "custom_code: must be 1 to 64 of the characters A-Z a-z 0-9 - _"),
            (json!({"target_url": target, "custom_code": "Admin"}), "custom_code: is a word that this service uses itself; choose another"),
            (json!({"target_url": target, "custom_code": "docs"}), "custom_code: is a word that this service uses itself; choose another"),
            (json!({"target_url": target, "expires_at": "2027-01-31T18:00:00"}), "expires_at: must have a zone, such as 2027-01-31T18:00:00+01:00"),
            (json!({"target_url": target, "expires_at": "2090-01-31T18:00:00+24:00"}), "expires_at: must have a zone of at most 23:59, such as 2027-01-31T18:00:00+01:00"),
            (json!({"target_url": target, "expires_at": "2090-01-31T18:00:00-25:59"}), "expires_at: must have a zone of at most 23:59, such as 2027-01-31T18:00:00+01:00"),
            (json!({"target_url": target, "expires_at": "soon"}), "expires_at: must be an RFC 3339 timestamp with a zone, such as 2027-01-31T18:00:00+01:00"),
            (json!({"target_url": target, "expires_at": "2020-01-31T18:00:00Z"}), "expires_at: must be in the future"),
            (json!({"target_url": target, "expires_at": "0000-01-01T00:00:00Z"}), "expires_at: must be in the future"),
            (json!({"target_url": target, "expires_at": "9999-12-31T00:00:00+01:00"}), YEARS),
            (json!({"target_url": target, "expires_at": "10000-01-01T00:00:00Z"}), YEARS),
            (json!({"target_url": target, "expires_at": "-000001-01-01T00:00:00Z"}), YEARS),
            (json!({"target_url": target, "starts_at": "2027-01-31T18:00:00"}), "starts_at: must have a zone, such as 2027-01-31T18:00:00+01:00"),
            (json!({"target_url": target, "starts_at": "soon"}), "starts_at: must be an RFC 3339 timestamp with a zone, such as 2027-01-31T18:00:00+01:00"),
            (json!({"target_url": target, "starts_at": "2999-01-01T01:00:00+01:00", "expires_at": "2999-01-01T00:00:00Z"}), "starts_at: must be before expires_at"),
            (json!({"target_url": target, "starts_at": "2999-01-01T00:00:01Z", "expires_at": "2999-01-01T00:00:00Z"}), "starts_at: must be before expires_at"),
            (json!({"target_url": target, "fallback_url": "later"}), "fallback_url: must be an absolute http:// or https:// URL with a host"),
            (json!({"target_url": target, "fallback_url": ""}), "fallback_url: must be an absolute http:// or https:// URL with a host"),
            (json!({"target_url": target, "fallback_url": 7}), "fallback_url: must be a string"),
            (json!({"target_url": target, "fallback_url": format!("{target}{}", "x".repeat(2_048))}), "fallback_url: must be at most 2048 bytes long"),
            (json!({"target_url": target, "fallback_url": format!("{}/code", app.server.base)}), "fallback_url: must not lead back to this service's own host"),
            (json!({"target_url": target, "fallback_url": "http://169.254.169.254/"}), "fallback_url: must not lead to a link-local address or a metadata service"),
            (json!({"target_url": target, "max_clicks": 0}), "max_clicks: must be a whole number from 1 to 9007199254740991"),
            (json!({"target_url": target, "max_clicks": 1.5}), "max_clicks: must be a whole number from 1 to 9007199254740991"),
            (json!({"target_url": target, "max_clicks": "5"}), "max_clicks: must be a whole number from 1 to 9007199254740991"),
            (json!({"target_url": target, "title": "x".repeat(201)}), "title: must be at most 200 characters long"),
            (json!({"target_url": target, "title": "a\u{7}"}), "title: must not contain control characters"),
            (json!({"target_url": target, "note": "x".repeat(2_001)}), "note: must be at most 2000 characters long"),
            (json!({"target_url": target, "note": "a\u{1b}"}), "note: must not contain control characters other than line breaks"),
            (json!({"target_url": target, "note": 7}), "note: must be a string"),
            (json!({"target_url": target, "noindex": "yes"}), "noindex: must be a boolean"),
            (json!({"target_url": target, "tags": ["a,b"]}), "tags: must not contain commas"),
            (json!({"target_url": target, "tags": "a,b"}), "tags: must be an array"),
            (json!({"target_url": target, "tags": vec!["x".repeat(51)]}), "tags: must be at most 50 characters long each"),
            (json!({"target_url": target, "tags": (0..21).map(|n| n.to_string()).collect::<Vec<_>>()}), "tags: must be at most 20"),
            (json!({"target_url": target, "expire_at": "x"}), "expire_at: is not known here; did you mean expires_at?"),
            (json!({"target_url": target, "view": "half"}), "view: must be full, or left out"),
            (json!({"custom_code": "abcd"}), "target_url: field is required"),
        ] {
            send(app, Method::POST, &token, "/urls/shorten", &body).await.is_error(422, detail);
        }
        let (names, flags): (Vec<_>, Vec<_>) = links::fields().into_iter().map(|(field, value)| (field, value.is_boolean().then_some(field))).unzip();
        for flag in flags.into_iter().flatten() {
            let query = format!("/urls/shorten?target_url=https%3A%2F%2Fexample.org&{flag}=yes");
            send(app, Method::POST, &token, &query, &json!({})).await.is_error(422, &format!("{flag}: must be true or false"));
        }
        let known = format!("short_code: is not known here; known names are target_url, custom_code, domain, {}, view", names.join(", "));
        for (query, detail) in [
            ("target_url=https%3A%2F%2Fexample.org&short_code=mine", &*known),
            ("target_url=https%3A%2F%2Fexample.org&max_clicks=-1", "max_clicks: must be a whole number from 1 to 9007199254740991"),
            ("custom_code=mine", "target_url: query parameter is required"),
        ] {
            send(app, Method::POST, &token, &format!("/urls/shorten?{query}"), &json!({})).await.is_error(422, detail);
        }
        let both = "/urls/shorten?target_url=https%3A%2F%2Fexample.org";
        send(app, Method::POST, &token, both, &json!({"target_url": target})).await
            .is_error(422, "body: must be left out if the query has the parameters");
        assert_eq!(app.get_as(&token, "/urls/my").await.text, "[]\n");
    }

    /// In the order in which documents have their fields, but for values that cannot be read at all.
    async fn of_several_invalid_fields_every_document_names_the_same_one_first(app) {
        let token = app.register().await;
        app.shorten(&token, "https://example.org/").await;
        let code = app.get_as(&token, "/urls/my").await.json()[0]["short_code"].as_str().unwrap().to_owned();
        let long = "x".repeat(300);
        let (unreadable, rules) = (
            [("expires_at", "soon"), ("max_clicks", "-1")],
            [("target_url", "nowhere"), ("custom_code", "."), ("title", &*long), ("tags", &*long)],
        );
        let all: Vec<_> = unreadable.into_iter().chain(rules).collect();
        for (at, (first, bad)) in all.iter().enumerate() {
            for (second, also_bad) in &all[at + 1..] {
                // JSON has the later field first, but for two values that cannot be read.
                let pairs = match (*first, *second) {
                    ("expires_at", "max_clicks") => [(*first, *bad), (*second, *also_bad)],
                    _ => [(*second, *also_bad), (*first, *bad)],
                };
                let of = |name: &str| pairs.iter().find(|(field, _)| *field == name).map(|(_, bad)| *bad);
                let target = of("target_url").unwrap_or("https://example.org/");
                let json: Vec<_> = pairs.iter().map(|(field, bad)| match *field {
                    "tags" => format!("\"tags\": [\"{bad}\"]"),
                    "max_clicks" => format!("\"max_clicks\": {bad}"),
                    field => format!("\"{field}\": \"{bad}\""),
                }).collect();
                let json = json.join(", ");
                let object = match of("target_url") {
                    Some(_) => format!("{{{json}}}"),
                    None => format!("{{{json}, \"target_url\": \"{target}\"}}"),
                };
                let further: Vec<_> = pairs.iter().filter(|(field, _)| *field != "target_url").collect();
                let query: Vec<_> = further.iter().map(|(field, bad)| format!("&{field}={bad}")).collect();
                let names: Vec<_> = further.iter().map(|(field, _)| format!(",{field}")).collect();
                let cells: Vec<_> = further.iter().map(|(_, bad)| format!(",{bad}")).collect();
                let post = |path: &str, kind: &str, body: String| {
                    Response::of(app.request(Method::POST, path).bearer_auth(&token).header("content-type", kind).body(body))
                };
                let is_named = |detail: &Value, document: &str| {
                    let detail = detail.as_str().unwrap_or_default();
                    assert!(detail.starts_with(&format!("{first}: ")), "{document}, {first} and {second}: {detail}");
                };
                is_named(&post("/urls/shorten", "application/json", object.clone()).await.json()["detail"], "JSON");
                let query = format!("/urls/shorten?target_url={target}{}", query.concat());
                is_named(&post(&query, "application/json", String::new()).await.json()["detail"], "query");
                is_named(&post("/urls/bulk", "application/json", format!("[{object}]")).await.json()[0]["detail"], "bulk");
                let table = format!("target_url{}\n{target}{}\n", names.concat(), cells.concat());
                is_named(&post("/urls/bulk", "text/csv", table).await.json()[0]["detail"], "table");
                if of("custom_code").is_none() {
                    let patch = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token).body(object);
                    is_named(&Response::of(patch).await.json()["detail"], "patch");
                }
            }
        }
    }

    async fn a_code_is_taken_now_and_for_others_for_ever(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let link = json!({"target_url": "https://example.org/1", "custom_code": "taken-once"});
        assert_eq!(make(app, &ada, &link).await.status, 200);
        make(app, &ada, &link).await.is_error(409, "custom_code: is taken");
        make(app, &bob, &link).await.is_error(409, "custom_code: is taken");
        assert_eq!(app.get("/taken-once").await.status, 302);
        assert_eq!(app.delete(&ada, "taken-once").await.status, 204);
        make(app, &bob, &link).await.is_error(409, "custom_code: is taken");
        let again = json!({"target_url": "https://example.org/2", "custom_code": "taken-once"});
        assert_eq!(make(app, &ada, &again).await.json()["clicks"], 0);
        assert_eq!(app.get("/taken-once").await.header("location"), "https://example.org/2");
        assert_eq!(app.clicks("taken-once").await, 1);
        assert_eq!(make(app, &ada, &json!({"target_url": "https://example.org/", "custom_code": "Taken-once"})).await.status, 200, "codes keep their case");
    }

    async fn a_code_that_was_visited_before_it_was_made_is_followed_at_once(app) {
        let token = app.register().await;
        for number in 0..10 {
            let code = format!("visited-{number}");
            app.get(&format!("/{code}")).await.is_error(404, "URL not found");
            let made = make(app, &token, &json!({"target_url": "https://example.org/", "custom_code": code})).await;
            assert_eq!(made.status, 200);
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
    }

    async fn the_link_of_another_owner_is_unknown(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let code = app.shorten(&ada, "https://example.org/").await;
        show(app, &bob, &code).await.is_error(404, "URL not found");
        show(app, &bob, "nopenope").await.is_error(404, "URL not found");
        show(app, "no-token", &code).await.is_error(401, "Not authenticated");
        super::patch(app, &bob, &code, &json!({"title": "mine"})).await.is_error(404, "URL not found");
        assert_eq!(show(app, &ada, &code).await.json()["title"], Value::Null);
    }
}
