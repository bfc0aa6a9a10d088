//! The journal on Postgres alone, without Redis.

use std::collections::HashMap;

use sqlx::{Connection, PgConnection};

use crate::support::{App, Mode, eventually, locked, waiting_for, with_app_and_settings};

/// One recorder, whose redirects wait for the journal a tenth of a second once it was late.
const ONE_RECORDER: &[(&str, &str)] = &[
    ("REDIS_URL", ""),
    ("WORKERS", "1"),
    ("CLICK_DEADLINE_MS", "200"),
];

/// How often the journal missed a deadline.
async fn missed_deadlines(app: &App) -> u64 {
    let metrics = app.get("/metrics").await.text;
    let line = "shunt_click_batches_total{sink=\"journal\",outcome=\"failed\"} ";
    let missed = metrics.lines().find_map(|text| text.strip_prefix(line));
    missed.map_or(0, |missed| missed.parse().unwrap())
}

#[tokio::test]
async fn a_recorder_never_has_two_appends_under_way() {
    with_app_and_settings(Mode::Production, ONE_RECORDER, async |app| {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let settings: HashMap<_, _> = app.backend.settings().into_iter().collect();
        let url = &settings["DATABASE_URL"];
        let mut holder = PgConnection::connect(url).await.unwrap();
        let mut observer = PgConnection::connect(url).await.unwrap();
        let lock = locked(&mut holder, "LOCK TABLE click_parts IN SHARE MODE").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        while missed_deadlines(app).await < 3 {
            let appends = waiting_for(&mut observer, "is_new_batch").await;
            assert!(appends <= 1, "{appends} appends wait");
        }
        lock.rollback().await.unwrap();
        eventually("the click is counted", async || {
            app.get(&format!("/urls/{code}/stats")).await.status == 200
        })
        .await;
    })
    .await;
}
