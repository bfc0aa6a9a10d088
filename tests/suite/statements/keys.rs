//! The key that signs: given, made, changed, or missing.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use shunt::domain::sha256_of;

use super::{
    KEY, OTHER_KEY, ask, clicked, is_verified, key_set, made_at, old_link, read, statement,
};
use crate::support::{App, Mode, both_modes};

/// Stops the service and starts it with another key.
async fn restart(app: &mut App, settings: &[(&str, &str)]) {
    app.server.stop().await;
    app.server = app.another(settings).await;
}

both_modes! {
    with &[("STATEMENT_KEY", KEY)];

    async fn a_statement_stays_the_same_whatever_clicks_and_keys_do(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        clicked(app, &code, "2026-09-10T13:00:00Z", 5).await;
        let issued = statement(app, &token, &code, "month=2026-09").await;
        let before = key_set(app).await;
        // A click that comes to light late.
        clicked(app, &code, "2026-09-10T13:00:00Z", 1).await;
        assert_eq!(statement(app, &token, &code, "month=2026-09").await, issued);
        restart(app, &[("STATEMENT_KEY", OTHER_KEY)]).await;
        assert_eq!(statement(app, &token, &code, "month=2026-09").await, issued);
        let next = statement(app, &token, &code, "month=2026-10").await;
        assert_eq!(read(&next)["previous"], sha256_of(&issued));
        assert_ne!(read(&next)["key_id"], read(&issued)["key_id"]);
        let keys = key_set(app).await;
        let keys_of = |set: &serde_json::Value| set["keys"].as_array().unwrap().clone();
        assert_eq!(keys_of(&keys).len(), 2);
        assert_eq!(keys["keys"][0]["kid"], read(&next)["key_id"], "the key that signs comes first");
        assert_eq!(keys_of(&keys)[1..], keys_of(&before));
        assert!(is_verified(&issued, &keys) && is_verified(&next, &keys));
        // The key of a statement stays, also when its link is gone.
        assert_eq!(app.delete(&token, &code).await.status, 204);
        let ended = app.request(reqwest::Method::DELETE, &format!("/urls/trash/{code}")).bearer_auth(&token);
        assert_eq!(ended.send().await.unwrap().status(), 204);
        assert_eq!(key_set(app).await, keys);
    }
}

#[tokio::test]
async fn an_embedded_service_makes_its_key_at_the_first_start_and_keeps_it() {
    let mut app = App::start(Mode::Embedded).await;
    let token = app.register().await;
    let code = old_link(&app, &token).await;
    let path = app.backend.folder().join("shunt.db.statement-key");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let september = statement(&app, &token, &code, "month=2026-09").await;
    let keys = key_set(&app).await;
    assert!(is_verified(&september, &keys));
    restart(&mut app, &[]).await;
    assert_eq!(key_set(&app).await, keys);
    // Programs of others read the file.
    let read = std::process::Command::new("openssl")
        .args(["pkey", "-noout", "-in"])
        .arg(&path)
        .status();
    assert!(read.unwrap().success());
    app.finish().await;
}

#[tokio::test]
async fn without_a_key_statements_that_were_issued_are_answered_and_no_others() {
    let mut app = App::start_with(Mode::Production, &[("STATEMENT_KEY", KEY)]).await;
    let token = app.register().await;
    let code = old_link(&app, &token).await;
    let issued = statement(&app, &token, &code, "month=2026-09").await;
    let keys = key_set(&app).await;
    restart(&mut app, &[]).await;
    assert_eq!(
        statement(&app, &token, &code, "month=2026-09").await,
        issued
    );
    ask(&app, &token, &code, "month=2026-10").await.is_error(
        501,
        "This service signs no statements; its operator has to set STATEMENT_KEY",
    );
    assert_eq!(key_set(&app).await, keys);
    app.finish().await;
}

#[tokio::test]
async fn instances_with_different_keys_issue_one_statement() {
    let app = App::start_with(Mode::Production, &[("STATEMENT_KEY", KEY)]).await;
    let other = app.another(&[("STATEMENT_KEY", OTHER_KEY)]).await;
    let token = app.register().await;
    for round in 0..4 {
        let code = old_link(&app, &token).await;
        made_at(&app, &code, "2026-08-01T00:00:00Z").await;
        let path = format!("/urls/{code}/statement?month=2026-10");
        let asked = [&app.server.base, &other.base].map(|base| {
            let request = reqwest::Client::new().get(format!("{base}{path}"));
            crate::support::Response::of(request.bearer_auth(&token))
        });
        let [one, another] = asked;
        let (one, another) = tokio::join!(one, another);
        assert_eq!(one.status, 200, "{round}: {one:?}");
        assert_eq!(one.text, another.text, "{round}");
        assert!(is_verified(&one.text, &key_set(&app).await));
        assert_eq!(read(&one.text)["clicks"], json!(0));
    }
    drop(other);
    app.finish().await;
}
