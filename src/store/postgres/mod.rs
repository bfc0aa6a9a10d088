//! The store in Postgres.

use super::{OpenError, StoreSettings};

mod administration;
mod bulk_links;
mod click_limits;
mod clicks;
mod created_links;
mod deleted_links;
mod detail_lock;
mod detail_room;
mod details;
mod edited_links;
mod history;
mod ledger;
mod links;
mod migrate;
mod ordered_links;
mod outbox;
mod owner_series;
mod pool;
mod removal_steps;
mod removals;
mod removed_details;
mod replica;
mod searched_links;
mod seen;
mod seen_rows;
mod series;
mod server;
mod session;

use pool::Pool;

pub(super) use history::{CHECKS, unchecked};
pub(super) use seen::Seen;
pub(super) use session::Session;

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

/// The columns of a `TargetRow` of `links`.
macro_rules! target_columns {
    () => {
        "links.id, target_url, is_active AND removed_status IS NULL, expires_at, max_clicks IS NOT NULL, forward_query, removed_status"
    };
}

/// Leaves out links of accounts that were deleted and whose links are not removed yet.
macro_rules! not_of_deleted_user {
    () => {
        " AND NOT EXISTS (SELECT FROM deleted_users WHERE user_id = links.owner_id)"
    };
}

/// The columns of a `LinkRow` of `links`.
macro_rules! link_columns {
    () => {
        "links.id, short_code, target_url, is_active, title, tags, forward_query, links.created_at, updated_at, expires_at,
        max_clicks, removed_status, EXISTS (SELECT FROM click_journal WHERE parked)"
    };
}

use {link_columns, not_of_deleted_user, target_columns};
