//! What would grow for ever: changes that no instance needs any more, and clicks of links that were deleted.

use std::sync::Arc;
use std::time::Duration;

use shunt::clicks::{Flusher, recover};
use shunt::domain::{Clock, Interval, LinkId, SystemClock};
use shunt::shared_redis::{Layout, RedisServers, RedisShards};
use shunt::store::migrations::{self, Schema};
use shunt::store::{ClickBatch, ClickDetails, SqliteStore, Store, StoreSettings};
use sqlx::{Connection, PgConnection};

use crate::support::clicks::of_links;
use crate::support::{App, Mode, RedisServer, Server, eventually};

const WITHOUT_REDIS: (&str, &str) = ("REDIS_URL", "");
/// So long that no link expires during a test.
const LONG_TTL: (&str, &str) = ("CACHE_TTL_SECONDS", "600");
const DELETION: &str = "DELETE FROM links WHERE short_code = $1";

async fn count(app: &App, sql: &'static str) -> i64 {
    let mut connection = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    sqlx::query_scalar(sql)
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

async fn by_hand(app: &App, sql: &'static str) {
    let mut connection = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
}

/// A link that these instances have cached.
async fn cached(app: &App, token: &str, servers: &[&Server]) -> String {
    let code = app.shorten(token, "https://example.org/").await;
    for server in servers {
        assert_eq!(server.follow(&code).await, 302);
    }
    code
}

async fn is_gone(code: &str, servers: &[&Server]) {
    for server in servers {
        eventually("the deletion takes effect", async || {
            server.follow(code).await == 404
        })
        .await;
    }
}

#[tokio::test]
async fn instances_without_redis_feel_each_others_changes_and_those_made_by_hand() {
    let settings = [WITHOUT_REDIS, LONG_TTL];
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let (token, both) = (app.register().await, [&app.server, &other]);
    let code = cached(&app, &token, &both).await;
    assert_eq!(app.delete(&token, &code).await.status, 204);
    is_gone(&code, &both).await;
    let code = cached(&app, &token, &both).await;
    app.backend.execute(DELETION, &code).await;
    is_gone(&code, &both).await;
    // More than are looked at one by one.
    let code = cached(&app, &token, &both).await;
    by_hand(
        &app,
        "INSERT INTO links (short_code, target_url, owner_id, created_at)
         SELECT 'many-' || n, 'https://example.org/', (SELECT min(id) FROM users), now_micros() FROM generate_series(1, 3000) n;
         DELETE FROM links",
    )
    .await;
    is_gone(&code, &both).await;
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_change_that_is_committed_after_later_ones_is_felt_without_redis() {
    let settings = [WITHOUT_REDIS, LONG_TTL];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    // Of two accounts: an account's total of links is locked by the transaction that changes it.
    let others = app.register().await;
    let late = cached(&app, &others, &[&app.server]).await;
    let early = cached(&app, &token, &[&app.server]).await;
    let mut connection = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query(DELETION)
        .bind(&late)
        .execute(&mut *transaction)
        .await
        .unwrap();
    app.backend.execute(DELETION, &early).await;
    is_gone(&early, &[&app.server]).await;
    assert_eq!(app.server.follow(&late).await, 302);
    transaction.commit().await.unwrap();
    is_gone(&late, &[&app.server]).await;
    app.finish().await;
}

#[tokio::test]
async fn changes_are_felt_both_ways_where_some_instances_have_redis_and_others_none() {
    let app = App::start_with(Mode::Production, &[LONG_TTL]).await;
    let without = app.another(&[WITHOUT_REDIS, LONG_TTL]).await;
    let (token, both) = (app.register().await, [&app.server, &without]);
    let delete = async |server: &Server, code: &str| {
        let request = reqwest::Client::new().delete(format!("{}/urls/{code}", server.base));
        assert_eq!(
            request.bearer_auth(&token).send().await.unwrap().status(),
            204
        );
    };
    for server in both {
        for _ in 0..3 {
            let code = cached(&app, &token, &both).await;
            delete(server, &code).await;
            is_gone(&code, &both).await;
        }
    }
    drop(without);
    app.finish().await;
}

#[tokio::test]
async fn changes_that_no_instance_needs_any_more_are_removed() {
    let mut app = App::start_with(Mode::Production, &[WITHOUT_REDIS]).await;
    app.server.stop().await;
    by_hand(
        &app,
        "INSERT INTO link_changes (short_code) SELECT 'gone-' || n FROM generate_series(1, 2500) n",
    )
    .await;
    by_hand(
        &app,
        "UPDATE link_changes SET changed_at = now_micros() - 25 * 3600000000 WHERE number <= 2400",
    )
    .await;
    by_hand(&app, "UPDATE link_changes SET published_at = now_micros() - 11 * 60000000 WHERE number BETWEEN 2401 AND 2450").await;
    by_hand(
        &app,
        "UPDATE link_changes SET published_at = now_micros() WHERE number BETWEEN 2451 AND 2460",
    )
    .await;
    app.server = app.another(&[WITHOUT_REDIS]).await;
    eventually("old changes are removed", async || {
        count(&app, "SELECT count(*) FROM link_changes").await == 50
    })
    .await;
    assert_eq!(
        count(&app, "SELECT min(number) FROM link_changes").await,
        2451
    );
    app.finish().await;
}

#[tokio::test]
async fn clicks_of_links_that_went_with_their_account_are_removed_and_later_ones_count_for_no_link()
{
    let settings = [("FLUSH_INTERVAL_MS", "20")];
    let mut app = App::start_with(Mode::Production, &settings).await;
    let (gone, staying) = (app.register().await, app.register().await);
    let email = app.get_as(&gone, "/auth/me").await.json()["email"]
        .as_str()
        .unwrap()
        .to_owned();
    let kept = app.shorten(&staying, "https://example.org/").await;
    for _ in 0..5 {
        let code = app.shorten(&gone, "https://example.org/").await;
        assert_eq!(app.server.follow(&code).await, 302);
        app.written_back(&code, 1).await;
    }
    assert_eq!(app.visit(&format!("/{kept}")).await.status, 302);
    app.written_back(&kept, 1).await;
    app.server.stop().await;
    app.backend
        .execute("DELETE FROM users WHERE email = $1", &email)
        .await;
    assert_eq!(count(&app, "SELECT count(*) FROM link_clicks").await, 6);
    app.server = app.another(&settings).await;
    eventually("their clicks are removed", async || {
        count(&app, "SELECT count(*) FROM link_clicks").await == 1
    })
    .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(app.clicks(&kept).await, 1);
    app.finish().await;
}

#[tokio::test]
async fn a_parked_batch_keeps_its_own_recorder_in_redis_and_no_other() {
    let redis = RedisServer::start(&[]).await;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let servers = RedisServers::parse(&[redis.url()]).unwrap();
    let deadline = Duration::from_secs(5);
    let shards = RedisShards::new(&servers, Layout::Single, "s", deadline, &clock);
    let folder = tempfile::tempdir().unwrap();
    let settings = StoreSettings {
        max_connections: 5,
        deadline: Duration::from_secs(5),
        schema: Schema::Migrate(migrations::log),
    };
    let path = folder.path().join("shunt.db");
    let store = SqliteStore::open(&path, settings, Arc::clone(&clock));
    let store = Store::of(Arc::new(store.await.unwrap()));
    let shard = shards.iter().next().unwrap();
    recover(shard, &store).await.unwrap();
    shard.recovered();
    let mut connection = redis.connection().await;
    // Long ago: the second of January 1970.
    let mut note = redis::cmd("HSET");
    note.arg("{s}:recorders");
    let mut state = redis::cmd("HSET");
    state.arg("{s}:state");
    for recorder in [7, 8, 9] {
        note.arg(recorder).arg(86_400_000_000_i64);
        state.arg(format!("recorder:{recorder}")).arg(3);
    }
    note.exec_async(&mut connection).await.unwrap();
    state.exec_async(&mut connection).await.unwrap();
    let parked = ClickBatch {
        recorder: 8,
        number: 4,
        interval: Interval::FIRST,
        clicks: of_links([(LinkId::parse(1).unwrap(), 1)]),
        details: ClickDetails::default(),
    };
    store
        .clicks
        .append(&parked, Some("of another Redis"))
        .await
        .unwrap();
    let flusher = Flusher::new(Some(shards.clone()), store.clone(), clock);
    flusher.prune().await.unwrap();
    let mut left = redis::cmd("HKEYS");
    let left: Vec<String> = left
        .arg("{s}:recorders")
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(left, ["8"]);
    let mut left = redis::cmd("HMGET");
    left.arg("{s}:state")
        .arg(&["recorder:7", "recorder:8", "recorder:9"]);
    let left: Vec<Option<u64>> = left.query_async(&mut connection).await.unwrap();
    assert_eq!(left, [None, Some(3), None]);
}
