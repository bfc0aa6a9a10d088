//! A backup that is made under load, and restored.

use std::path::PathBuf;

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::faults::postgres::Postgres;
use crate::faults::{MAX_DELAY, WITHOUT_REDIS, redirects_go_on, under_load, warm_links};
use crate::support::{App, Mode, Server, eventually};

/// Other links, so that the dump takes a while.
const OTHERS: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
    SELECT 'other-' || number, 'https://example.org/' || repeat('x', 200), (SELECT min(id) FROM users), now_micros()
    FROM generate_series(1, 200000) number";

async fn clicks(server: &Server, code: &str) -> u64 {
    let stats = reqwest::get(format!("{}/urls/{code}/stats", server.base)).await;
    let stats: Value = stats.unwrap().json().await.unwrap();
    stats["clicks"]
        .as_u64()
        .unwrap_or_else(|| panic!("{stats}"))
}

/// The id of the newest event of a feed.
async fn newest_event(server: &Server, token: &str) -> Option<String> {
    let url = format!("{}/urls/my/events", server.base);
    let read = reqwest::Client::new().get(url).bearer_auth(token).send();
    let events = read.await.unwrap().text().await.unwrap();
    let newest: Value = serde_json::from_str(events.lines().last()?).unwrap();
    Some(newest["id"].as_str().unwrap().to_owned())
}

/// The status of the feed after a cursor.
async fn events_after(server: &Server, token: &str, cursor: &str) -> u16 {
    let url = format!("{}/urls/my/events?after={cursor}", server.base);
    let read = reqwest::Client::new().get(url).bearer_auth(token).send();
    read.await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_under_load_delays_no_redirect_and_is_restored_with_the_counts_of_its_moment()
{
    let postgres = Postgres::start();
    let url = postgres.url();
    let app = App::start_with(Mode::Production, &[("DATABASE_URL", &url), WITHOUT_REDIS]).await;
    let codes = warm_links(&app).await;
    let reader = app.register().await;
    let mut database = postgres.connection().await;
    sqlx::raw_sql(OTHERS).execute(&mut database).await.unwrap();
    let (_, load) = under_load(&app, &codes).await;
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("shunt.dump");
    load.tally.watch_from_now();
    let before: Vec<_> = (0..codes.len())
        .map(|link| load.tally.answered_to(link))
        .collect();
    let postgres = tokio::task::block_in_place(|| {
        postgres.dump(&file);
        postgres
    });
    let after: Vec<_> = (0..codes.len())
        .map(|link| load.tally.sent_to(link))
        .collect();
    assert!(before < after, "there was load during the dump");
    redirects_go_on(&load).await;
    assert!(load.tally.slowest() < MAX_DELAY);
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    tally.check_bounds(&app).await;

    app.shorten(&reader, "https://example.org/after").await;
    eventually("the feed has it", async || {
        newest_event(&app.server, &reader).await.is_some()
    })
    .await;
    let cursor = newest_event(&app.server, &reader).await.unwrap();
    assert_eq!(events_after(&app.server, &reader, &cursor).await, 200);

    let restored = postgres.restore(&file, "restored");
    let mut database = PgConnection::connect(&restored).await.unwrap();
    let newest: i64 = sqlx::query_scalar("SELECT max(id) FROM links")
        .fetch_one(&mut database)
        .await
        .unwrap();
    let server = app
        .another(&[("DATABASE_URL", &restored), WITHOUT_REDIS])
        .await;
    let status = events_after(&server, &reader, &cursor).await;
    assert_eq!(status, 410, "the database went back");
    for (link, code) in codes.iter().enumerate() {
        let counted = clicks(&server, code).await;
        let (at_least, at_most) = (before[link], after[link]);
        assert!(
            (at_least..=at_most).contains(&counted),
            "{at_least} <= {counted} <= {at_most}"
        );
        assert_eq!(server.follow(code).await, 302);
        assert_eq!(clicks(&server, code).await, counted + 1);
    }
    let mut restored = App::of(crate::support::Backend::new(Mode::Production).await, server);
    restored.is_on_backend = false;
    let token = restored.register().await;
    let made = restored
        .try_shorten(&token, "https://example.org/new")
        .await;
    assert!(
        made.json()["id"].as_i64().unwrap() > newest + 999_999,
        "{made:?}"
    );
    // Also when the feed has come as far as it was before.
    restored.shorten(&reader, "https://example.org/new").await;
    eventually("the feed has it", async || {
        newest_event(&restored.server, &reader).await.is_some()
    })
    .await;
    let here = newest_event(&restored.server, &reader).await.unwrap();
    assert_eq!(events_after(&restored.server, &reader, &here).await, 200);
    let there = format!("{}{}", &cursor[..8], &here[8..]);
    assert_eq!(events_after(&restored.server, &reader, &there).await, 410);
    restored.finish().await;
    app.finish().await;
}
