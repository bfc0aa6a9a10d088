//! While Redis cannot be read, answers that need not be exact have the counts of the database and say as of when.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use reqwest::{Method, StatusCode};
use serde_json::json;
use shunt::domain::{Clock, SystemClock, Timestamp};
use sqlx::{Connection, PgConnection};

use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, RedisServer, Response, eventually};

/// The moment in the header; `None` where the clicks are exact.
fn as_of(response: &Response) -> Option<Timestamp> {
    assert_eq!(response.status, 200, "{response:?}");
    let moment = response.headers.get("clicks-as-of")?;
    Some(moment.to_str().unwrap().parse().unwrap())
}

async fn is_away(app: &App) {
    eventually("Redis is found away", async || {
        app.get("/ready").await.json()["redis"] == json!("away")
    })
    .await;
}

/// Clicks that wait in Redis for long are no part of the database's counts.
const SELDOM: (&str, &str) = ("FLUSH_INTERVAL_MS", "600000");

#[tokio::test]
async fn an_edit_that_is_committed_while_redis_hangs_is_answered_so() {
    let redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", url.as_str())]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..3 {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    app.written_back(&code, 3).await;
    let path = format!("/urls/{code}");
    let mut etag = app.get_as(&token, &path).await.header("etag").to_owned();
    redis.pause();
    for title in ["one", "two"] {
        let edit = app.request(Method::PATCH, &path).bearer_auth(&token);
        let edit = edit
            .header("if-match", &etag)
            .json(&json!({ "title": title }));
        let edited = Response::of(edit).await;
        assert!(as_of(&edited).is_some(), "{edited:?}");
        let body = edited.json();
        assert_eq!(
            (&body["title"], &body["clicks"]),
            (&json!(title), &json!(3))
        );
        etag = edited.header("etag").to_owned();
    }
    let shown = app.get_as(&token, &path).await;
    assert!(as_of(&shown).is_some());
    assert_eq!(
        (shown.header("etag"), &shown.json()["title"]),
        (etag.as_str(), &json!("two"))
    );
    let limited = app.request(Method::PATCH, &path).bearer_auth(&token);
    let limited = Response::of(limited.json(&json!({ "max_clicks": 9 }))).await;
    assert_eq!(limited.status, 200, "{limited:?}");
    assert_eq!(app.delete(&token, &code).await.status, 204);
    redis.resume();
    app.finish().await;
}

