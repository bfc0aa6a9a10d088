//! Security events in the log.

use serde_json::{Value, json};

use super::{
    PASSWORD, account, change_password, delete_account, log_in, log_out_everywhere, send, token_of,
};
use crate::support::{App, both_modes, eventually};

/// The events so far: name, account and address of each.
async fn events(app: &App, last: &str) -> Vec<(String, Value, Value)> {
    eventually("the event is logged", async || {
        app.server.log().contains(last)
    })
    .await;
    let log = app.server.log();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let events = lines.filter(|line| line.to_string().contains("security event"));
    events
        .map(|line| {
            let field = |name: &str| {
                [&line[name], &line["fields"][name]]
                    .into_iter()
                    .find(|value| !value.is_null())
                    .cloned()
                    .unwrap_or_default()
            };
            (
                field("event").as_str().unwrap().to_owned(),
                field("user"),
                field("address"),
            )
        })
        .collect()
}

both_modes! {
    with &[("LOG_FORMAT", "json")];

    async fn what_happens_to_an_account_is_in_the_log_by_owasps_names_and_without_its_address(app) {
        let (email, token) = account(app).await;
        let id = app.get_as(&token, "/auth/me").await.json()["id"].clone();
        let login = token_of(&log_in(app, &email, PASSWORD).await);
        log_in(app, &email, "wrong horse").await;
        log_in(app, "nobody-at-all@example.org", "wrong horse").await;
        change_password(app, &login, "wrong horse", "another horse").await;
        let token = token_of(&change_password(app, &login, PASSWORD, "another horse").await);
        let key = send(app, reqwest::Method::POST, &token, "/auth/keys", &json!({ "name": "x", "scope": "read" })).await.json();
        app.try_shorten(key["key"].as_str().unwrap(), "https://example.org/").await;
        let path = format!("/auth/keys/{}", key["id"]);
        send(app, reqwest::Method::DELETE, &token, &path, &json!({})).await;
        log_out_everywhere(app, &token).await;
        let token = token_of(&log_in(app, &email, "another horse").await);
        delete_account(app, &token, "another horse").await;
        let of_account = |name: &str| (name.to_owned(), id.clone(), json!("127.0.0.1"));
        assert_eq!(events(app, "user_deleted").await, [
            of_account("user_created"),
            of_account("authn_login_success"),
            of_account("authn_login_fail"),
            ("authn_login_fail".to_owned(), Value::Null, json!("127.0.0.1")),
            of_account("authn_password_change_fail"),
            of_account("authn_password_change"),
            of_account("authn_token_created"),
            of_account("authz_fail"),
            of_account("authn_token_revoked"),
            of_account("authn_token_revoked"),
            of_account("authn_login_success"),
            of_account("user_deleted"),
        ]);
        let log = app.server.log();
        for secret in [&email, &token, "another horse", key["key"].as_str().unwrap()] {
            assert!(!log.contains(secret), "{secret} is in the log");
        }
    }
}
