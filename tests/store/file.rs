//! Particulars of SQLite: one file, and its log.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use shunt::domain::LinkId;
use shunt::domain::SystemClock;
use shunt::store::{ClickBatch, SqliteStore, Store};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Executor};

use crate::backend::{SETTINGS, link, user};

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
        clicks: (1..=1_000)
            .map(|link| (LinkId::parse(link).unwrap(), 1))
            .collect(),
    };
    let mut write = async || {
        batch.number += 1;
        store.clicks.append(&batch, None).await.unwrap();
    };
    while size() <= LONG {
        write().await;
    }
    store.database.maintenance_is_due().await;
    store.database.maintain().await.unwrap();
    let before = size();
    for _ in 0..100 {
        write().await;
    }
    assert_eq!(size(), before);
}

#[tokio::test]
async fn changes_of_a_second_process_are_left_in_the_outbox_for_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let first = open(&path).await;
    let second = open(&path).await;
    assert!(first.outbox.is_alone());
    assert!(!second.outbox.is_alone());
    let owner = user(&first).await;
    let (code, _) = link(&first, owner).await;
    let change = second
        .links
        .delete_link(owner, &code)
        .await
        .unwrap()
        .unwrap();
    second
        .outbox
        .changes_published(&[change.number], None)
        .await
        .unwrap();
    assert!(
        second
            .outbox
            .unpublished_changes(0, 10)
            .await
            .unwrap()
            .is_empty()
    );
    let changes = first.outbox.unpublished_changes(0, 10).await.unwrap();
    assert_eq!(changes[0].code, Some(code));
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
    let listed = store.links.links_of(owner, None, 10).await.unwrap();
    assert!(listed.value.is_empty());
    assert!(
        store
            .links
            .delete_link(owner, &code)
            .await
            .unwrap()
            .is_none()
    );
}
