//! A real PgBouncer in transaction mode between the service and Postgres.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;

use crate::support::{App, Backend, PgBouncer, Response, Server, admin_url};

/// Clients at once: many more than PgBouncer has connections to Postgres.
const CLIENTS: usize = 16;

/// Everything that a user does, through one instance.
pub(crate) async fn uses_everything(app: &App) {
    let token = app.register().await;
    let me = app.get_as(&token, "/auth/me").await;
    let email = me.json()["email"].as_str().unwrap().to_owned();
    let again = app.account("/auth/login", &email, "correct horse").await;
    assert_eq!(again.status, 200, "{again:?}");
    let wrong = app.account("/auth/register", &email, "correct horse").await;
    wrong.is_error(400, "Email already registered");
    for number in 0..3 {
        let target = format!("https://example.org/{number}");
        let code = app.shorten(&token, &target).await;
        for clicks in 1..=3 {
            let visited = app.visit(&format!("/{code}")).await;
            assert_eq!(visited.header("location"), target);
            assert_eq!(app.clicks(&code).await, clicks);
        }
        let listed = app.get_as(&token, "/urls/my").await;
        assert_eq!(listed.json()[0]["short_code"], *code, "{listed:?}");
        if number == 0 {
            app.written_back(&code, 3).await;
        }
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 404);
    }
    uses_a_limit(app, &token).await;
}

/// A link that was clicked once gets a limit, and is clicked until it is used up.
async fn uses_a_limit(app: &App, token: &str) {
    let code = app.shorten(token, "https://example.org/").await;
    let path = format!("/{code}");
    assert_eq!(app.visit(&path).await.status, 302);
    let edit = app.request(Method::PATCH, &format!("/urls/{code}"));
    let edit = edit.bearer_auth(token).json(&json!({"max_clicks": 3}));
    assert_eq!(Response::of(edit).await.status, 200);
    for status in [302, 302, 404] {
        assert_eq!(app.visit(&path).await.status, status);
    }
    assert_eq!(app.clicks(&code).await, 3);
}

async fn works_through(pgbouncer_settings: &str, redis: Option<&str>) {
    let pgbouncer = PgBouncer::start(&admin_url(), pgbouncer_settings).await;
    let backend = Backend::empty("").await;
    let mut settings = backend.settings();
    for (name, value) in &mut settings {
        match (name.as_str(), redis) {
            ("DATABASE_URL", _) => *value = pgbouncer.url_of(value),
            ("REDIS_URL", Some(redis)) => redis.clone_into(value),
            _ => {}
        }
    }
    // A long deadline, so that a busy machine does not matter.
    settings.extend([("FLUSH_INTERVAL_MS", "20"), ("CLICK_DEADLINE_MS", "20000")].map(own));
    // Both start on an empty schema.
    let (first, second) = tokio::join!(Server::start(&settings), Server::start(&settings));
    let app = Arc::new(App::of(backend, first));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let app = Arc::clone(&app);
            tokio::spawn(async move { uses_everything(&app).await })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(second.follow(&code).await, 302);
    assert_eq!(app.clicks(&code).await, 1);
    assert_eq!(app.get("/ready").await.json()["database"], "up");
    let connections = app.backend.connections_of_the_service().await;
    assert!(
        (1..=PgBouncer::SERVERS).contains(&connections),
        "{connections} connections to Postgres"
    );
    drop(second);
    let app = Arc::into_inner(app).expect("every client is done");
    app.finish().await;
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[tokio::test]
async fn everything_works_through_pgbouncer_as_it_is_installed() {
    works_through("", None).await;
}

#[tokio::test]
async fn everything_works_through_pgbouncer_that_ignores_startup_parameters() {
    works_through("ignore_startup_parameters = options", None).await;
}

#[tokio::test]
async fn everything_works_through_pgbouncer_without_redis() {
    works_through("", Some("")).await;
}
