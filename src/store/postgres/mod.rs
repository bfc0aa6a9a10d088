//! The store in Postgres.

use super::{OpenError, StoreSettings};

mod click_limits;
mod clicks;
mod detail_lock;
mod detail_room;
mod details;
mod history;
mod migrate;
mod owner_series;
mod parts;
mod pool;
mod removed_details;
mod replica;
mod seen;
mod series;
mod server;
pub(super) mod session;

use pool::Pool;

pub(super) use clicks::{count_clicks, written_clicks};
pub(super) use history::{CHECKS, unchecked};
pub(super) use seen::Seen;

pub use migrate::migrate_postgres;
pub use replica::{PostgresReplica, WalPosition};

/// Users, links and clicks in Postgres.
pub struct PostgresStore {
    pub(super) pool: Pool,
    pub(super) installation: String,
    pub(super) seen: Seen,
}

impl PostgresStore {
    /// Connects, and brings the schema up to date under a lock that other instances respect, or refuses one that is not.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn connect(url: &str, settings: StoreSettings) -> Result<Self, OpenError> {
        let pool = Pool::connect(url, settings).await?;
        migrate::bring_up_to_date(url, &pool, settings.schema).await?;
        let installation = pool
            .run(async |session| {
                sqlx::query_scalar("SELECT id FROM installation")
                    .fetch_one(session)
                    .await
            })
            .await?;
        Ok(Self {
            pool,
            installation,
            seen: Seen::default(),
        })
    }
}
