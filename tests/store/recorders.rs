//! Marks of recorders in Postgres, by which a repeated batch is recognised.

use shunt::domain::{Clock, SystemClock};
use shunt::store::{ClickBatch, Store};
use sqlx::{Connection, PgConnection};
use tokio::time::{Duration, sleep, timeout};

use crate::backend::{link, user, with_primary};

#[tokio::test]
async fn a_recorder_that_comes_back_while_it_is_pruned_is_remembered() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        let batch = |number| ClickBatch {
            recorder: 7,
            number,
            clicks: vec![(clicked, 3)],
        };
        store.clicks.append(&batch(1), None).await.unwrap();
        store.clicks.compact().await.unwrap();
        let mut comer = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql("UPDATE click_recorders SET seen_at = now() - interval '30 days'")
            .execute(&mut comer)
            .await
            .unwrap();
        let mut coming = comer.begin().await.unwrap();
        sqlx::raw_sql("UPDATE click_recorders SET last_batch = 2, seen_at = now()")
            .execute(&mut *coming)
            .await
            .unwrap();
        let come = async {
            let mut observer = PgConnection::connect(&url).await.unwrap();
            let blocked = async {
                while waiting(&mut observer).await == 0 {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            timeout(Duration::from_secs(10), blocked)
                .await
                .expect("the pruning reached the row that is being written");
            coming.commit().await.unwrap();
        };
        let (pruned, ()) = tokio::join!(store.clicks.prune(SystemClock.now(), 10), come);
        assert_eq!(pruned.unwrap(), 0);
        store.clicks.append(&batch(2), None).await.unwrap();
        let counted = store.clicks.counts(&[clicked], None).await.unwrap();
        assert_eq!(counted.clicks[0].1, 3, "the second batch is in already");
    })
    .await;
}

async fn waiting(observer: &mut PgConnection) -> i64 {
    let waiting = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    waiting.fetch_one(observer).await.unwrap()
}
