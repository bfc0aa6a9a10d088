//! A streaming replica of Postgres, for look-ups of links.
//!
//! A replica shows an earlier state of its primary. Its position in the write-ahead log says which one: a commit before
//! a position of the primary is visible on a replica that has replayed up to that position. So a look-up on the replica
//! asks how far it has replayed *before* it reads the link, in a statement of its own: the second statement's snapshot
//! is younger. Both run where every statement has its own snapshot.
//!
//! A position belongs to a timeline: a server that takes over starts another one. Positions of different timelines are
//! never compared: a server that diverged is not used, however far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::PostgresStore;
use super::pool::Pool;
use super::session::Session;
use crate::domain::{LinkId, LinkTarget, ShortCode};
use crate::store::connection::row_of_postgres;
use crate::store::finding::{target, target_columns, target_of};
use crate::store::migrations::Schema;
use crate::store::sql::query;
use crate::store::{OpenError, StoreError, StoreSettings};
use crate::telemetry::metrics::Connections;

/// Timeline and bytes of a position of the primary, `wal.here`.
macro_rules! position {
    () => {
        "('x' || left(pg_walfile_name(wal.here), 8))::bit(32)::bigint AS timeline, (wal.here - '0/0'::pg_lsn)::bigint AS bytes"
    };
}

/// How long the replica may take, waiting for a connection included: the primary is asked after it, and a redirect
/// waits.
const DEADLINE: Duration = Duration::from_millis(500);

/// A place in the write-ahead log of a primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalPosition {
    timeline: i64,
    /// Bytes from the beginning of the log.
    bytes: i64,
}

impl WalPosition {
    /// Whether a server at this position has everything up to the other one.
    fn covers(self, other: Self) -> bool {
        self.timeline == other.timeline && self.bytes >= other.bytes
    }
}

/// How far a replica had replayed when it was asked.
struct Replayed {
    position: WalPosition,
    /// Seconds since the newest commit that it has replayed.
    age: Option<f64>,
}

/// Why the replica is not used.
#[derive(Debug, thiserror::Error)]
enum Absent {
    #[error("it is not connected to yet")]
    NotConnected,
    #[error("it did not answer in time")]
    Late,
    #[error("it is no replica: it is not in recovery")]
    NoReplica,
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
    #[error(transparent)]
    Unreadable(#[from] StoreError),
    #[error(transparent)]
    NotOpened(#[from] OpenError),
    #[error("the primary does not say where it is: {0}")]
    Primary(sqlx::Error),
}

/// A primary and its replica. The replica may be away at any time: then the primary is asked.
pub struct PostgresReplica {
    primary: Arc<PostgresStore>,
    url: String,
    settings: StoreSettings,
    pool: OnceCell<Pool>,
    is_up: AtomicBool,
    /// Logged once for each outage.
    is_reported_away: AtomicBool,
}

impl PostgresReplica {
    /// The replica at `url`, away until it was probed.
    #[must_use]
    pub fn new(primary: Arc<PostgresStore>, url: String, max_connections: u32) -> Self {
        Self {
            primary,
            url,
            settings: StoreSettings {
                max_connections,
                deadline: DEADLINE,
                // It has that of the primary.
                schema: Schema::Require,
            },
            pool: OnceCell::new(),
            is_up: AtomicBool::new(false),
            is_reported_away: AtomicBool::new(false),
        }
    }

    /// Whether it is worth asking.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Acquire)
    }

    /// Connections to the replica at the moment.
    #[must_use]
    pub fn connections(&self) -> Option<Connections> {
        self.pool.get().map(Pool::connections)
    }

    /// The primary's link with a code, and a position that covers everything that was committed before this call.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn on_primary(
        &self,
        code: &ShortCode,
    ) -> Result<(Option<LinkTarget>, WalPosition), StoreError> {
        // The columns of the link are NULL without a link.
        let find = query(concat!(
            "SELECT ",
            position!(),
            ", ",
            target_columns!(),
            ", alias_id, links.short_code AS own_code FROM pg_current_wal_insert_lsn() AS wal (here)
             LEFT JOIN link_codes AS codes ON codes.code = $1 LEFT JOIN live_links AS links ON links.id = codes.link_id"
        ));
        let row = self.primary.pool.row(find.bind(code).first()).await?;
        let row = row.ok_or(sqlx::Error::RowNotFound)?;
        let id: Option<LinkId> = row.get("id")?;
        let link = id.map(|_| target(&row)).transpose()?;
        let position = WalPosition {
            timeline: row.get("timeline")?,
            bytes: row.get("bytes")?,
        };
        Ok((link, position))
    }

