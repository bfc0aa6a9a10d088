//! Databases of a test's own, and the macro that runs each test over both kinds.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use shunt::domain::{
    Clock, LinkId, LinkProperties, OwnHost, Principal, ShortCode, SystemClock, TargetUrl,
    Timestamp, TokenKey,
};
use shunt::store::migrations::{self, Schema};
use shunt::store::{
    Change, DataSet, Deleted, Deletion, NewLink, PostgresStore, Raise, SqliteStore, Store,
    StoreSettings,
};
use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::support::{Backend, Mode};

pub(crate) const SETTINGS: StoreSettings = StoreSettings {
    max_connections: 5,
    deadline: Duration::from_secs(10),
    schema: Schema::Migrate(migrations::log),
};

/// Makes each test twice: `sqlite::name` and `postgres::name`.
macro_rules! both_stores {
    ($(async fn $name:ident($store:ident) $body:block)+) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { crate::store::backend::with_sqlite(super::$name).await; })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { crate::store::backend::with_postgres(super::$name).await; })+
        }
        $(async fn $name($store: crate::store::backend::TestStore) $body)+
    };
}
pub(crate) use both_stores;

/// A store, and the database beneath it.
pub(crate) struct TestStore {
    store: Store,
    database: Address,
}

enum Address {
    Sqlite(PathBuf),
    Postgres(String),
}

impl TestStore {
    /// Whether the database is SQLite, and so the statements of by-hand work are its own.
    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.database, Address::Sqlite(_))
    }

    /// Runs a statement over a connection of its own, as `sqlite3` and `psql` do.
    pub(crate) async fn by_hand(&self, sql: &'static str) {
        let statement = sqlx::raw_sql(sql);
        match &self.database {
            Address::Sqlite(path) => {
                let url = format!("sqlite://{}", path.display());
                let mut connection = SqliteConnection::connect(&url).await.unwrap();
                statement.execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
            Address::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                statement.execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
        }
    }
}

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

pub(crate) async fn with_sqlite(test: impl AsyncFnOnce(TestStore)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let store = SqliteStore::open(&path, SETTINGS, Arc::new(SystemClock)).await;
    let store = Store::of(Arc::new(store.unwrap()));
    let database = Address::Sqlite(path);
    test(TestStore { store, database }).await;
}

pub(crate) async fn with_postgres(test: impl AsyncFnOnce(TestStore)) {
    with_primary(async |store, url| {
        let store = Store::of(store);
        let database = Address::Postgres(url);
        test(TestStore { store, database }).await;
    })
    .await;
}

/// The store, and the URL of its database.
pub(crate) async fn with_primary(test: impl AsyncFnOnce(Arc<PostgresStore>, String)) {
    let backend = Backend::new(Mode::Production).await;
    let url = backend.database_url();
    let store = PostgresStore::connect(&url, SETTINGS).await;
    test(Arc::new(store.unwrap()), url).await;
    backend.remove().await;
}

/// The URL of a database without a schema.
pub(crate) async fn with_empty_postgres(test: impl AsyncFnOnce(String)) {
    let backend = Backend::empty("").await;
    test(backend.database_url()).await;
    backend.remove().await;
}

pub(crate) fn target() -> TargetUrl {
    let own = OwnHost::of(&url::Url::parse("https://sho.rt").unwrap()).unwrap();
    TargetUrl::parse("https://example.org/", &own).unwrap()
}

pub(crate) async fn user(store: &Store) -> Principal {
    let email = format!("{:016x}@example.org", getrandom::u64().unwrap());
    let (email, key) = (email.parse().unwrap(), TokenKey::generate().unwrap());
    let created = store.create_user(&email, "hash", key, SystemClock.now());
    let user = created.await.unwrap();
    Principal { user, key }
}

/// What an owner sets of a link with a target and nothing else.
pub(crate) fn plain() -> LinkProperties {
    LinkProperties::of(target())
}

pub(crate) async fn link(store: &Store, owner: Principal) -> (ShortCode, LinkId) {
    let code = ShortCode::generate(7).unwrap();
    let properties = plain();
    let new = NewLink::new(&code, &properties, owner, SystemClock.now());
    let created = store.create_link(new, 0).await.unwrap();
    (code, created.link.id)
}

/// A data set of Redis that has just begun.
pub(crate) async fn began(store: &Store) -> DataSet {
    let raise = Raise {
        tag: "{tag}",
        from: 0,
        above: 0,
        replication_id: "server",
    };
    store.begin_data_set(raise, "").await.unwrap().unwrap()
}

/// Deletes a link, whatever it is now; the change that was noted, if there was such a link.
pub(crate) async fn delete_link(
    store: &Store,
    owner: Principal,
    code: &ShortCode,
) -> Option<Change> {
    match store
        .delete_link(owner, code, None, Deletion::AtOnce)
        .await
        .unwrap()
    {
        Deleted::Done(changes) => changes.into_iter().next(),
        Deleted::NotFound | Deleted::Refused => None,
    }
}

/// So many microseconds after 1970 began.
pub(crate) fn moment(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}
