//! Several instances merge classes in Postgres at the same time: each click is in the sums once.

use shunt::domain::{Clock, Dimension, Principal, SystemClock};
use shunt::store::{ClicksOf, Store};
use sqlx::{Connection, PgConnection};

use crate::store::backend::{link, user, with_primary};
use crate::store::details::{DAY, NOON, batch, breakdown, class, count, query, row, sum};

#[tokio::test]
async fn an_instance_that_adds_sums_of_owners_up_is_the_only_one() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let known = class("example.com", "DE", false);
        let mut other = PgConnection::connect(&url).await.unwrap();
        count(&store, &batch(1, NOON, &[(id, &known, 1)])).await;
        let mut locked = other.begin().await.unwrap();
        sqlx::query("SELECT FROM locks WHERE name = 'owner series' FOR UPDATE")
            .execute(&mut *locked)
            .await
            .unwrap();
        sum(&store).await;
        let of_link = query(ClicksOf::Link(id), Dimension::Country);
        let of_owner = query(ClicksOf::Owner(owner.user), Dimension::Country);
        assert_eq!(breakdown(&store, &of_link).await, [row("DE", 1, 1)]);
        assert_eq!(breakdown(&store, &of_owner).await, []);
        locked.rollback().await.unwrap();
        sum(&store).await;
        assert_eq!(breakdown(&store, &of_owner).await, [row("DE", 1, 1)]);
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM owner_series_log")
            .fetch_one(&mut other)
            .await
            .unwrap();
        assert_eq!(left, 0);
    })
    .await;
}

/// Adds so many rows of each owner to the log.
async fn log<const N: usize>(by_hand: &mut PgConnection, rows: [(Principal, i32); N]) {
    for (owner, rows) in rows {
        sqlx::query("INSERT INTO owner_series_log (owner_id, interval, clicks) SELECT $1, 5, 1 FROM generate_series(1, $2)")
            .bind(owner.user.0)
            .bind(rows)
            .execute(&mut *by_hand)
            .await
            .unwrap();
    }
}

/// Owners with the sums of their clicks.
async fn sums(by_hand: &mut PgConnection) -> Vec<(i64, i64)> {
    sqlx::query_as("SELECT owner_id, clicks FROM owner_series ORDER BY owner_id")
        .fetch_all(by_hand)
        .await
        .unwrap()
}

#[tokio::test]
async fn all_rows_of_an_owner_are_added_up_together_beginning_with_an_old_one() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let (first, second) = (user(&store).await, user(&store).await);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        // A step has 10,000 rows.
        log(
            &mut by_hand,
            [(second, 9_000), (first, 9_000), (second, 1_000)],
        )
        .await;
        assert!(store.details.sum_details(0).await.unwrap());
        assert_eq!(sums(&mut by_hand).await, [(second.user.0, 10_000)]);
        assert!(!store.details.sum_details(0).await.unwrap());
        assert_eq!(
            sums(&mut by_hand).await,
            [(first.user.0, 9_000), (second.user.0, 10_000)]
        );
        log(&mut by_hand, [(second, 1), (first, 1)]).await;
        assert!(
            !store.details.sum_details(0).await.unwrap(),
            "the first owner comes after the last one"
        );
        assert_eq!(
            sums(&mut by_hand).await,
            [(first.user.0, 9_001), (second.user.0, 10_001)]
        );
    })
    .await;
}

#[tokio::test]
async fn classes_that_another_merge_has_locked_are_passed_over() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let known = class("example.com", "DE", false);
        let mut other = PgConnection::connect(&url).await.unwrap();
        count(&store, &batch(1, NOON, &[(id, &known, 1)])).await;
        store.tell_events(SystemClock.now()).await.unwrap();
        let mut locked = other.begin().await.unwrap();
        sqlx::query("SELECT FROM click_parts WHERE band = -1 FOR UPDATE")
            .execute(&mut *locked)
            .await
            .unwrap();
        count(&store, &batch(2, NOON, &[(id, &known, 10)])).await;
        sum(&store).await;
        let of_link = query(ClicksOf::Link(id), Dimension::Country);
        assert_eq!(breakdown(&store, &of_link).await, [row("DE", 10, 10)]);
        locked.rollback().await.unwrap();
        sum(&store).await;
        assert_eq!(breakdown(&store, &of_link).await, [row("DE", 11, 11)]);
    })
    .await;
}

#[tokio::test]
async fn a_day_that_another_merge_begins_at_the_same_time_has_the_clicks_of_both() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let known = class("example.com", "DE", true);
        let mut other = PgConnection::connect(&url).await.unwrap();
        count(&store, &batch(1, NOON, &[(id, &known, 1)])).await;
        let mut begun = other.begin().await.unwrap();
        sqlx::query("INSERT INTO class_days (day, whose, bots, ended, quarters) VALUES ($1, $2, '', '', '')")
            .bind(i32::try_from(DAY).unwrap())
            .bind(id.number())
            .execute(&mut *begun)
            .await
            .unwrap();
        let merging = tokio::spawn({
            let store = store.clone();
            async move { sum(&store).await }
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))";
        while sqlx::query_scalar::<_, i64>(waits).fetch_one(&mut *begun).await.unwrap() == 0 {
            tokio::task::yield_now().await;
        }
        begun.commit().await.unwrap();
        merging.await.unwrap();
        sum(&store).await;
        for of in [ClicksOf::Link(id), ClicksOf::Owner(owner.user)] {
            let found = breakdown(&store, &query(of, Dimension::Country)).await;
            assert_eq!(found, [row("DE", 1, 0)]);
        }
    })
    .await;
}

#[tokio::test]
async fn two_merges_of_the_same_links_lose_no_click() {
    with_primary(async |primary, _| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..20 {
            links.push(link(&store, owner).await.1);
        }
        let classes = [
            class("a.example", "DE", false),
            class("b.example", "FR", true),
        ];
        for number in 1..=300 {
            let class = &classes[usize::try_from(number % 2).unwrap()];
            let interval = NOON + i64::try_from(number % 5).unwrap();
            let parts: Vec<_> = links.iter().map(|link| (*link, class, 1)).collect();
            count(&store, &batch(number, interval, &parts)).await;
        }
        tokio::join!(sum(&store), sum(&store), sum(&store));
        sum(&store).await;
        for id in links {
            let mut found = breakdown(&store, &query(ClicksOf::Link(id), Dimension::Country)).await;
            found.sort();
            assert_eq!(found, [row("DE", 150, 150), row("FR", 150, 0)]);
        }
        let of_owner = query(ClicksOf::Owner(owner.user), Dimension::Bot);
        let mut found = breakdown(&store, &of_owner).await;
        found.sort();
        assert_eq!(found, [row("false", 3_000, 3_000), row("true", 3_000, 0)]);
    })
    .await;
}
