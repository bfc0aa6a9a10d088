//! Databases and key spaces of a test's own.

use sqlx::{Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;

use super::class_days::owners_with_other_bots;
use super::template::create_migrated;
use super::unique;

/// The two ways to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Embedded,
    Production,
}

/// The data of one test's instances.
pub(crate) enum Backend {
    Embedded { folder: TempDir },
    Production { database: String, prefix: String },
}

impl Backend {
    pub(crate) async fn new(mode: Mode) -> Self {
        match mode {
            Mode::Embedded => Self::Embedded {
                folder: tempfile::tempdir().unwrap(),
            },
            Mode::Production => {
                let name = unique_database();
                create_migrated(&name).await;
                Self::of_production(name)
            }
        }
    }

    /// Of production, with an empty database that is made with these options of `CREATE DATABASE`.
    pub(crate) async fn empty(options: &str) -> Self {
        let name = unique_database();
        let mut admin = PgConnection::connect(&admin_url()).await.unwrap();
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name} {options}"));
        sqlx::raw_sql(create).execute(&mut admin).await.unwrap();
        Self::of_production(name)
    }

    fn of_production(database: String) -> Self {
        Self::Production {
            prefix: database.clone(),
            database,
        }
    }

    /// The settings of every instance of this test.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let pairs = match self {
            Self::Embedded { folder } => {
                vec![(
                    "DATABASE_URL",
                    format!("sqlite://{}", folder.path().join("shunt.db").display()),
                )]
            }
            Self::Production { database, prefix } => vec![
                ("DATABASE_URL", database_url(database)),
                ("REDIS_URL", redis_url()),
                ("REDIS_PREFIX", prefix.clone()),
                ("JWT_SECRET", SECRET.to_owned()),
                ("DATABASE_MAX_CONNECTIONS", "5".to_owned()),
            ],
        };
        pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The prefix of this test's keys in Redis.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Self::Production { prefix, .. } => prefix,
            Self::Embedded { .. } => panic!("only production has keys in Redis"),
        }
    }

    /// The URL of the database, in production.
    pub(crate) fn database_url(&self) -> String {
        match self {
            Self::Production { database, .. } => database_url(database),
            Self::Embedded { .. } => panic!("only production has a database with a URL"),
        }
    }

    /// The folder of an embedded instance's files.
    pub(crate) fn folder(&self) -> &std::path::Path {
        match self {
            Self::Embedded { folder } => folder.path(),
            Self::Production { .. } => panic!("only the embedded mode has files"),
        }
    }

    /// The secret that signs tokens.
    pub(crate) fn secret(&self) -> Vec<u8> {
        match self {
            Self::Embedded { folder } => {
                std::fs::read(folder.path().join("shunt.db.jwt-secret")).unwrap()
            }
            Self::Production { .. } => SECRET.as_bytes().to_vec(),
        }
    }

    /// Changes the database by hand, without the service.
    pub(crate) async fn execute(&self, sql: &'static str, value: &str) {
        let changed = match self {
            Self::Embedded { folder } => {
                let url = format!("sqlite://{}", folder.path().join("shunt.db").display());
                let mut connection = SqliteConnection::connect(&url).await.unwrap();
                sqlx::query(sql)
                    .bind(value)
                    .execute(&mut connection)
                    .await
                    .unwrap()
                    .rows_affected()
            }
            Self::Production { database, .. } => {
                let mut connection = PgConnection::connect(&database_url(database))
                    .await
                    .unwrap();
                sqlx::query(sql)
                    .bind(value)
                    .execute(&mut connection)
                    .await
                    .unwrap()
                    .rows_affected()
            }
        };
        assert!(changed > 0, "nothing was changed: {sql}");
    }

    /// Clicks of a link that are in its count: in production clicks of flushes that are merged, otherwise clicks of the journal.
    pub(crate) async fn clicks_in_database(&self, code: &str) -> u64 {
        let clicks: Option<i64> = match self {
            Self::Embedded { folder } => {
                let url = format!("sqlite://{}", folder.path().join("shunt.db").display());
                let mut connection = SqliteConnection::connect(&url).await.unwrap();
                sqlx::query_scalar("SELECT clicks FROM links WHERE short_code = $1")
                    .bind(code)
                    .fetch_optional(&mut connection)
                    .await
                    .unwrap()
            }
            Self::Production { database, .. } => {
                let mut connection = PgConnection::connect(&database_url(database))
                    .await
                    .unwrap();
                sqlx::query_scalar(
                    "SELECT clicks FROM link_clicks WHERE link_id = (SELECT id FROM links WHERE short_code = $1)",
                )
                .bind(code)
                .fetch_optional(&mut connection)
                .await
                .unwrap()
            }
        };
        clicks.unwrap_or_default().unsigned_abs()
    }

    /// Fails unless, for every link, the clicks by interval are as many as the count. The service has stopped.
    pub(crate) async fn series_are_exact(&self) {
        let wrong: Vec<(i64, i64)> = match self {
            // An instance that works on the back ends of another one.
            Self::Embedded { folder } if !folder.path().join("shunt.db").exists() => Vec::new(),
            Self::Embedded { folder } => {
                let url = format!("sqlite://{}", folder.path().join("shunt.db").display());
                let mut connection = SqliteConnection::connect(&url).await.unwrap();
                let sums: Vec<(i64, i64, i64)> = sqlx::query_as(
                    "SELECT owner_id, at, sum(n) FROM (
                         SELECT owner_id, interval AS at, clicks AS n FROM owner_series
                         UNION ALL SELECT coalesce(made_by, owner_id), series.interval, -series.clicks FROM link_series series JOIN links ON id = link_id
                         UNION ALL SELECT coalesce(made_by, owner_id), interval, -in_interval FROM links
                     ) WHERE owner_id IN (SELECT id FROM users) GROUP BY owner_id, at HAVING sum(n) <> 0",
                )
                .fetch_all(&mut connection)
                .await
                .unwrap();
                assert_eq!(sums, [], "owners whose sums are not those of their links");
                let bots = owners_with_other_bots(&mut connection).await;
                assert_eq!(bots, [], "owners whose bots are not those of their links");
                let wrong = sqlx::query_as(
                    "SELECT id, clicks FROM links WHERE clicks <> in_interval + (
                         SELECT coalesce(sum(link_series.clicks), 0) FROM link_series WHERE link_id = id)",
                )
                .fetch_all(&mut connection)
                .await;
                connection.close().await.unwrap();
                wrong.unwrap()
            }
            Self::Production { database, .. } => {
                let url = database_url(database);
                let mut connection = PgConnection::connect(&url).await.unwrap();
                let sums: Vec<(i64, i32, i64)> = sqlx::query_as(
                    "SELECT owner_id, interval, sum(n)::bigint FROM (
                         SELECT owner_id, interval, clicks AS n FROM owner_series
                         UNION ALL SELECT owner_id, interval, clicks FROM owner_series_log
                         UNION ALL SELECT coalesce(made_by, owner_id), at, -clicks FROM links, merged_points(links.id, 0)
                     ) parts WHERE owner_id IN (SELECT id FROM users) GROUP BY owner_id, interval HAVING sum(n) <> 0",
                )
                .fetch_all(&mut connection)
                .await
                .unwrap();
                assert_eq!(sums, [], "owners whose sums are not those of their links");
                sqlx::query_as(
                    "SELECT link_id, clicks FROM link_clicks counted WHERE NOT is_deleted AND clicks <> (
                         SELECT sum(points.clicks) FROM merged_points(link_id, 0) AS points)",
                )
                .fetch_all(&mut connection)
                .await
                .unwrap()
            }
        };
        assert_eq!(wrong, [], "links and counts whose series have another sum");
    }

    /// The number of connections from instances to the database, in production.
    pub(crate) async fn connections_of_the_service(&self) -> i64 {
        let Self::Production { database, .. } = self else {
            panic!("only production has connections");
        };
        let mut connection = PgConnection::connect(&database_url(database))
            .await
            .unwrap();
        sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'shunt'",
        )
        .bind(database)
        .fetch_one(&mut connection)
        .await
        .unwrap()
    }

    /// Empties Redis as `FLUSHALL` does, but of the keys of this test alone.
    pub(crate) async fn empty_redis(&self) {
        let Self::Production { prefix, .. } = self else {
            return;
        };
        let client = redis::Client::open(redis_url()).unwrap();
        let mut redis = client.get_multiplexed_async_connection().await.unwrap();
        let script =
            "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end";
        let pattern = format!("{{{prefix}}}:*");
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(0).arg(pattern);
        eval.exec_async(&mut redis).await.unwrap();
    }

    pub(crate) async fn remove(self) {
        self.empty_redis().await;
        let Self::Production { database, .. } = self else {
            return;
        };
        let mut admin = PgConnection::connect(&admin_url()).await.unwrap();
        let drop = sqlx::AssertSqlSafe(format!("DROP DATABASE {database} WITH (FORCE)"));
        sqlx::raw_sql(drop).execute(&mut admin).await.unwrap();
    }
}

const SECRET: &str = "a secret of the tests, 32 bytes and more";

/// The database through which the tests create their own.
pub(crate) fn admin_url() -> String {
    std::env::var("TEST_DATABASE_URL").expect("TEST_DATABASE_URL is set by tests/run")
}

pub(crate) fn redis_url() -> String {
    std::env::var("TEST_REDIS_URL").expect("TEST_REDIS_URL is set by tests/run")
}

fn unique_database() -> String {
    format!("shunt_test_{}", unique())
}

pub(super) fn database_url(database: &str) -> String {
    let mut url = url::Url::parse(&admin_url()).unwrap();
    url.set_path(database);
    url.into()
}
