//! The store in Postgres.

use std::str::FromStr;
use std::sync::Arc;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::{OpenError, Parts, Store, StoreSettings};

mod clicks;
mod links;
mod users;

/// Users, links and clicks in Postgres.
pub struct PostgresStore {
    pool: PgPool,
}

impl PostgresStore {
    /// Connects, and brings the schema up to date under a lock that other instances respect.
    ///
    /// # Errors
    /// [`OpenError`] tells what may pass from what will not.
    pub async fn connect(url: &str, settings: StoreSettings) -> Result<Self, OpenError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| OpenError::Wrong(error.to_string()))?
            .application_name("shunt")
            .options([(
                "statement_timeout",
                settings.deadline.as_millis().to_string(),
            )]);
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.deadline)
            .connect_with(options)
            .await?;
        sqlx::migrate!("migrations/postgres").run(&pool).await?;
        Ok(Self { pool })
    }
}

impl Store for PostgresStore {
    fn parts(self: Arc<Self>) -> Parts {
        Parts {
            users: self.clone(),
            links: self.clone(),
            clicks: self,
        }
    }
}

/// Microseconds since 1970 as Postgres reads them: exact, unlike a floating-point number of seconds.
macro_rules! moment {
    ($parameter:literal) => {
        concat!(
            "('epoch'::timestamptz + ",
            $parameter,
            "::bigint * interval '1 microsecond')"
        )
    };
}

/// The reverse of [`moment!`].
macro_rules! micros {
    ($column:literal) => {
        concat!("(extract(epoch FROM ", $column, ") * 1000000)::bigint")
    };
}

use {micros, moment};
