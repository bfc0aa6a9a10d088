//! How migrations run beside a service at work, and which versions may run on which schema.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use shunt::domain::SystemClock;
use shunt::store::migrations::{self, LockWaits, Migrations, Progress, Schema};
use shunt::store::{
    OpenError, PostgresStore, SqliteStore, Store, StoreSettings, migrate_postgres, migrate_sqlite,
};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::{sleep, timeout};

use crate::store::backend::{SETTINGS, with_empty_postgres};

/// A version above all that exist.
const LATER: i64 = 900;

/// The description of a migration after which only versions from that one on may run.
const CONTRACT: &str = "contract 900 takes away";

const ADDS: &str = "CREATE TABLE added_later (id bigint);";
const CONTRACTS: &str = "CREATE TABLE contracted (id bigint);";
/// Applied twice, it would have two rows.
const COUNTS: &str =
    "CREATE TABLE IF NOT EXISTS counted (id bigint); INSERT INTO counted VALUES (1);";
const LOCKS: &str = "ALTER TABLE links ADD COLUMN remark text;";

const IMPATIENT: LockWaits = LockWaits {
    lock_timeout: Duration::from_millis(50),
    tries: 3,
    first_pause: Duration::from_millis(20),
};

const LINKS_OF_ANOTHER: &str = "CREATE TABLE links (id bigint)";
const MIGRATIONS_OF_ANOTHER: &str =
    "CREATE TABLE _sqlx_migrations (version bigint, description text, checksum bytea, success boolean);
    INSERT INTO _sqlx_migrations VALUES (1, 'initial', 'another', true)";

/// What an instance of a later version does: the lock is the one that migrations take.
const TAKES_THE_LOCK: &str = "SELECT pg_advisory_xact_lock(x'5348554e54000001'::bigint)";
const NOTES_A_CONTRACT: &str =
    "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
    VALUES (900, 'contract 900 takes away', true, '', 0)";