#[tokio::test]
async fn what_is_committed_is_answered_so_although_the_time_of_its_request_is_over() {
    let redis = RedisServer::start(&[]).await;
    let url = redis.url();
    // An announcement waits a second for Redis.
    let settings = [
        ("REDIS_URL", url.as_str()),
        ("REQUEST_TIMEOUT_SECONDS", "1"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    redis.pause();
    let path = format!("/urls/{code}");
    let edit = app.request(Method::PATCH, &path).bearer_auth(&token);
    let edited = Response::of(edit.json(&json!({ "title": "new" }))).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    let chosen = "/urls/shorten?target_url=https://example.org/&custom_code=of-my-choice";
    let made = app.request(Method::POST, chosen).bearer_auth(&token);
    assert_eq!(Response::of(made).await.status, 200);
    let many = json!([{"target_url": "https://example.org/", "custom_code": "one-of-many"}]);
    let made = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
    assert_eq!(Response::of(made.json(&many)).await.status, 200);
    assert_eq!(app.delete(&token, &code).await.status, 204);
    let gone = app.request(Method::DELETE, "/auth/me").bearer_auth(&token);
    let gone = Response::of(gone.json(&json!({ "password": "correct horse" }))).await;
    assert_eq!(gone.status, 204, "{gone:?}");
    redis.resume();
    app.finish().await;
}

#[tokio::test]
async fn lists_views_exports_and_pages_are_answered_while_redis_is_away_and_statistics_are_not() {
    let mut redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
    let url = redis.url();
    // A click that a late Redis leaves to the database would be shown below.
    let deadline = ("CLICK_DEADLINE_MS", "10000");
    let settings = [("REDIS_URL", url.as_str()), SELDOM, deadline];
    let app = App::start_with(Mode::Production, &settings).await;
    let mut browser = Browser::new(&app);
    browser.sign_up().await;
    let code = browser
        .make(&[("target_url", "https://example.org/")])
        .await;
    let token = {
        let account = browser
            .send(
                "/app/account",
                "/app/account/keys",
                &[("name", "k"), ("scope", "write")],
            )
            .await;
        let at = account.text.find("<code>shunt_").unwrap() + "<code>".len();
        account.text[at..].split('<').next().unwrap().to_owned()
    };
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    let view = format!("/urls/{code}");
    assert_eq!(as_of(&app.get_as(&token, &view).await), None);
    redis.kill();
    is_away(&app).await;
    // This one is in the database, and the one before it is not.
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    let export = format!("/urls/{code}/stats/export");
    for path in [
        view.as_str(),
        "/urls/my",
        "/urls/my?limit=5",
        "/urls/my?sort=-clicks&limit=5&view=full",
        "/urls/my?sort=clicks",
        "/urls/export?format=csv",
        "/urls/export?format=ndjson",
        &export,
    ] {
        let answered = app.get_as(&token, path).await;
        assert!(as_of(&answered).unwrap() < SystemClock.now(), "{path}");
    }
    assert_eq!(app.get_as(&token, &view).await.json()["clicks"], json!(1));
    let (page, of_all) = (format!("/app/links/{code}"), "/app/all".to_owned());
    for path in ["/app", "/app?sort=-clicks", &page, &of_all] {
        let shown = browser.get(path).await;
        assert!(as_of(&shown).is_some(), "{path}");
        let said = "Click counts are as of ";
        assert!(shown.text.contains(said), "{path}: {}", shown.text);
    }
    for path in ["/app/export", &format!("{page}/export"), "/app/all/export"] {
        assert!(as_of(&browser.get(path).await).is_some(), "{path}");
    }
    let preview = browser.get(&format!("/{code}+")).await;
    assert!(as_of(&preview).is_some());
    assert!(preview.text.contains("(as of "), "{}", preview.text);
    let form = format!("{page}/edit");
    let revision = revision(&browser.get(&form).await.text);
    let edited = browser
        .send(
            &form,
            &form,
            &[
                ("revision", revision.as_str()),
                ("target_url", "https://example.org/new"),
                ("is_active", "on"),
            ],
        )
        .await;
    assert_eq!(edited.status, 303, "{edited:?}");
    for path in [
        format!("{view}/stats"),
        format!("{view}/stats/series"),
        "/urls/my/series".to_owned(),
        format!("{view}/stats/live"),
    ] {
        let refused = app.get_as(&token, &path).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (StatusCode::SERVICE_UNAVAILABLE, "1"),
            "{path}"
        );
    }
    redis.start_again().await;
    eventually("clicks are exact again", async || {
        let shown = app.get_as(&token, &view).await;
        as_of(&shown).is_none() && shown.json()["clicks"] == json!(2)
    })
    .await;
    assert!(
        !browser
            .get("/app")
            .await
            .text
            .contains("Click counts are as of ")
    );
    app.finish().await;
}

fn revision(page: &str) -> String {
    let at = page.find("name=\"revision\" value=\"").expect(page);
    page[at..].split('"').nth(3).unwrap().to_owned()
}

#[tokio::test]
async fn every_click_that_was_answered_before_the_moment_is_counted() {
    let mut redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
    let url = redis.url();
    let settings = [("REDIS_URL", url.as_str()), ("FLUSH_INTERVAL_MS", "50")];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let mut answered = Vec::new();
    let (visit, view) = (format!("/{code}"), format!("/urls/{code}"));
    for round in 0..4 {
        for number in 0..60 {
            // Batches in doubt are parked, and come late.
            if number % 20 == 10 {
                redis.pause();
            }
            assert_eq!(app.visit(&visit).await.status, 302);
            answered.push(SystemClock.now());
            if number % 20 == 12 {
                redis.resume();
            }
        }
        if round % 2 == 0 {
            redis.pause();
        } else {
            redis.kill();
        }
        let mut moments = Vec::new();
        for _ in 0..3 {
            let shown = app.get_as(&token, &view).await;
            let clicks = usize::try_from(shown.json()["clicks"].as_u64().unwrap()).unwrap();
            let moment = as_of(&shown).unwrap_or_else(|| SystemClock.now());
            let before = answered.iter().filter(|at| **at < moment).count();
            assert!(
                before <= clicks && clicks <= answered.len(),
                "{before} {clicks} {moment}"
            );
            moments.push(moment);
        }
        assert!(moments.is_sorted(), "{moments:?}");
        if round % 2 == 0 {
            redis.resume();
        } else {
            redis.start_again().await;
        }
        let newest = *answered.last().unwrap();
        eventually("clicks are exact again", async || {
            as_of(&app.get_as(&token, &view).await).is_none()
        })
        .await;
        assert_eq!(app.clicks(&code).await, answered.len() as u64);
        if round == 3 {
            // The moment follows the clicks, and goes on without any.
            eventually("the moment is after the last click", async || {
                noted(&app).await > newest.micros()
            })
            .await;
            redis.pause();
            assert!(as_of(&app.get_as(&token, &view).await).unwrap() > newest);
            redis.resume();
        }
    }
    app.finish().await;
}

/// Runs a command of the client to its end, for a person with this home.
fn client(app: &App, home: &Path, line: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shunt"))
        .args(line)
        .env_clear()
        .env("HOME", home)
        .env("SHUNT_URL", &app.server.base)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test]
async fn the_command_line_says_on_standard_error_as_of_when_clicks_are() {
    let mut redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", url.as_str())]).await;
    let home = tempfile::tempdir().unwrap();
    let run = |line: &[&str], input: &str| client(&app, home.path(), line, input);
    assert_eq!(run(&["register", "ada@example.org"], "correct horse").0, 0);
    let (_, short_url, _) = run(&["shorten", "https://example.org/"], "");
    let code = short_url.trim().rsplit('/').next().unwrap().to_owned();
    assert_eq!(run(&["list"], "").2, "");
    redis.kill();
    is_away(&app).await;
    for line in [
        &["list"][..],
        &["list", "--json"],
        &["show", &code],
        &["export"],
        &["edit", &code, "--title", "new"],
    ] {
        let (exit, out, err) = run(line, "");
        assert_eq!(exit, 0, "{line:?} {err}");
        assert!(out.contains(&code), "{line:?} {out}");
        let said = "shunt: click counts are as of 20";
        assert!(
            err.starts_with(said) && err.lines().count() == 1,
            "{line:?} {err}"
        );
    }
    let (exit, _, err) = run(&["stats", &code], "");
    assert_eq!((exit, err.contains("as of")), (5, false), "{err}");
    app.server_only().await;
}

#[tokio::test]
async fn a_whole_list_that_began_with_exact_clicks_breaks_off_rather_than_ends_with_others() {
    let mut redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", url.as_str())]).await;
    let token = app.register().await;
    // More than the sockets between keep.
    let target = format!("https://example.org/{}", "x".repeat(2_000));
    let links: Vec<_> = (0..9_000)
        .map(|_| json!({ "target_url": target }))
        .collect();
    let bulk = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
    assert_eq!(Response::of(bulk.json(&links)).await.status, 200);
    let list = app.request(Method::GET, "/urls/my").bearer_auth(&token);
    let response = list.send().await.unwrap();
    assert_eq!(
        (
            response.status().as_u16(),
            response.headers().get("clicks-as-of")
        ),
        (200, None)
    );
    redis.kill();
    is_away(&app).await;
    assert!(response.text().await.is_err(), "it is no whole list");
    app.server_only().await;
}

/// The moment that the ledger has, in microseconds.
async fn noted(app: &App) -> i64 {
    let mut connection = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    let noted = "SELECT coalesce(max(written_up_to), 0) FROM data_sets";
    sqlx::query_scalar(noted)
        .fetch_one(&mut connection)
        .await
        .unwrap()
}
