//! The examples of `deploy/events`, as they stand.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::events;
use crate::suite::managed::send;
use crate::support::{App, Mode, eventually};

async fn key(app: &App, token: &str) -> String {
    let body = json!({"name": "feed", "scope": "read"});
    let made = send(app, Method::POST, token, "/auth/keys", &body).await;
    made.json()["key"].as_str().unwrap().to_owned()
}

/// An example that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn start(name: &str, app: &App, key: &str, argument: &str) -> Running {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("deploy/events")
        .join(name);
    let example = Command::new(script)
        .arg(argument)
        .env("SHUNT_URL", &app.server.base)
        .env("SHUNT_KEY", key)
        .stdin(Stdio::null())
        .spawn();
    Running(example.unwrap())
}

#[tokio::test]
async fn the_example_of_a_file_has_each_event_once_and_goes_on_where_it_was() {
    let app = App::start(Mode::Embedded).await;
    let token = app.register().await;
    let key = key(&app, &token).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    let lines = || std::fs::read_to_string(&file).unwrap_or_default();
    let mut count = 0;
    for _ in 0..2 {
        let _running = start("to-file", &app, &key, file.to_str().unwrap());
        for _ in 0..2 {
            app.shorten(&token, "https://example.org/").await;
            count += 1;
            eventually("it is in the file", async || {
                lines().lines().count() == count
            })
            .await;
        }
    }
    let told: Vec<_> = events(&app, &token, count).await;
    let in_file: Vec<serde_json::Value> = lines()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(in_file, told);
    app.finish().await;
}

#[tokio::test]
async fn the_example_of_a_table_has_each_event_once_and_goes_on_where_it_was() {
    let app = App::start(Mode::Production).await;
    let token = app.register().await;
    let key = key(&app, &token).await;
    let url = app.backend.database_url();
    let code = app.shorten(&token, "https://example.org/a?b='c'\\d").await;
    for visits in [3_i64, 2] {
        let _running = start("to-postgres", &app, &key, &url);
        for _ in 0..visits {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
        let expected = if visits == 3 { 3 } else { 5 };
        eventually("its clicks are in the table", async || {
            let sum = sqlx::query_scalar("SELECT sum(clicks)::bigint FROM shunt_events");
            let Ok(mut connection) = <PgConnection as Connection>::connect(&url).await else {
                return false;
            };
            let found: Result<Option<i64>, _> = sum.fetch_one(&mut connection).await;
            found.is_ok_and(|sum| sum == Some(expected))
        })
        .await;
    }
    app.finish().await;
}
