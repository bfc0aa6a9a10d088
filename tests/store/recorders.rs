//! How Postgres recognises a repeated batch: by the journal, and by the marks of batches that have left it.

use std::time::Duration;

use shunt::domain::{Clock, Interval, LinkId, SystemClock};
use shunt::store::{ClickBatch, ClickDetails, MergeRound, Raise, Store};
use sqlx::{Connection, PgConnection};
use tokio::time::{sleep, timeout};

use crate::store::backend::{link, user, with_primary};
use crate::support::clicks::of_links;

fn batch(number: u64, link: LinkId) -> ClickBatch {
    ClickBatch {
        recorder: 7,
        number,
        interval: Interval::FIRST,
        clicks: of_links([(link, 3)]),
        details: ClickDetails::default(),
    }
}

async fn counted(store: &Store, link: LinkId) -> u64 {
    store.clicks.counts(&[link], None).await.unwrap().clicks[0].1
}

/// Appends the first batch of the recorder by hand, with three clicks of a link.
const ORIGINAL: &str =
    "SELECT insert_parts('', 0, 1, ARRAY[7::bigint], ARRAY[1], ARRAY[$1::integer], ARRAY[3::bigint], ARRAY[1::bigint])
    FROM is_new_batch(7, 1) AS is_new WHERE is_new";

/// Appends and compacts a batch.
async fn compacted(store: &Store, number: u64, link: LinkId) {
    store
        .clicks
        .append(&batch(number, link), None)
        .await
        .unwrap();
    store
        .clicks
        .compact(&mut MergeRound::default())
        .await
        .unwrap();
}

async fn number(observer: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(observer).await.unwrap()
}

async fn marks(observer: &mut PgConnection) -> i64 {
    number(observer, "SELECT count(*) FROM journal_marks").await
}

pub(super) async fn until_a_session_waits(observer: &mut PgConnection) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let waits = async {
        while number(observer, waiting).await == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), waits)
        .await
        .expect("a session waits for a lock");
}

#[tokio::test]
async fn an_append_to_the_journal_leaves_no_dead_row_behind() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        for number in 1..=500 {
            store.clicks.append(&batch(number, clicked), None).await.unwrap();
        }
        // A session reports its statistics at the latest when it ends.
        drop(store);
        let mut observer = PgConnection::connect(&url).await.unwrap();
        let reported = async {
            let inserted = "SELECT coalesce(sum(n_tup_ins), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'click_parts'";
            while number(&mut observer, inserted).await < 500 {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_secs(20), reported)
            .await
            .expect("the appends are in the statistics");
        let dead = "SELECT sum(n_tup_upd + n_tup_del)::bigint FROM pg_stat_user_tables WHERE relname NOT IN ('_sqlx_migrations', 'database_history', 'installation', 'link_totals', 'locks')";
        assert_eq!(number(&mut observer, dead).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_repetition_beside_the_original_waits_for_it_and_counts_nothing() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        let mut first = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        let mut original = first.begin().await.unwrap();
        sqlx::query(ORIGINAL)
            .bind(i32::try_from(clicked.number()).unwrap())
            .execute(&mut *original)
            .await
            .unwrap();
        let ends = async {
            until_a_session_waits(&mut observer).await;
            original.commit().await.unwrap();
            store
                .clicks
                .compact(&mut MergeRound::default())
                .await
                .unwrap();
        };
        let batch = batch(1, clicked);
        let (repeated, ()) = tokio::join!(store.clicks.append(&batch, None), ends);
        repeated.unwrap();
        assert_eq!(counted(&store, clicked).await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_repetition_that_waited_while_the_original_was_merged_counts_nothing() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        let mut first = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        // In one transaction, so that the repetition waits for both.
        let mut original = first.begin().await.unwrap();
        sqlx::query(ORIGINAL)
            .bind(i32::try_from(clicked.number()).unwrap())
            .execute(&mut *original)
            .await
            .unwrap();
        sqlx::query("SELECT merge_parts(array_agg(band)) FROM click_parts")
            .execute(&mut *original)
            .await
            .unwrap();
        let ends = async {
            until_a_session_waits(&mut observer).await;
            original.commit().await.unwrap();
        };
        let batch = batch(1, clicked);
        let (repeated, ()) = tokio::join!(store.clicks.append(&batch, None), ends);
        repeated.unwrap();
        assert_eq!(counted(&store, clicked).await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_term_waits_for_another_one_of_its_tag() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let mut other = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        let mut locked = other.begin().await.unwrap();
        sqlx::query("INSERT INTO locks (name) VALUES ('{shunt}')")
            .execute(&mut *locked)
            .await
            .unwrap();
        let ends = async {
            until_a_session_waits(&mut observer).await;
            locked.rollback().await.unwrap();
        };
        let raise = Raise {
            tag: "{shunt}",
            from: 0,
            above: 0,
            replication_id: "r",
        };
        let (_, ()) = tokio::join!(store.begin_data_set(raise, "e"), ends);
    })
    .await;
}

#[tokio::test]
async fn only_the_newest_mark_of_a_recorder_is_kept_and_recognises_repetitions() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        for number in 1..=3 {
            compacted(&store, number, clicked).await;
        }
        let mut observer = PgConnection::connect(&url).await.unwrap();
        assert_eq!(marks(&mut observer).await, 3);
        store.clicks.prune(SystemClock.now(), 10).await.unwrap();
        assert_eq!(marks(&mut observer).await, 1);
        for number in 1..=3 {
            compacted(&store, number, clicked).await;
        }
        assert_eq!(counted(&store, clicked).await, 9);
    })
    .await;
}

#[tokio::test]
async fn marks_of_recorders_that_stopped_long_ago_are_removed() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        compacted(&store, 1, clicked).await;
        let mut observer = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql("UPDATE journal_marks SET noted_at = now_micros() - 30 * 86400000000")
            .execute(&mut observer)
            .await
            .unwrap();
        store.clicks.prune(SystemClock.now(), 10).await.unwrap();
        assert_eq!(marks(&mut observer).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_batch_below_the_newest_mark_is_merged() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        store.clicks.append(&batch(1, clicked), None).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql("INSERT INTO journal_marks (recorder, number) VALUES (7, 2)")
            .execute(&mut observer)
            .await
            .unwrap();
        store
            .clicks
            .compact(&mut MergeRound::default())
            .await
            .unwrap();
        let left = "SELECT count(*) FROM click_parts";
        assert_eq!(number(&mut observer, left).await, 0);
        assert_eq!(counted(&store, clicked).await, 3);
    })
    .await;
}
