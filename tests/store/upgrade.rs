//! A file that an older version left behind.

use std::sync::Arc;

use shunt::domain::{Clock, LinkId, ShortCode, SystemClock, UserId};
use shunt::store::{ClickBatch, CreateLinkError, NewLink, SqliteStore, Store};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::backend::SETTINGS;

/// The last version whose journal had a sequence of its own.
const JOURNAL_WITH_SEQUENCE: i64 = 3;

/// The version that counts the links of each account.
const LINK_TOTALS: i64 = 15;

/// An account with two links, and one with none.
const TWO_LINKS: &str = "
    INSERT INTO users VALUES (1, 'a@example.org', 'a@example.org', 'hash', 0), (2, 'b@example.org', 'b@example.org', 'hash', 0);
    INSERT INTO links (id, short_code, target_url, owner_id, created_at) VALUES
        (1, 'one', 'https://example.org/', 1, 0), (2, 'two', 'https://example.org/', 1, 0);
";

/// Two links and four batches. Two batches are being compacted, which is done up to the first link; one is parked.
const LEFT_BEHIND: &str = r#"
    INSERT INTO users VALUES (1, 'a@example.org', 'a@example.org', 'hash', 0);
    INSERT INTO links (id, short_code, target_url, owner_id, clicks, created_at) VALUES
        (1, 'one', 'https://example.org/', 1, 12, 0),
        (2, 'two', 'https://example.org/', 1, 20, 0);
    INSERT INTO click_journal (sequence, recorder, number, held, epoch, clicks) VALUES
        (1, 7, 1, 0, NULL, '{"1":1,"2":1}'),
        (2, 7, 2, 0, NULL, '{"1":1,"2":1}'),
        (3, 7, 3, 0, NULL, '{"1":1,"2":1}'),
        (4, 9, 1, 1, 'epoch', '{"1":100}');
    INSERT INTO journal_fold VALUES (1, 2, 1);
"#;

#[tokio::test]
async fn clicks_in_the_journal_of_an_older_version_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let mut older = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    let mut migrations = shunt::store::migrations::sqlite();
    migrations
        .migrations
        .to_mut()
        .retain(|migration| migration.version <= JOURNAL_WITH_SEQUENCE);
    migrations.run(&mut older).await.unwrap();
    sqlx::raw_sql(LEFT_BEHIND)
        .execute(&mut older)
        .await
        .unwrap();
    SqliteConnection::close(older).await.unwrap();

    let store = SqliteStore::open(&path, SETTINGS, Arc::new(SystemClock));
    let store = Store::of(Arc::new(store.await.unwrap())).clicks;
    let links = [1, 2].map(|number| LinkId::parse(number).unwrap());
    let counts = async || {
        let counts = store.counts(&links, None).await.unwrap();
        counts
            .clicks
            .iter()
            .map(|(_, count)| *count)
            .collect::<Vec<_>>()
    };
    assert_eq!(counts().await, [13, 23]);
    while !store.compact().await.unwrap().done {
        assert_eq!(counts().await, [13, 23]);
    }
    while !store.compact().await.unwrap().done {}
    let again = ClickBatch {
        recorder: 7,
        number: 3,
        clicks: links.map(|link| (link, 1)).to_vec(),
    };
    store.append(&again, None).await.unwrap();
    assert_eq!(counts().await, [13, 23]);
    assert_eq!(store.parked(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn links_of_an_older_version_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let mut older = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    let mut migrations = shunt::store::migrations::sqlite();
    migrations
        .migrations
        .to_mut()
        .retain(|migration| migration.version < LINK_TOTALS);
    migrations.run(&mut older).await.unwrap();
    sqlx::raw_sql(TWO_LINKS).execute(&mut older).await.unwrap();
    SqliteConnection::close(older).await.unwrap();
    for _ in 0..2 {
        let store = SqliteStore::open(&path, SETTINGS, Arc::new(SystemClock));
        let store = Store::of(Arc::new(store.await.unwrap()));
        let made = async |owner, most| {
            let new = NewLink {
                code: &ShortCode::generate().unwrap(),
                target: &crate::backend::target(),
                owner: UserId(owner),
                created_at: SystemClock.now(),
            };
            store.links.create_link(new, most).await
        };
        assert!(matches!(
            made(1, 2).await,
            Err(CreateLinkError::QuotaReached)
        ));
        assert!(made(2, 2).await.is_ok());
        store.database.close().await.unwrap();
    }
}
