//! Faults of Postgres: redirects of known codes go on, and no click is lost.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::faults::api::Caller;
use crate::faults::postgres::Postgres;
use crate::faults::proxy::{Fault, Proxy};
use crate::faults::readers::Readers;
use crate::faults::{
    MAX_DELAY, WITHOUT_REDIS, metric, nothing_is_in_memory_alone, quick_or_long, redirects_go_on,
    under_full_load, under_load, warm_links,
};
use crate::support::{App, Mode, eventually};

#[tokio::test]
async fn postgres_away_stops_no_redirect_of_a_known_code_and_loses_no_click() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [
        ("DATABASE_URL", url.as_str()),
        ("FLUSH_INTERVAL_MS", "20"),
        // A Redis that is late counts as away, and is late on a busy machine: that would be a second fault.
        ("CLICK_DEADLINE_MS", "1000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let caller = Caller::of(&app).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    load.tally.slowest();

    postgres.stop();
    redirects_go_on(&load).await;
    caller.gets_503(&app).await;
    postgres.start_again();
    caller.is_served_again(&app).await;

    // Some cuts come between the commit of a flush and its removal from Redis.
    for _ in 0..quick_or_long(10, 100) {
        cut_all_connections(&url).await;
        sleep(Duration::from_millis(50)).await;
    }
    caller.is_served_again(&app).await;

    // A stopped Postgres answers nothing and closes nothing.
    postgres.signal("STOP");
    redirects_go_on(&load).await;
    caller.gets_503(&app).await;
    sleep(quick_or_long(
        Duration::from_secs(1),
        Duration::from_secs(10),
    ))
    .await;
    postgres.signal("CONT");
    caller.is_served_again(&app).await;

    let slowest = load.tally.slowest();
    assert!(slowest < MAX_DELAY, "a redirect took {slowest:?}");
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
}

#[tokio::test]
async fn an_outage_is_logged_at_its_start_and_at_its_end() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [("DATABASE_URL", url.as_str()), ("FLUSH_INTERVAL_MS", "20")];
    let app = App::start_with(Mode::Production, &settings).await;
    let caller = Caller::of(&app).await;
    postgres.stop();
    eventually("Postgres is found away", async || {
        metric(&app, "shunt_database_up").await < 1.0
    })
    .await;
    for _ in 0..50 {
        caller.gets_503(&app).await;
    }
    postgres.start_again();
    caller.is_served_again(&app).await;
    eventually("Postgres is found back", async || {
        metric(&app, "shunt_database_up").await > 0.0
    })
    .await;
    let times = |what| app.server.log().matches(what).count();
    assert_eq!(times("reaching the database fails"), 1);
    assert_eq!(times("reaching the database works again"), 1);
    assert_eq!(times("writing clicks back fails"), 1);
    let requests = times("answered 503");
    assert!((1..50).contains(&requests), "{requests} lines");
    app.finish().await;
}

#[tokio::test]
async fn a_deleted_link_is_not_followed_by_an_instance_that_reaches_only_redis() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let app = App::start_with(Mode::Production, &[("DATABASE_URL", url.as_str())]).await;
    let proxy = Proxy::to(&url).await;
    let other = app.another(&[("DATABASE_URL", proxy.url())]).await;
    let token = app.register().await;
    for _ in 0..5 {
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..3 {
            assert_eq!(other.follow(&code).await, 302);
        }
        proxy.inject(Fault::Cut);
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(other.follow(&code).await, 503);
        proxy.inject(Fault::None);
        eventually("the deletion takes effect", async || {
            other.follow(&code).await == 404
        })
        .await;
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn connections_to_a_read_only_postgres_are_replaced() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [("DATABASE_URL", url.as_str()), WITHOUT_REDIS];
    let app = App::start_with(Mode::Production, &settings).await;
    let caller = Caller::of(&app).await;
    let mut admin = postgres.connection().await;
    sqlx::raw_sql("ALTER ROLE CURRENT_USER SET default_transaction_read_only = on")
        .execute(&mut admin)
        .await
        .unwrap();
    cut_all_connections(&url).await;
    for _ in 0..3 {
        caller.is_answered_or_gets_503(&app).await;
    }
    let mut admin = postgres.connection().await;
    for statement in [
        "SET default_transaction_read_only = off",
        "ALTER ROLE CURRENT_USER RESET default_transaction_read_only",
    ] {
        sqlx::raw_sql(statement).execute(&mut admin).await.unwrap();
    }
    // Connections that were made meanwhile stay read-only and open, so the service has to replace them.
    caller.is_served_again(&app).await;
    app.finish().await;
}

