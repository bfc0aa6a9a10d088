//! A database that an older version left behind.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use shunt::domain::LinkId;
use shunt::domain::SystemClock;
use shunt::store::{ClickBatch, PostgresStore, SqliteStore, Store};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::backend::{SETTINGS, with_primary};

/// The last version whose journal had a sequence of its own.
const JOURNAL_WITH_SEQUENCE: i64 = 3;

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

/// Postgres as it was before accounts had keys.
const WITHOUT_KEYS: &str = "
    ALTER TABLE users DROP COLUMN token_key;
    DELETE FROM _sqlx_migrations WHERE description = 'account keys';
    INSERT INTO users (email, email_key, password_hash, created_at) VALUES
        ('a@example.org', 'a@example.org', 'hash', now()), ('b@example.org', 'b@example.org', 'hash', now());
";

/// A new file with the schema of an older version.
async fn of_version(path: &Path, version: i64) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    let mut older = options.create_if_missing(true).connect().await.unwrap();
    let mut migrations = shunt::store::migrations::sqlite();
    let all = migrations.migrations.to_mut();
    all.retain(|migration| migration.version <= version);
    migrations.run(&mut older).await.unwrap();
    older
}

#[tokio::test]
async fn clicks_in_the_journal_of_an_older_version_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let mut older = of_version(&path, JOURNAL_WITH_SEQUENCE).await;
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
async fn accounts_of_an_older_version_get_keys_of_their_own() {
    const EMAILS: [&str; 2] = ["a@example.org", "b@example.org"];
    let keys = async |store: &Store| {
        let credentials =
            async |email: &str| store.users.credentials(&email.parse().unwrap()).await;
        let found = join_all(EMAILS.map(credentials)).await.into_iter();
        let keys: Vec<_> = found
            .map(|found| found.unwrap().unwrap().principal.key)
            .collect();
        assert_ne!(keys[0], keys[1]);
    };
    with_primary(async |_, url| {
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(WITHOUT_KEYS)
            .execute(&mut by_hand)
            .await
            .unwrap();
        let store = PostgresStore::connect(&url, SETTINGS).await.unwrap();
        keys(&Store::of(Arc::new(store))).await;
    })
    .await;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let mut older = of_version(&path, JOURNAL_WITH_SEQUENCE).await;
    let accounts = "INSERT INTO users VALUES (1, 'a@example.org', 'a@example.org', 'hash', 0), (2, 'b@example.org', 'b@example.org', 'hash', 0)";
    sqlx::raw_sql(accounts).execute(&mut older).await.unwrap();
    older.close().await.unwrap();
    let store = SqliteStore::open(&path, SETTINGS, Arc::new(SystemClock));
    keys(&Store::of(Arc::new(store.await.unwrap()))).await;
}
