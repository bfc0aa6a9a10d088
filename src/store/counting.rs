//! Counts of clicks in transactions of links: here the databases differ.

use super::connection::{Connection, Inner, Response};
use super::{postgres, sqlite};
use crate::domain::{Interval, LinkId, Timestamp};

impl Connection<'_> {
    /// Adds clicks of one interval to links, each named once, and to the sums of their owners.
    pub(super) fn count_clicks<'a>(
        &'a mut self,
        clicks: &'a [(LinkId, u64)],
        interval: Interval,
    ) -> Response<'a, ()> {
        Box::pin(async move {
            let counted = match &mut self.inner {
                Inner::Postgres(session) => postgres::count_clicks(session, clicks, interval).await,
                Inner::Sqlite(connection) => {
                    sqlite::count_clicks(connection, clicks, interval).await
                }
            };
            counted.map_err(|error| self.failed(error))
        })
    }

    /// The clicks of a link that the database has.
    pub(super) fn written_clicks(&mut self, link: LinkId, now: Timestamp) -> Response<'_, u64> {
        Box::pin(async move {
            let clicks = match &mut self.inner {
                Inner::Postgres(session) => postgres::written_clicks(session, link).await,
                Inner::Sqlite(connection) => sqlite::written_clicks(connection, link, now).await,
            };
            clicks.map_err(|error| self.failed(error))
        })
    }
}
