//! Changing links.

use futures_util::future::join;
use reqwest::Method;
use serde_json::{Value, json};

use super::{make, patch, show};
use crate::support::{App, Mode, Response, both_modes, links};

both_modes! {
    async fn an_edit_is_felt_at_once_and_keeps_the_clicks(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/0").await;
        for number in 1..=10_u64 {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            let target = format!("https://example.org/{number}");
            let edited = patch(app, &token, &code, &json!({"target_url": target})).await;
            assert_eq!(edited.status, 200, "{}", edited.text);
            assert_eq!((&edited.json()["clicks"], &edited.json()["target_url"]), (&json!(2 * number - 1), &json!(target)));
            assert_eq!(app.visit(&format!("/urls/r/{code}")).await.header("location"), target);
            patch(app, &token, &code, &json!({"is_active": false})).await;
            app.get(&format!("/{code}")).await.is_error(404, "URL not found");
            patch(app, &token, &code, &json!({"is_active": true})).await;
            let previewed = app.request(Method::HEAD, &format!("/{code}"));
            assert_eq!(Response::of(previewed).await.header("location"), target);
            assert_eq!(app.clicks(&code).await, 2 * number);
        }
    }

    async fn fields_that_are_not_named_stay_and_null_takes_a_value_away(app) {
        let token = app.register().await;
        let made = make(app, &token, &links::with_every_field("https://example.org/", "patched")).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let first = made.json();
        let same = patch(app, &token, "patched", &json!({})).await;
        assert_eq!((same.json(), same.header("etag")), (first.clone(), made.header("etag")));
        let tagged = patch(app, &token, "patched", &json!({"tags": ["c"]})).await;
        let changed: Vec<_> = tagged.json().as_object().unwrap().iter()
            .filter(|(field, value)| first[field.as_str()] != **value).map(|(field, _)| field.clone()).collect();
        assert_eq!(changed, ["tags", "updated_at"]);
        assert_ne!(tagged.header("etag"), made.header("etag"));
        let nothing: Value = links::fields().into_iter().map(|(field, _)| (field.to_owned(), Value::Null)).collect();
        let cleared = patch(app, &token, "patched", &nothing).await.json();
        for (field, value) in links::fields() {
            let nothing = match value {
                Value::Array(_) => json!([]),
                Value::Bool(_) => json!(false),
                _ => Value::Null,
            };
            assert_eq!(cleared[field], nothing, "{field}");
        }
        assert_eq!(show(app, &token, "patched").await.json(), cleared);
    }

    async fn a_link_may_end_at_any_moment_that_there_is(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for (end, status) in [
            ("0000-01-01T00:00:00Z", "expired"), ("0001-02-03T04:05:06.789013Z", "expired"),
            ("2999-12-31T23:59:59.123457Z", "active"), ("9999-12-30T22:00:00Z", "active"),
        ] {
            let edited = patch(app, &token, &code, &json!({"expires_at": end})).await;
            assert_eq!((&edited.json()["expires_at"], &edited.json()["status"]), (&json!(end), &json!(status)));
            assert_eq!(show(app, &token, &code).await.json(), edited.json());
        }
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn an_edit_is_refused_by_field(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for (body, detail) in [
            (json!({"target_url": null}), "target_url: must not be null"),
            (json!({"target_url": "nowhere"}), "target_url: must be an absolute http:// or https:// URL with a host"),
            (json!({"is_active": null}), "is_active: must not be null"),
            (json!({"is_active": "yes"}), "is_active: must be a boolean"),
            (json!({"expires_at": "2027-01-31"}), "expires_at: must have a zone, such as 2027-01-31T18:00:00+01:00"),
            (json!({"titel": "x"}), "titel: is not known here; did you mean title?"),
            (json!([]), "body: must be a JSON object"),
        ] {
            patch(app, &token, &code, &body).await.is_error(422, detail);
        }
        patch(app, "no-token", &code, &json!({})).await.is_error(401, "Not authenticated");
    }

    async fn if_match_lets_one_of_two_edits_through(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let tag = show(app, &token, &code).await.header("etag").to_owned();
        let edit = async |tag: &str, title: &str| {
            let request = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
            Response::of(request.header("If-Match", tag).json(&json!({"title": title}))).await
        };
        let (one, two) = join(edit(&tag, "one"), edit(&tag, "two")).await;
        let statuses = [one.status.as_u16(), two.status.as_u16()];
        assert!(matches!(statuses, [200, 412] | [412, 200]), "{statuses:?}");
        edit(&format!("W/{tag}"), "weak").await.is_error(412, "If-Match: the link was changed meanwhile; read it again");
        assert_eq!(edit("*", "any").await.status, 200);
        let now = show(app, &token, &code).await;
        assert_eq!(edit(&format!("\"other\", {}", now.header("etag")), "listed").await.status, 200);
    }

    async fn a_link_that_is_as_its_owner_has_it_is_not_sent_again(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let shown_if = async |tags: &str| {
            let request = app.request(Method::GET, &format!("/urls/{code}")).bearer_auth(&token);
            Response::of(request.header("If-None-Match", tags)).await
        };
        let tag = show(app, &token, &code).await.header("etag").to_owned();
        for tags in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let same = shown_if(&tags).await;
            assert_eq!((same.status.as_u16(), same.text.as_str(), same.header("etag")), (304, "", tag.as_str()), "{tags}");
        }
        for tags in ["\"other\"", "", "no tag"] {
            assert_eq!(shown_if(tags).await.status, 200, "{tags}");
        }
        // The count is a part of what is shown, and none of what `If-Match` is about.
        app.visit(&format!("/{code}")).await;
        let counted = shown_if(&tag).await;
        assert_eq!((counted.status.as_u16(), &counted.json()["clicks"]), (200, &json!(1)));
        let edit = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
        let edited = Response::of(edit.header("If-Match", &tag).json(&json!({"title": "once"}))).await;
        assert_eq!(edited.status, 200, "{}", edited.text);
        assert_eq!(shown_if(counted.header("etag")).await.status, 200);
        assert_eq!(shown_if(edited.header("etag")).await.status, 304);
    }
}

/// Whatever the order in which two edits are committed and announced, every instance ends with the later one.
#[tokio::test]
async fn two_edits_at_once_leave_no_instance_with_the_older_one() {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let token = app.register().await;
    for round in 0..20 {
        let code = app.shorten(&token, "https://example.org/start").await;
        let location = async |base: &str| {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
            let request = client.build().unwrap().get(format!("{base}/{code}"));
            Response::of(request).await.header("location").to_owned()
        };
        location(&app.server.base).await;
        location(&other.base).await;
        let edit = async |base: &str, target: String| {
            let client = reqwest::Client::new();
            let request = client
                .patch(format!("{base}/urls/{code}"))
                .bearer_auth(&token);
            Response::of(request.json(&json!({"target_url": target}))).await
        };
        let one = edit(&app.server.base, format!("https://example.org/{round}/one"));
        let two = edit(&other.base, format!("https://example.org/{round}/two"));
        let (one, two) = join(one, two).await;
        assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200));
        let truth = show(&app, &token, &code).await.json()["target_url"].clone();
        assert_eq!(location(&app.server.base).await, truth.as_str().unwrap());
        assert_eq!(location(&other.base).await, truth.as_str().unwrap());
    }
    drop(other);
    app.finish().await;
}
