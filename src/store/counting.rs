//! Counts clicks within a transaction that creates or edits links: each database does so in its own way.

use std::collections::HashMap;
use std::sync::Arc;

use super::connection::{Connection, Inner, Response};
use super::rows::signed;
use super::sql::query_of_each;
use super::{
    ClickDetails, DetailedClicks, NewLink, Outcome, StoreError, click_rows, postgres, sqlite,
};
use crate::domain::{ClickClass, Interval, LinkId, Timestamp};

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

    /// Adds the classes of clicks with which links start.
    fn insert_classes<'a>(
        &'a mut self,
        details: &'a ClickDetails,
        interval: Interval,
    ) -> Response<'a, ()> {
        Box::pin(async move {
            let added = match &mut self.inner {
                Inner::Postgres(session) => {
                    postgres::insert_classes(session, details, interval).await
                }
                Inner::Sqlite(connection) => {
                    sqlite::insert_starting_classes(connection, details, interval).await
                }
            };
            added.map_err(|error| self.failed(error))
        })
    }

    /// The clicks of links that the database has.
    pub(super) fn written_clicks_of<'a>(
        &'a mut self,
        links: &'a [LinkId],
        now: Timestamp,
    ) -> Response<'a, HashMap<LinkId, u64>> {
        Box::pin(async move {
            let clicks = match &mut self.inner {
                Inner::Postgres(session) => postgres::written_clicks(session, links).await,
                Inner::Sqlite(connection) => sqlite::written_clicks(connection, links, now).await,
            };
            let clicks = clicks.map_err(|error| self.failed(error))?;
            Ok(click_rows::count_snapshot(clicks)?
                .clicks
                .into_iter()
                .collect())
        })
    }

    /// The clicks of a link that the database has.
    pub(super) fn written_clicks(&mut self, link: LinkId, now: Timestamp) -> Response<'_, u64> {
        Box::pin(async move {
            let clicks = self.written_clicks_of(&[link], now).await?;
            Ok(clicks.get(&link).copied().unwrap_or_default())
        })
    }
}

/// Counts the clicks with which links start: another service counted them, and so their class is known.
pub(super) async fn count_starting_clicks(
    connection: &mut Connection<'_>,
    links: &[NewLink<'_>],
    outcomes: &[Outcome],
) -> Result<(), StoreError> {
    let clicks = links
        .iter()
        .zip(outcomes)
        .filter(|(link, _)| link.clicks > 0);
    let clicks =
        clicks.filter_map(|(link, outcome)| Some((outcome.as_ref().ok()?.id, link.clicks)));
    let clicks: Vec<_> = clicks.collect();
    let Some(first) = links.first().filter(|_| !clicks.is_empty()) else {
        return Ok(());
    };
    let begin = Interval::of(first.created_at);
    connection.count_clicks(&clicks, begin).await?;
    // The feeds of events have them with the link.
    let told = query_of_each(
        "UPDATE event_queue SET clicks = (value::json ->> 1)::bigint FROM json_each($1)
         WHERE link_id = (value::json ->> 0)::bigint AND type = 'link.created'",
        "UPDATE event_queue SET clicks = value ->> 1 FROM json_each($1)
         WHERE link_id = value ->> 0 AND event_queue.type = 'link.created'",
    );
    let starting = clicks
        .iter()
        .map(|(link, clicks)| (link.number(), signed(*clicks)));
    let starting = serde_json::json!(starting.collect::<Vec<_>>()).to_string();
    connection.execute(told.bind(starting)).await?;
    let class = Arc::new(ClickClass::imported());
    let details = clicks.into_iter().map(|(link, clicks)| DetailedClicks {
        link,
        class: Arc::clone(&class),
        clicks,
    });
    connection
        .insert_classes(&ClickDetails::new(details.collect()), begin)
        .await
}
