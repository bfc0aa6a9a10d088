//! How migrations of Postgres run beside a service at work, and which versions may run on which schema.

use std::time::Duration;

use shunt::store::migrations::{self, Migrations, Patience, Progress, Schema};
use shunt::store::{OpenError, PostgresStore, StoreSettings, migrate_postgres};
use sqlx::{Connection, PgConnection};
use tokio::time::{sleep, timeout};

use crate::store::backend::{SETTINGS, with_empty_postgres};

/// The newest migration of the last version that knew no mark.
const BEFORE_MARKS: i64 = 7;

/// A version above all that exist.
pub(crate) const LATER: i64 = 900;

pub(crate) const ADDS: &str = "CREATE TABLE added_later (id bigint);";
pub(crate) const CONTRACTS: &str =
    "-- contract: oldest version 900\nCREATE TABLE contracted (id bigint);";
const LOCKS: &str = "ALTER TABLE links ADD COLUMN note text;";
const IN_BATCHES: &str = "-- runs: in batches
    UPDATE numbers SET doubled = 2 * id WHERE id IN (SELECT id FROM numbers WHERE doubled IS NULL LIMIT 100);";
const INDEX: &str = "-- runs: concurrently, index numbers_doubled
    CREATE UNIQUE INDEX CONCURRENTLY numbers_doubled ON numbers (doubled);";

pub(crate) const IMPATIENT: Patience = Patience {
    lock_timeout: Duration::from_millis(50),
    tries: 3,
    first_pause: Duration::from_millis(20),
    ..Patience::USUAL
};

