//! A database that an older or a newer version left behind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use shunt::domain::{Clock, Interval, LinkId, ShortCode, SystemClock};
use shunt::store::migrations::{self, Migrations, Patience, Schema};
use shunt::store::{
    ClickBatch, ClickDetails, CreateLinkError, NewLink, OpenError, PostgresStore, SqliteStore,
    Store, StoreSettings, migrate_postgres, migrate_sqlite,
};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::sleep;

use crate::store::backend::{SETTINGS, with_empty_postgres};
use crate::store::migrations::{ADDS, CONTRACTS, IMPATIENT, LATER, silent};

/// The newest migration of the last version that knew no mark.
const BEFORE_MARKS: i64 = 8;

/// The last version whose journal had a sequence of its own.
const JOURNAL_WITH_SEQUENCE: i64 = 3;

/// The version that counts the links of each account.
const LINK_TOTALS: i64 = 15;

/// An account with two links, and one with none.
const TWO_LINKS: &str = "
    INSERT INTO users (id, email, email_key, password_hash, created_at) VALUES (1, 'a@example.org', 'a@example.org', 'hash', 0), (2, 'b@example.org', 'b@example.org', 'hash', 0);
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

/// The last version of Postgres whose accounts had no keys.
const WITHOUT_KEYS: i64 = 9;

const TWO_ACCOUNTS: &str = "
    INSERT INTO users (email, email_key, password_hash, created_at) VALUES
        ('a@example.org', 'a@example.org', 'hash', now()), ('b@example.org', 'b@example.org', 'hash', now());
";

/// A new file with the schema of an older version.
async fn of_version(path: &Path, version: i64) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    let mut older = options.create_if_missing(true).connect().await.unwrap();
    let then = migrations::sqlite().up_to(version);
    migrate_sqlite(&mut older, &then, Patience::USUAL, migrations::log)
        .await
        .unwrap();
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
        interval: Interval::FIRST,
        clicks: links.map(|link| (link, 1)).to_vec(),
        details: ClickDetails::default(),
    };
    store.append(&again, None).await.unwrap();
    assert_eq!(counts().await, [13, 23]);
    assert_eq!(store.parked(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn versions_without_marks_start_on_the_newest_schema_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    open_file(&path).await.unwrap();
    let mut connection = file(&path).await;
    let newest: i64 = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(newest, BEFORE_MARKS);
}

#[tokio::test]
async fn a_newer_schema_of_sqlite_is_used_unless_its_mark_forbids_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    open_file(&path).await.unwrap();
    let newer = migrations::sqlite().and(LATER - 1, "adds", ADDS);
    let mut connection = file(&path).await;
    let migrate = async |connection: &mut SqliteConnection, to: &Migrations| {
        migrate_sqlite(connection, to, Patience::USUAL, silent)
            .await
            .unwrap();
    };
    migrate(&mut connection, &newer).await;
    open_file(&path).await.unwrap();
    migrate(&mut connection, &newer.and(LATER, "contracts", CONTRACTS)).await;
    let Err(OpenError::Wrong(why)) = open_file(&path).await else {
        panic!("it runs on a schema that forbids it");
    };
    assert!(why.contains("at version 900"), "{why}");
}

#[tokio::test]
async fn a_step_waits_for_another_program_that_writes_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    open_file(&path).await.unwrap();
    let newer = migrations::sqlite().and(LATER, "adds", ADDS);
    let (mut holder, mut connection) = (file(&path).await, file(&path).await);
    let writer = holder.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let Err(OpenError::Wrong(why)) =
        migrate_sqlite(&mut connection, &newer, IMPATIENT, silent).await
    else {
        panic!("it got the lock");
    };
    assert!(why.contains("migration 900 (adds)"), "{why}");
    let migration = migrate_sqlite(&mut connection, &newer, Patience::USUAL, silent);
    let ends = async {
        sleep(Duration::from_millis(300)).await;
        writer.rollback().await.unwrap();
    };
    let (migrated, ()) = tokio::join!(migration, ends);
    migrated.unwrap();
}

#[tokio::test]
async fn an_instance_that_does_not_migrate_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let required = StoreSettings {
        schema: Schema::Require,
        ..SETTINGS
    };
    let open = async || SqliteStore::open(&path, required, Arc::new(SystemClock)).await;
    let Err(OpenError::Wrong(why)) = open().await else {
        panic!("it starts without a database");
    };
    assert!(why.contains("shunt migrate"), "{why}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    open_file(&path).await.unwrap();
    open().await.map(drop).unwrap();
}

async fn open_file(path: &Path) -> Result<(), OpenError> {
    let store = SqliteStore::open(path, SETTINGS, Arc::new(SystemClock)).await?;
    let store = Store::of(Arc::new(store));
    // Its connections are closed then, and so are the locks of the file.
    store.database.close().await.unwrap();
    Ok(())
}

async fn file(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    let options = options.busy_timeout(Duration::from_millis(20));
    options.connect().await.unwrap()
}

#[tokio::test]
async fn links_of_an_older_version_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let mut older = of_version(&path, LINK_TOTALS - 1).await;
    sqlx::raw_sql(TWO_LINKS).execute(&mut older).await.unwrap();
    SqliteConnection::close(older).await.unwrap();
    for _ in 0..2 {
        let store = SqliteStore::open(&path, SETTINGS, Arc::new(SystemClock));
        let store = Store::of(Arc::new(store.await.unwrap()));
        let made = async |email: &str, most| {
            let owner = store.users.credentials(&email.parse().unwrap()).await;
            let (code, properties) = (
                ShortCode::generate(7).unwrap(),
                crate::store::backend::plain(),
            );
            let owner = owner.unwrap().unwrap().principal;
            let new = NewLink::new(&code, &properties, owner, SystemClock.now());
            store.links.create_link(new, most).await
        };
        assert!(matches!(
            made("a@example.org", 2).await,
            Err(CreateLinkError::QuotaReached)
        ));
        assert!(made("b@example.org", 2).await.is_ok());
        store.database.close().await.unwrap();
    }
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
    with_empty_postgres(async |url| {
        let then = migrations::postgres().up_to(WITHOUT_KEYS);
        migrate_postgres(&url, SETTINGS, &then, Patience::USUAL, silent)
            .await
            .unwrap();
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(TWO_ACCOUNTS)
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