async fn cut_all_connections(url: &str) {
    let mut admin = PgConnection::connect(url).await.unwrap();
    sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
        .execute(&mut admin)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_postgres_that_refuses_all_connections_is_away_and_no_defect() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let app = App::start_with(Mode::Production, &[("DATABASE_URL", &url)]).await;
    let caller = Caller::of(&app).await;
    let mut elsewhere = url::Url::parse(&url).unwrap();
    let database = elsewhere.path().trim_start_matches('/').to_owned();
    elsewhere.set_path("/template1");
    let mut admin = PgConnection::connect(elsewhere.as_str()).await.unwrap();
    let mut allow_connections = async |allowed: bool| {
        let alter = format!(
            "ALTER DATABASE {database} ALLOW_CONNECTIONS {allowed};
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(alter))
            .execute(&mut admin)
            .await
            .unwrap();
    };
    allow_connections(false).await;
    // The first requests meet the connections that were cut.
    for _ in 0..3 {
        caller.gets_503(&app).await;
    }
    allow_connections(true).await;
    caller.is_served_again(&app).await;
    app.finish().await;
}

#[tokio::test]
async fn postgres_behind_a_bad_network_stops_no_redirect_of_a_known_code_and_loses_no_click() {
    let postgres = Postgres::start();
    let proxy = Proxy::to(&postgres.url()).await;
    let settings = [
        ("DATABASE_URL", proxy.url()),
        ("FLUSH_INTERVAL_MS", "20"),
        // As above.
        ("CLICK_DEADLINE_MS", "1000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let caller = Caller::of(&app).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    load.tally.slowest();
    for _ in 0..quick_or_long(1, 10) {
        for fault in [Fault::Late, Fault::Cut, Fault::Silent] {
            proxy.inject(fault);
            redirects_go_on(&load).await;
            caller.is_answered_or_gets_503(&app).await;
            redirects_go_on(&load).await;
            proxy.inject(Fault::None);
            caller.is_served_again(&app).await;
        }
    }
    let slowest = load.tally.slowest();
    assert!(slowest < MAX_DELAY, "a redirect took {slowest:?}");
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
}

#[tokio::test]
async fn postgres_crashing_while_large_flushes_are_written_forgets_no_part_of_them() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [("DATABASE_URL", url.as_str()), ("FLUSH_INTERVAL_MS", "100")];
    let app = App::start_with(Mode::Production, &settings).await;
    let caller = Caller::of(&app).await;
    let token = app.register().await;
    let mut codes = Vec::new();
    // More links than one transaction writes.
    for number in 0..800 {
        let target = format!("https://example.org/{number}");
        codes.push(app.shorten(&token, &target).await);
    }
    let (address, load) = under_full_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    for _ in 0..quick_or_long(4, 40) {
        sleep(Duration::from_millis(300)).await;
        postgres.kill();
        postgres.start_again();
        caller.is_served_again(&app).await;
    }
    redirects_go_on(&load).await;
    let tally = load.stop().await;
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
}

#[tokio::test]
async fn postgres_alone_killed_and_started_again_loses_no_click() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [
        ("DATABASE_URL", url.as_str()),
        WITHOUT_REDIS,
        // Cached links stay valid for the whole test, also the long one.
        ("CACHE_TTL_SECONDS", "600"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let caller = Caller::of(&app).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    for _ in 0..quick_or_long(3, 30) {
        postgres.kill();
        redirects_go_on(&load).await;
        caller.gets_503(&app).await;
        postgres.start_again();
        nothing_is_in_memory_alone(&app).await;
        caller.is_served_again(&app).await;
        redirects_go_on(&load).await;
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
}
