//! Particulars of SQLite: one file, and its log.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use shunt::domain::{Dimension, Interval, LinkId, SystemClock};
use shunt::store::{ClickBatch, ClickDetails, ClicksOf, OpenError, SqliteStore, Store};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, SqliteConnection};

use crate::store::backend::{SETTINGS, delete_link, link, user};
use crate::store::details::{NOON, batch, breakdown, class, count, query, row, sum};
use crate::support::clicks::of_links;

async fn open(path: &Path) -> Store {
    let store = SqliteStore::open(path, SETTINGS, Arc::new(SystemClock));
    Store::of(Arc::new(store.await.unwrap()))
}

/// A log that has to restart.
const LONG: u64 = 17 << 20;

#[tokio::test]
async fn a_long_log_makes_maintenance_due_which_restarts_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let store = open(&path).await;
    let log = folder.path().join("shunt.db-wal");
    let size = || fs::metadata(&log).unwrap().len();
    let mut batch = ClickBatch {
        recorder: 7,
        number: 0,
        interval: Interval::FIRST,
        clicks: of_links((1..=1_000).map(|link| (LinkId::parse(link).unwrap(), 1))),
        details: ClickDetails::default(),
    };
    let mut write = async || {
        batch.number += 1;
        store.clicks.append(&batch, None).await.unwrap();
    };
    while size() <= LONG {
        write().await;
    }
    store.maintenance_is_due().await;
    store.maintain().await.unwrap();
    let before = size();
    for _ in 0..100 {
        write().await;
    }
    assert_eq!(size(), before);
}

#[tokio::test]
async fn of_processes_that_open_a_new_file_at_once_one_has_it_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let opening = (0..4).map(|_| SqliteStore::open(&path, SETTINGS, Arc::new(SystemClock)));
    let opened = futures_util::future::join_all(opening).await;
    let (stores, refusals): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
    assert_eq!((stores.len(), refusals.len()), (1, 3));
    for refusal in refusals {
        let Err(OpenError::Wrong(fault)) = refusal else {
            panic!("the file is given up soon");
        };
        assert!(fault.contains("is in use by another shunt"), "{fault}");
    }
    drop(stores);
    open(&path).await;
}

#[tokio::test]
async fn links_of_an_account_that_was_removed_by_hand_have_no_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let store = open(&path).await;
    let owner = user(&store).await;
    let (code, _) = link(&store, owner).await;
    // As the sqlite3 shell does it, which checks references only where it is asked to.
    let by_hand = SqliteConnectOptions::new()
        .filename(&path)
        .foreign_keys(false);
    let mut by_hand = by_hand.connect().await.unwrap();
    by_hand.execute("DELETE FROM users").await.unwrap();
    let listed = store.links_of(owner, None, 10).await.unwrap();
    assert!(listed.value.is_empty());
    assert!(delete_link(&store, owner, &code).await.is_none());
}

#[tokio::test]
async fn classes_are_summed_once_wherever_a_process_that_sums_them_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let mut store = open(&path).await;
    let owner = user(&store).await;
    let mut links = Vec::new();
    for _ in 0..150 {
        links.push(link(&store, owner).await.1);
    }
    let classes = [
        class("example.com", "DE", false),
        class("example.com", "FR", false),
    ];
    let of_links = links.iter().flat_map(|link| {
        let of_link = |class| (*link, class, 1);
        classes.iter().map(of_link)
    });
    let clicks: Vec<_> = of_links.collect();
    // One process ends after one step, the next after two, and so on. Each has more clicks to sum.
    for ended_after in 1..=8 {
        count(&store, &batch(2 * ended_after, NOON, &clicks)).await;
        count(&store, &batch(2 * ended_after + 1, NOON, &clicks)).await;
        for _ in 0..ended_after {
            store.details.sum_details(u64::MAX).await.unwrap();
        }
        drop(store);
        store = open(&path).await;
    }
    sum(&store).await;
    let of_owner = query(ClicksOf::Owner(owner.user), Dimension::Country);
    let each = 150 * 16;
    assert_eq!(
        breakdown(&store, &of_owner).await,
        [row("DE", each, each), row("FR", each, each)]
    );
    for link in links {
        let of_link = query(ClicksOf::Link(link), Dimension::Country);
        assert_eq!(
            breakdown(&store, &of_link).await,
            [row("DE", 16, 16), row("FR", 16, 16)]
        );
    }
}

#[tokio::test]
async fn a_past_interval_of_a_link_takes_at_most_twenty_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let store = open(&path).await;
    let owner = user(&store).await;
    let mut clicks = Vec::new();
    for _ in 0..500 {
        clicks.push((link(&store, owner).await.1, 3));
    }
    for number in 1..=100 {
        // Two links in three are clicked in an interval, in turns.
        let clicked = clicks.iter().filter(|(link, _)| {
            let turn = link.number().unsigned_abs() + number;
            !turn.is_multiple_of(3)
        });
        let batch = ClickBatch {
            recorder: 7,
            number,
            interval: Interval::from_number(NOON + i64::try_from(number).unwrap()),
            clicks: of_links(clicked.copied()),
            details: ClickDetails::default(),
        };
        count(&store, &batch).await;
    }
    let url = format!("sqlite://{}", path.display());
    let mut by_hand = SqliteConnection::connect(&url).await.unwrap();
    let (bytes, intervals): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT sum(pgsize) FROM dbstat WHERE name = 'link_series'), (SELECT count(*) FROM link_series)",
    )
    .fetch_one(&mut by_hand)
    .await
    .unwrap();
    assert!(intervals > 30_000, "{intervals}");
    assert!(bytes <= 20 * intervals, "{bytes} for {intervals}");
}