fn silent(_: &Progress<'_>) {}

async fn migrated(url: &str, to: &Migrations, waits: LockWaits) -> Result<(), OpenError> {
    migrate_postgres(url, SETTINGS, to, waits, silent).await
}

async fn opened(url: &str) -> Result<(), OpenError> {
    PostgresStore::connect(url, SETTINGS).await.map(drop)
}

async fn number(connection: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

async fn run(connection: &mut PgConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

/// Waits until a statement about `what` waits for a lock.
async fn until_it_waits(observer: &mut PgConnection, what: &str) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query ILIKE '%' || $1 || '%'";
    let waits = async {
        loop {
            let waiting = sqlx::query_scalar(sql).bind(what);
            let waiting: i64 = waiting.fetch_one(&mut *observer).await.unwrap();
            if waiting > 0 {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), waits)
        .await
        .expect("it waits for the lock");
}

/// Waits until an instance has asked whether the lock of migrations is free.
async fn until_it_asks_for_the_lock(observer: &mut PgConnection) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND query LIKE 'SELECT pg_try_advisory_xact_lock%'";
    let asks = async {
        while number(&mut *observer, sql).await == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), asks)
        .await
        .expect("it asks for the lock");
}

#[tokio::test]
async fn a_newer_schema_of_postgres_is_used_unless_its_mark_forbids_it() {
    with_empty_postgres(async |url| {
        let newer = migrations::postgres().and(LATER - 1, "adds", ADDS);
        migrated(&url, &newer, LockWaits::USUAL).await.unwrap();
        opened(&url).await.unwrap();
        let newer = newer.and(LATER, CONTRACT, CONTRACTS);
        migrated(&url, &newer, LockWaits::USUAL).await.unwrap();
        let Err(OpenError::Wrong(why)) = opened(&url).await else {
            panic!("it runs on a schema that forbids it");
        };
        assert!(why.contains("at version 900"), "{why}");
        assert!(why.contains("start the newer shunt"), "{why}");
        assert!(why.contains("`shunt export`"), "{why}");
        migrated(&url, &newer, LockWaits::USUAL).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_refused() {
    with_empty_postgres(async |url| {
        let one = migrations::postgres().and(LATER, "adds", ADDS);
        migrated(&url, &one, LockWaits::USUAL).await.unwrap();
        let other = migrations::postgres().and(LATER, "adds", LOCKS);
        let Err(OpenError::Wrong(why)) = migrated(&url, &other, LockWaits::USUAL).await else {
            panic!("it is accepted");
        };
        assert!(why.contains("migration 900"), "{why}");
    })
    .await;
}

#[tokio::test]
async fn a_step_behind_a_long_transaction_lets_queries_pass_and_is_tried_again() {
    with_empty_postgres(async |url| {
        opened(&url).await.unwrap();
        let mut holder = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        let mut service = PgConnection::connect(&url).await.unwrap();
        let mut long = holder.begin().await.unwrap();
        run(&mut long, "LOCK TABLE links IN ACCESS SHARE MODE").await;
        let newer = migrations::postgres().and(LATER, "a column", LOCKS);
        let migration = migrated(&url, &newer, LockWaits::USUAL);
        let service = async {
            // The third wait begins after two that gave up.
            for _ in 0..3 {
                until_it_waits(&mut observer, "ADD COLUMN remark").await;
                // Without a time-out of the step it would wait until the long transaction ends.
                let passes = run(&mut service, "SELECT count(*) FROM links");
                timeout(Duration::from_secs(20), passes)
                    .await
                    .expect("a query passes while the long transaction lasts");
            }
            long.rollback().await.unwrap();
        };
        let (migrated, ()) = tokio::join!(migration, service);
        migrated.unwrap();
        let remarks = "SELECT count(remark) FROM links";
        assert_eq!(number(&mut observer, remarks).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_step_that_never_gets_its_lock_fails_with_a_line_and_changes_nothing() {
    with_empty_postgres(async |url| {
        opened(&url).await.unwrap();
        let mut holder = PgConnection::connect(&url).await.unwrap();
        let mut long = holder.begin().await.unwrap();
        run(&mut long, "LOCK TABLE links IN ACCESS SHARE MODE").await;
        let newer = migrations::postgres().and(LATER, "a column", LOCKS);
        let Err(OpenError::Wrong(why)) = migrated(&url, &newer, IMPATIENT).await else {
            panic!("it got the lock");
        };
        assert!(why.contains("migration 900 (a column)"), "{why}");
        assert!(why.contains("tried 3 times"), "{why}");
        long.rollback().await.unwrap();
        // The next attempt finds it as it was.
        migrated(&url, &newer, IMPATIENT).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn instances_that_start_at_once_apply_each_migration_once() {
    with_empty_postgres(async |url| {
        let newer = migrations::postgres().and(LATER, "counts", COUNTS);
        let starts = (0..4).map(|_| migrated(&url, &newer, LockWaits::USUAL));
        for migrated in futures_util::future::join_all(starts).await {
            migrated.unwrap();
        }
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let applied = "SELECT count(*) FROM counted";
        assert_eq!(number(&mut connection, applied).await, 1);
    })
    .await;
}

#[tokio::test]
async fn an_instance_that_waited_for_the_lock_is_refused_by_what_was_applied_meanwhile() {
    with_empty_postgres(async |url| {
        opened(&url).await.unwrap();
        let mut holder = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        let mut newer = holder.begin().await.unwrap();
        run(&mut newer, TAKES_THE_LOCK).await;
        let older = migrations::postgres().and(LATER - 1, "adds", ADDS);
        let older = migrated(&url, &older, LockWaits::USUAL);
        let newer = async {
            until_it_asks_for_the_lock(&mut observer).await;
            run(&mut newer, NOTES_A_CONTRACT).await;
            newer.commit().await.unwrap();
        };
        let (older, ()) = tokio::join!(older, newer);
        let Err(OpenError::Wrong(why)) = older else {
            panic!("it runs on a schema that forbids it");
        };
        assert!(why.contains("start the newer shunt"), "{why}");
    })
    .await;
}

#[tokio::test]
async fn a_second_start_on_postgres_changes_nothing() {
    with_empty_postgres(async |url| {
        opened(&url).await.unwrap();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        // The rows of the catalogue that the latest transaction wrote.
        let written = "SELECT max(n) FROM (SELECT max(xmin::text::bigint) AS n FROM pg_class
            UNION ALL SELECT max(xmin::text::bigint) FROM _sqlx_migrations) AS newest";
        let before = number(&mut connection, written).await;
        opened(&url).await.unwrap();
        assert_eq!(number(&mut connection, written).await, before);
    })
    .await;
}

#[tokio::test]
async fn a_postgres_of_another_program_or_of_an_older_shunt_is_refused() {
    for tables in [LINKS_OF_ANOTHER, MIGRATIONS_OF_ANOTHER] {
        with_empty_postgres(async |url| {
            let mut connection = PgConnection::connect(&url).await.unwrap();
            run(&mut connection, tables).await;
            refused_for_its_tables(opened(&url).await);
            let made = "SELECT count(*) FROM pg_class WHERE relname = 'users'";
            assert_eq!(number(&mut connection, made).await, 0);
        })
        .await;
    }
}

fn refused_for_its_tables(opened: Result<(), OpenError>) {
    let Err(OpenError::Wrong(why)) = opened else {
        panic!("it runs on the tables of another program");
    };
    assert!(why.contains("tables that this shunt cannot use"), "{why}");
    assert!(why.contains("`shunt export`"), "{why}");
    assert_eq!(why.lines().count(), 1, "{why}");
}

#[tokio::test]
async fn an_instance_that_does_not_migrate_refuses_a_postgres_without_a_schema() {
    with_empty_postgres(async |url| {
        let required = StoreSettings {
            schema: Schema::Require,
            ..SETTINGS
        };
        let Err(OpenError::Wrong(why)) = PostgresStore::connect(&url, required).await else {
            panic!("it starts without a schema");
        };
        assert!(why.contains("has no schema"), "{why}");
        assert!(
            why.contains("needs version 1; run `shunt migrate`"),
            "{why}"
        );
        opened(&url).await.unwrap();
        PostgresStore::connect(&url, required)
            .await
            .map(drop)
            .unwrap();
    })
    .await;
}

async fn open_file(path: &Path) -> Result<(), OpenError> {
    let store = SqliteStore::open(path, SETTINGS, Arc::new(SystemClock)).await?;
    let store = Store::of(Arc::new(store));
    // Its connections are closed then, and so are the locks of the file.
    store.close().await.unwrap();
    Ok(())
}

async fn file(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    let options = options.busy_timeout(Duration::from_millis(20));
    options.create_if_missing(true).connect().await.unwrap()
}

#[tokio::test]
async fn a_newer_schema_of_sqlite_is_used_unless_its_mark_forbids_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    open_file(&path).await.unwrap();
    let newer = migrations::sqlite().and(LATER - 1, "adds", ADDS);
    let mut connection = file(&path).await;
    let migrate = async |connection: &mut SqliteConnection, to: &Migrations| {
        migrate_sqlite(connection, to, LockWaits::USUAL, silent)
            .await
            .unwrap();
    };
    migrate(&mut connection, &newer).await;
    open_file(&path).await.unwrap();
    migrate(&mut connection, &newer.and(LATER, CONTRACT, CONTRACTS)).await;
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
    assert!(why.contains("waits for a lock"), "{why}");
    assert!(why.contains("tried 3 times"), "{why}");
    assert!(
        why.contains("end the program that writes to the file"),
        "{why}"
    );
    let migration = migrate_sqlite(&mut connection, &newer, LockWaits::USUAL, silent);
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

#[tokio::test]
async fn a_second_start_on_a_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let version = async || -> i64 {
        let mut connection = file(&path).await;
        let version = sqlx::query_scalar("PRAGMA schema_version");
        version.fetch_one(&mut connection).await.unwrap()
    };
    open_file(&path).await.unwrap();
    let before = version().await;
    open_file(&path).await.unwrap();
    assert_eq!(version().await, before);
}

#[tokio::test]
async fn a_file_of_another_program_or_of_an_older_shunt_is_refused() {
    for tables in [LINKS_OF_ANOTHER, MIGRATIONS_OF_ANOTHER] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shunt.db");
        let mut connection = file(&path).await;
        let tables = sqlx::raw_sql(tables);
        tables.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        refused_for_its_tables(open_file(&path).await);
    }
}
