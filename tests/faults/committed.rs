//! What is committed is answered so, although Postgres fails in the middle of the request.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Mode, Response, unique};

/// Gives the account with an e-mail address the role.
const GRANT: &str = "INSERT INTO user_roles (user_id, role, granted_at) SELECT id, 'admin', created_at FROM users WHERE email = $1";

/// Postgres refuses such rows of a table as if it was shutting down.
async fn refuses(app: &App, event: &str, table: &str, rows: &str) {
    let refuse = format!(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the test has it fail' USING ERRCODE = '57P03'; END $$;
         CREATE TRIGGER refuses BEFORE {event} ON {table} FOR EACH ROW WHEN ({rows}) EXECUTE FUNCTION refuse()"
    );
    let mut connection = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    sqlx::raw_sql(AssertSqlSafe(refuse))
        .execute(&mut connection)
        .await
        .unwrap();
}

/// Links to `https://example.org/` and each of these.
fn links(ends: impl Iterator<Item = String>) -> Vec<Value> {
    ends.map(|end| json!({ "target_url": format!("https://example.org/{end}") }))
        .collect()
}

#[tokio::test]
async fn links_that_are_made_before_postgres_fails_are_told() {
    let app = App::start(Mode::Production).await;
    let token = app.register().await;
    refuses(&app, "INSERT", "links", "NEW.target_url LIKE '%/fails'").await;
    // More than are made by one statement.
    let mut many = links((0..1_000).map(|number| number.to_string()));
    many.push(json!({ "target_url": "no URL" }));
    many.extend(links(["fails".to_owned(), "after".to_owned()].into_iter()));
    let post = async |links: &[Value]| {
        let request = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
        Response::of(request.json(links)).await
    };
    let made = post(&many).await;
    assert_eq!(made.status, 200, "{made:?}");
    let statuses = |response: &Response| -> Vec<u64> {
        let results = response.json();
        results
            .as_array()
            .unwrap()
            .iter()
            .map(|link| link["status"].as_u64().unwrap())
            .collect()
    };
    let mut expected = vec![200; 1_000];
    expected.extend([422, 503, 503]);
    assert_eq!(statuses(&made), expected);
    // Those with a chosen code are made first.
    let chosen = json!([
        { "target_url": "https://example.org/fails" },
        { "target_url": "https://example.org/chosen", "custom_code": "of-my-choice" },
    ]);
    let made = post(chosen.as_array().unwrap()).await;
    assert_eq!(
        (made.status.as_u16(), statuses(&made)),
        (200, vec![503, 200])
    );
    let none = post(&links(["fails".to_owned()].into_iter())).await;
    assert_eq!(none.status, 503, "{none:?}");
    let listed = app.get_as(&token, "/urls/my").await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1_001);
    app.finish().await;
}

#[tokio::test]
async fn a_removal_is_answered_although_its_links_cannot_be_gone_over() {
    let app = App::start(Mode::Production).await;
    let email = format!("{}@example.org", unique());
    let account = app
        .account("/auth/register", &email, "correct horse")
        .await
        .json();
    let token = account["access_token"].as_str().unwrap();
    app.backend.execute(GRANT, &email).await;
    app.shorten(token, "https://evil.example/").await;
    refuses(&app, "UPDATE", "links", "NEW.removed_status IS NOT NULL").await;
    let body = json!({ "kind": "host", "value": "evil.example", "reason": "phishing" });
    let removal = app
        .request(Method::POST, "/admin/removals")
        .bearer_auth(token);
    let removal = Response::of(removal.json(&body)).await;
    assert_eq!(removal.status, 200, "{removal:?}");
    assert_eq!(removal.json()["progress"], json!("running"), "{removal:?}");
    let refused = app.try_shorten(token, "https://evil.example/other").await;
    assert_eq!(refused.status, 422, "{refused:?}");
    app.finish().await;
}

#[tokio::test]
async fn an_account_or_a_password_is_answered_although_no_session_can_begin() {
    let app = App::start(Mode::Production).await;
    let mut browser = Browser::new(&app);
    browser.sign_up().await;
    refuses(&app, "INSERT", "web_sessions", "true").await;
    let passwords = [
        ("old_password", "correct horse"),
        ("new_password", "another horse"),
    ];
    let changed = browser
        .send("/app/account", "/app/account/password", &passwords)
        .await;
    leads_to(&changed, "/app/login?done=password");
    let page = browser.get("/app/login?done=password").await.text;
    assert!(
        page.contains("The password is changed. Sign in with the new password."),
        "{page}"
    );
    let mut other = Browser::new(&app);
    let email = format!("{}@example.org", unique());
    let fields = [("email", email.as_str()), ("password", "correct horse")];
    let made = other.send("/app/register", "/app/register", &fields).await;
    leads_to(&made, "/app/login?done=account");
    let page = other.get("/app/login?done=account").await.text;
    assert!(
        page.contains("Your account is ready. Sign in to continue."),
        "{page}"
    );
    assert_eq!(
        app.account("/auth/login", &email, "correct horse")
            .await
            .status,
        200
    );
    app.finish().await;
}

#[tokio::test]
async fn links_of_a_selection_that_are_changed_before_postgres_fails_are_told() {
    let app = App::start(Mode::Production).await;
    let mut browser = Browser::new(&app);
    browser.sign_up().await;
    let fails = browser
        .make(&[("target_url", "https://example.org/fails")])
        .await;
    let ended = browser
        .make(&[("target_url", "https://example.org/")])
        .await;
    refuses(&app, "UPDATE", "links", "NEW.target_url LIKE '%/fails'").await;
    let end = [
        ("action", "pause"),
        ("code", fails.as_str()),
        ("code", ended.as_str()),
    ];
    let answered = browser.send("/app", "/app/links/selected", &end).await;
    leads_to(&answered, "/app?done=partly");
    let list = browser.get("/app?done=partly").await.text;
    assert!(
        list.contains("Only some of the selected links were changed."),
        "{list}"
    );
    assert_eq!(app.get(&format!("/{ended}")).await.status, 404);
    assert_eq!(app.visit(&format!("/{fails}")).await.status, 302);
    let none = browser.send("/app", "/app/links/selected", &end[..2]).await;
    assert_eq!(none.status, 503, "{none:?}");
    app.finish().await;
}
