//! The write-ahead log of an SQLite file.

use std::fs;
use std::sync::Arc;

use shunt::domain::LinkId;
use shunt::store::{ClickBatch, SqliteStore, Store};

use crate::backend::SETTINGS;

/// A log past which its space is given back in a quiet moment.
const LONG: u64 = 17 << 20;

#[tokio::test]
async fn the_log_is_written_back_and_its_space_given_back_once_it_is_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let store = Arc::new(SqliteStore::open(&path, SETTINGS).await.unwrap());
    let clicks = store.parts().clicks;
    let log = folder.path().join("shunt.db-wal");
    let size = || fs::metadata(&log).unwrap().len();
    let followed: Vec<_> = (1..=1_000).map(|link| (LinkId(link), 1)).collect();
    let mut number = 0;
    while size() <= LONG {
        number += 1;
        let batch = ClickBatch {
            recorder: 7,
            number,
            clicks: followed.clone(),
        };
        clicks.append(&batch, None).await.unwrap();
    }
    clicks.tend().await.unwrap();
    assert!(size() > LONG, "much came just now: it is not quiet");
    clicks.tend().await.unwrap();
    assert_eq!(size(), 0);
}
