//! The store in Postgres.

use super::{OpenError, StoreSettings};

mod class_days;
mod class_ids;
mod click_limits;
mod clicks;
mod details;
mod history;
mod merged_classes;
mod migrate;
mod owner_series;
mod parts;
mod parts_per_step;
mod pool;
mod removed_details;
mod replica;
mod seen;
mod series;
mod server;
pub(super) mod session;
mod untold;

use class_ids::RememberedClasses;
use parts_per_step::PartsPerStep;
use pool::Pool;

pub(super) use clicks::{count_clicks, insert_classes, written_clicks};
pub(super) use history::{CHECKS, unchecked};
pub(super) use seen::Seen;

pub use migrate::migrate_postgres;
pub use replica::{PostgresReplica, WalPosition};

/// Users, links and clicks in Postgres.
pub struct PostgresStore {
    pub(super) pool: Pool,
    pub(super) installation: String,
    pub(super) seen: Seen,
    classes: RememberedClasses,
    class_parts_per_step: PartsPerStep,
    told_parts_per_step: PartsPerStep,
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
            classes: RememberedClasses::default(),
            class_parts_per_step: PartsPerStep::default(),
            told_parts_per_step: PartsPerStep::default(),
        })
    }
}