    /// An active link on the replica, where it has replayed everything up to `at_least`. `None` means that the primary
    /// has to be asked.
    pub async fn on_replica(&self, code: &ShortCode, at_least: WalPosition) -> Option<LinkTarget> {
        match timeout(DEADLINE, self.read(code, at_least)).await {
            Ok(Ok(link)) => link.filter(|link| link.is_active),
            Ok(Err(why)) => self.is_away(&why),
            Err(_) => self.is_away(&Absent::Late),
        }
    }

    async fn read(
        &self,
        code: &ShortCode,
        at_least: WalPosition,
    ) -> Result<Option<LinkTarget>, Absent> {
        let pool = self.pool.get().ok_or(Absent::NotConnected)?;
        let (replayed, found) = pool
            .run_with_priority(async |session| {
                let replayed = replayed(session).await?;
                let is_behind = replayed
                    .as_ref()
                    .is_none_or(|replayed| !replayed.position.covers(at_least));
                if is_behind {
                    return Ok((replayed, None));
                }
                let found = row_of_postgres(session, target_of(code)).await?;
                Ok((replayed, found))
            })
            .await?;
        replayed.ok_or(Absent::NoReplica)?;
        Ok(found.as_ref().map(target).transpose()?)
    }

    /// Checks whether the replica is available, and how far it lags behind. `None` where it is away.
    pub async fn probe(&self) -> Option<Duration> {
        match self.lag().await {
            Ok(lag) => {
                self.is_reported_away.store(false, Ordering::Release);
                if !self.is_up.swap(true, Ordering::AcqRel) {
                    tracing::info!(lag_seconds = lag.as_secs_f64(), "the replica is up");
                }
                Some(lag)
            }
            Err(why) => self.is_away(&why),
        }
    }

    async fn lag(&self) -> Result<Duration, Absent> {
        let written = self.written().await?;
        let pool = self
            .pool
            .get_or_try_init(|| Pool::connect(&self.url, self.settings))
            .await?;
        let replayed = pool.run(replayed).await?.ok_or(Absent::NoReplica)?;
        let has_all = written.is_none_or(|written| replayed.position.covers(written));
        let age = replayed.age.filter(|_| !has_all).unwrap_or_default();
        Ok(Duration::try_from_secs_f64(age).unwrap_or_default())
    }

    /// Where the primary is; `None` where the primary is away, which is no fault of the replica's.
    async fn written(&self) -> Result<Option<WalPosition>, Absent> {
        let position = self.primary.pool.run(async |session| {
            sqlx::query_as(concat!(
                "SELECT ",
                position!(),
                " FROM pg_current_wal_insert_lsn() AS wal (here)"
            ))
            .fetch_one(session)
            .await
        });
        match position.await {
            Ok((timeline, bytes)) => Ok(Some(WalPosition { timeline, bytes })),
            Err(error) if error.as_database_error().is_none() => Ok(None),
            Err(error) => Err(Absent::Primary(error)),
        }
    }

    /// It is not asked until a probe reaches it again.
    fn is_away<T>(&self, why: &Absent) -> Option<T> {
        self.is_up.store(false, Ordering::Release);
        if self.is_reported_away.swap(true, Ordering::AcqRel) {
            tracing::debug!(%why, "the replica is still away");
        } else {
            tracing::warn!(%why, "the replica is away: the primary is asked instead");
        }
        None
    }
}

/// How far this server has replayed; `None` where it is no replica.
async fn replayed(session: &mut Session) -> Result<Option<Replayed>, sqlx::Error> {
    type Found = (bool, Option<i64>, Option<i64>, Option<f64>);
    let (replays, timeline, bytes, age): Found = sqlx::query_as(
        "SELECT pg_is_in_recovery(), (pg_control_checkpoint()).timeline_id::bigint,
             (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint,
             extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8",
    )
    .fetch_one(session)
    .await?;
    let position = timeline.zip(bytes).filter(|_| replays);
    Ok(position.map(|(timeline, bytes)| Replayed {
        position: WalPosition { timeline, bytes },
        age,
    }))
}