pub(crate) fn silent(_: &Progress<'_>) {}

async fn migrated(url: &str, to: &Migrations, patience: Patience) -> Result<(), OpenError> {
    migrate_postgres(url, SETTINGS, to, patience, silent).await
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

#[tokio::test]
async fn versions_without_marks_start_on_the_newest_schema_of_postgres() {
    with_empty_postgres(async |url| {
        opened(&url).await.unwrap();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let newest = "SELECT max(version) FROM _sqlx_migrations";
        assert_eq!(number(&mut connection, newest).await, BEFORE_MARKS);
        let own = "SELECT max(version) FROM shunt_migrations";
        assert_eq!(
            number(&mut connection, own).await,
            migrations::postgres().newest()
        );
    })
    .await;
}

#[tokio::test]
async fn a_newer_schema_of_postgres_is_used_unless_its_mark_forbids_it() {
    with_empty_postgres(async |url| {
        let newer = migrations::postgres().and(LATER - 1, "adds", ADDS);
        migrated(&url, &newer, Patience::USUAL).await.unwrap();
        opened(&url).await.unwrap();
        let newer = newer.and(LATER, "contracts", CONTRACTS);
        migrated(&url, &newer, Patience::USUAL).await.unwrap();
        let Err(OpenError::Wrong(why)) = opened(&url).await else {
            panic!("it runs on a schema that forbids it");
        };
        assert!(why.contains("at version 900"), "{why}");
        assert!(why.contains("start that one"), "{why}");
        migrated(&url, &newer, Patience::USUAL).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_contract_keeps_out_versions_without_marks_too() {
    with_empty_postgres(async |url| {
        let newer = migrations::postgres().and(LATER, "contracts", CONTRACTS);
        migrated(&url, &newer, Patience::USUAL).await.unwrap();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        // Those refuse a row that they do not know.
        let newest = "SELECT max(version) FROM _sqlx_migrations";
        assert_eq!(number(&mut connection, newest).await, LATER);
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_refused() {
    with_empty_postgres(async |url| {
        let one = migrations::postgres().and(LATER, "adds", ADDS);
        migrated(&url, &one, Patience::USUAL).await.unwrap();
        let other = migrations::postgres().and(LATER, "adds", LOCKS);
        let Err(OpenError::Wrong(why)) = migrated(&url, &other, Patience::USUAL).await else {
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
        let migration = migrated(&url, &newer, Patience::USUAL);
        let service = async {
            // The third wait begins after two that gave up.
            for _ in 0..3 {
                until_it_waits(&mut observer, "ADD COLUMN note").await;
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
        let notes = "SELECT count(note) FROM links";
        assert_eq!(number(&mut observer, notes).await, 0);
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

/// The newest schema, and a table of numbers.
async fn with_numbers(test: impl AsyncFnOnce(&str, Migrations, PgConnection)) {
    with_empty_postgres(async |url| {
        opened(&url).await.unwrap();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let table = "CREATE TABLE numbers (id bigint PRIMARY KEY, doubled bigint);
            INSERT INTO numbers SELECT generate_series(1, 1000)";
        run(&mut connection, table).await;
        test(&url, migrations::postgres(), connection).await;
    })
    .await;
}

#[tokio::test]
async fn a_large_step_runs_in_batches_each_of_which_stays_done() {
    with_numbers(async |url, all, mut observer| {
        let mut holder = PgConnection::connect(url).await.unwrap();
        let mut row = holder.begin().await.unwrap();
        // Batches go by id, so some come before this row.
        run(&mut row, "SELECT FROM numbers WHERE id = 950 FOR UPDATE").await;
        let newer = all.and(LATER, "doubled", IN_BATCHES);
        assert!(migrated(url, &newer, IMPATIENT).await.is_err());
        let done = "SELECT count(doubled) FROM numbers";
        let before = number(&mut observer, done).await;
        assert!((100..1000).contains(&before), "{before} rows are done");
        row.rollback().await.unwrap();
        migrated(url, &newer, IMPATIENT).await.unwrap();
        assert_eq!(number(&mut observer, done).await, 1000);
        let wrong = "SELECT count(*) FROM numbers WHERE doubled <> 2 * id";
        assert_eq!(number(&mut observer, wrong).await, 0);
    })
    .await;
}

#[tokio::test]
async fn an_index_is_built_beside_writers() {
    with_numbers(async |url, all, mut service| {
        let mut holder = PgConnection::connect(url).await.unwrap();
        let mut observer = PgConnection::connect(url).await.unwrap();
        let mut unfinished = holder.begin().await.unwrap();
        run(&mut unfinished, "INSERT INTO numbers VALUES (2000, 1)").await;
        let newer = all.and(LATER, "an index", INDEX);
        let index = migrated(url, &newer, Patience::USUAL);
        let writes = async {
            until_it_waits(&mut observer, "CREATE UNIQUE INDEX").await;
            let passes = run(&mut service, "INSERT INTO numbers VALUES (2001, 2)");
            timeout(Duration::from_secs(20), passes)
                .await
                .expect("a write passes while the index is built");
            // An instance that starts meanwhile waits for no index, and the index not for it.
            let beside = timeout(Duration::from_secs(30), opened(url)).await;
            beside.expect("it starts").unwrap();
            unfinished.commit().await.unwrap();
        };
        let (built, ()) = tokio::join!(index, writes);
        built.unwrap();
        let valid = "SELECT count(*) FROM pg_index WHERE indexrelid = 'numbers_doubled'::regclass AND indisvalid";
        assert_eq!(number(&mut observer, valid).await, 1);
    })
    .await;
}

#[tokio::test]
async fn an_index_that_was_left_behind_unfinished_is_built_again() {
    with_numbers(async |url, all, mut by_hand| {
        run(
            &mut by_hand,
            "INSERT INTO numbers VALUES (2000, 1), (2001, 1)",
        )
        .await;
        let newer = all.and(LATER, "an index", INDEX);
        // Two rows are alike: the build fails, and Postgres leaves the index as it is.
        assert!(migrated(url, &newer, IMPATIENT).await.is_err());
        let invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid";
        assert_eq!(number(&mut by_hand, invalid).await, 1);
        run(&mut by_hand, "DELETE FROM numbers WHERE id = 2001").await;
        migrated(url, &newer, IMPATIENT).await.unwrap();
        assert_eq!(number(&mut by_hand, invalid).await, 0);
        let applied = "SELECT count(*) FROM shunt_migrations WHERE version = 900";
        assert_eq!(number(&mut by_hand, applied).await, 1);
    })
    .await;
}

#[tokio::test]
async fn instances_that_start_at_once_apply_each_step_once() {
    with_empty_postgres(async |url| {
        let newer = migrations::postgres()
            .and(LATER, "adds", ADDS)
            .and(LATER + 1, "an index", "-- runs: concurrently, index added_id\nCREATE INDEX CONCURRENTLY added_id ON added_later (id);");
        let starts = (0..4).map(|_| migrated(&url, &newer, Patience::USUAL));
        for migrated in futures_util::future::join_all(starts).await {
            migrated.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn an_instance_that_does_not_migrate_names_what_postgres_lacks() {
    with_empty_postgres(async |url| {
        let required = StoreSettings {
            schema: Schema::Require,
            ..SETTINGS
        };
        let refusal = async || match PostgresStore::connect(&url, required).await {
            Err(OpenError::Wrong(why)) => why,
            _ => panic!("it starts on a schema that lacks something"),
        };
        let why = refusal().await;
        assert!(
            why.contains("has no schema") && why.contains("shunt migrate"),
            "{why}"
        );
        let older = migrations::postgres().up_to(BEFORE_MARKS);
        migrated(&url, &older, Patience::USUAL).await.unwrap();
        let why = refusal().await;
        assert!(
            why.contains("at version 7") && why.contains("missing: 9"),
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
