//! Counts of links, in the transaction that changes the links. The databases keep counts differently.

use super::connection::{Connection, Inner};
use super::{StoreError, postgres, sqlite};
use crate::domain::{Interval, LinkId, Timestamp};

/// Adds clicks of one interval to links, each named once, and to the sums of their owners.
pub(super) async fn count_clicks(
    connection: &mut Connection<'_>,
    clicks: &[(LinkId, u64)],
    interval: Interval,
) -> Result<(), StoreError> {
    let counted = match &mut connection.inner {
        Inner::Postgres(session) => postgres::count_clicks(session, clicks, interval).await,
        Inner::Sqlite(connection) => sqlite::count_clicks(connection, clicks, interval).await,
    };
    counted.map_err(|error| connection.failed(error))
}

/// The clicks of a link that the database has.
pub(super) async fn written_clicks(
    connection: &mut Connection<'_>,
    link: LinkId,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let clicks = match &mut connection.inner {
        Inner::Postgres(session) => postgres::written_clicks(session, link).await,
        Inner::Sqlite(connection) => sqlite::written_clicks(connection, link, now).await,
    };
    clicks.map_err(|error| connection.failed(error))
}
