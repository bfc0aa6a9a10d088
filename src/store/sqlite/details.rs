//! Clicks by visitor class in SQLite.

use std::ops::Range;

use async_trait::async_trait;
use serde_json::json;

use super::SqliteStore;
use super::class_days::days;
use super::pool::Lease;
use crate::domain::{Interval, LinkGroup, LinkId};
use crate::store::class_reading::{BotsIn, ClassesIn};
use crate::store::details::{self, BreakdownRow};
use crate::store::rows::Tuples as _;
use crate::store::summing::filters;
use crate::store::{
    Breakdown, BreakdownQuery, ClassSeries, ClickSum, ClicksOf, Details, OwnerSeries, StoreError,
};

/// A breakdown of sums by class. Bound are: an object of clicks by class, the dimension, the filters, and how many rows.
const OF_VALUES: &str = "
    WITH of_values AS (
        SELECT CASE ?2 WHEN 0 THEN referrer WHEN 1 THEN country WHEN 2 THEN browser WHEN 3 THEN os WHEN 4 THEN device
            WHEN 5 THEN rule WHEN 6 THEN code ELSE bot END AS value,
            sum(sums.value) AS clicks, coalesce(sum(sums.value) FILTER (WHERE bot = 'true'), 0) AS bots
        FROM json_each(?1) AS sums CROSS JOIN click_classes ON click_classes.id = CAST(sums.key AS INTEGER)
        WHERE (?3 IS NULL OR referrer = ?3) AND (?4 IS NULL OR country = ?4)
          AND (?5 IS NULL OR browser = ?5) AND (?6 IS NULL OR os = ?6)
          AND (?7 IS NULL OR device = ?7) AND (?8 IS NULL OR rule = ?8)
          AND (?9 IS NULL OR code = ?9) AND (?10 IS NULL OR bot = ?10)
        GROUP BY 1 HAVING sum(sums.value) > 0
    )
    SELECT value, clicks, bots, sum(clicks) OVER (), sum(bots) OVER () FROM of_values
    ORDER BY value IN ('', 'other', 'imported') DESC, clicks DESC, value LIMIT ?11";

/// Which of these classes pass the filters, and whether each is that of a known bot.
const PASSING: &str = "
    SELECT click_classes.id, bot = 'true' FROM json_each(?1) AS asked CROSS JOIN click_classes ON click_classes.id = asked.value
    WHERE (?2 IS NULL OR referrer = ?2) AND (?3 IS NULL OR country = ?3)
      AND (?4 IS NULL OR browser = ?4) AND (?5 IS NULL OR os = ?5)
      AND (?6 IS NULL OR device = ?6) AND (?7 IS NULL OR rule = ?7)
      AND (?8 IS NULL OR code = ?8) AND (?9 IS NULL OR bot = ?9)";

/// Rows of days of these links or this account: with the sums of quarters that have left them, and whether these are kept, or, without
/// the sums, such quarters. Bound are: the first and the last day, whose, and the days of which only a part is asked for.
macro_rules! days_of {
    ($whose:literal) => {
        concat!(
            days!(),
            ", asked (id) AS (", $whose, ")
             SELECT class_days.day, ended, quarters, (class_days.day, whose) > (SELECT day, whose FROM class_days_pruned)
             FROM asked CROSS JOIN days CROSS JOIN class_days ON class_days.day = days.day AND whose = asked.id
             UNION ALL
             SELECT day, x'', quarters, true
             FROM asked CROSS JOIN json_each(?4) AS in_part CROSS JOIN class_quarters ON day = in_part.value AND whose = asked.id"
        )
    };
}

const DAYS_OF_ONE: &str = days_of!("SELECT ?3");
const DAYS_OF_TAG: &str = days_of!(
    "SELECT link_id FROM link_tags WHERE owner_id = ?3 AND tag = ?5
     AND (?6 IS NULL OR (SELECT domain FROM links WHERE links.id = link_id) = ?6)"
);
const DAYS_OF_DOMAIN: &str = days_of!(
    "SELECT id FROM links WHERE owner_id = ?3 AND trashed_at = 0 AND ?5 IS NULL AND domain = ?6"
);
/// What is in the bin of an owner is in the days of the owner, too, and what was moved to another account.
const DAYS_LEFT_OUT: &str = days_of!(
    "SELECT id FROM links WHERE owner_id = -?3 AND trashed_at > 0 AND made_by IS NULL
     UNION ALL SELECT id FROM links WHERE made_by = -?3"
);
/// What was moved to an account is not in its days.
const DAYS_MOVED_IN: &str = days_of!(
    "SELECT id FROM links WHERE owner_id = -?3 AND trashed_at = 0 AND made_by IS NOT NULL"
);

/// Bots by day. Bound are: the first and the last day, whose, and the owner's key, the tag and the host, or NULL.
macro_rules! bots_of {
    ($whose:literal) => {
        concat!(
            days!(),
            ", asked (id, is_less) AS (", $whose, ")
             SELECT class_days.day, bots, is_less
             FROM asked CROSS JOIN days CROSS JOIN class_days ON class_days.day = days.day AND whose = asked.id"
        )
    };
}

const BOTS_OF_LINK: &str = bots_of!("SELECT ?3, false");

/// Bots of links in the bin, and of links that were moved to another account, are in the days of their owner, too, and bots of deleted links
/// until the days of these are removed. Bots of links that were moved to this account are not.
const BOTS_OF_OWNER: &str = bots_of!(
    "SELECT -user_id, false FROM account_keys WHERE user_id = ?3 AND key = ?4
     UNION ALL
     SELECT link_id, true FROM account_keys CROSS JOIN deleted_details ON owner_id = user_id WHERE user_id = ?3 AND key = ?4
     UNION ALL
     SELECT links.id, true FROM account_keys CROSS JOIN links ON owner_id = user_id
     WHERE user_id = ?3 AND key = ?4 AND trashed_at > 0 AND made_by IS NULL
     UNION ALL
     SELECT links.id, true FROM account_keys CROSS JOIN links ON made_by = user_id WHERE user_id = ?3 AND key = ?4
     UNION ALL
     SELECT links.id, false FROM account_keys CROSS JOIN links ON owner_id = user_id
     WHERE user_id = ?3 AND key = ?4 AND trashed_at = 0 AND made_by IS NOT NULL"
);

const BOTS_OF_TAG: &str = bots_of!(
    "SELECT link_id, false FROM link_tags
     WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?3 AND key = ?4) AND tag = ?5
     AND (?6 IS NULL OR (SELECT domain FROM links WHERE links.id = link_id) = ?6)"
);
const BOTS_OF_DOMAIN: &str = bots_of!(
    "SELECT links.id, false FROM links
     WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?3 AND key = ?4) AND trashed_at = 0 AND domain = ?6"
);

#[async_trait]
impl Details for SqliteStore {
    async fn sum_details(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        // Classes are summed once their clicks have places in the feeds of events.
        if !self.class_sums.is_under_way().await {
            while self.tell().await? {}
        }
        self.class_sums.step(rows_per_day).await
    }

    async fn prune_details(&self, before: Interval, limit: u32) -> Result<u64, StoreError> {
        self.class_sums.prune(before.number(), limit).await
    }

    async fn remove_details_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        self.class_sums.remove_of_deleted(limit).await
    }

    async fn bots_of_owner(
        &self,
        wanted: &OwnerSeries<'_>,
    ) -> Result<Vec<(Interval, u64)>, StoreError> {
        let group = wanted.links;
        let statement = match group {
            LinkGroup { tag: Some(_), .. } => BOTS_OF_TAG,
            LinkGroup {
                domain: Some(_), ..
            } => BOTS_OF_DOMAIN,
            _ => BOTS_OF_OWNER,
        };
        let mut bots = BotsIn::new(&wanted.range);
        let (first, last) = bots.days();
        let found: Vec<(i32, Vec<u8>, bool)> = sqlx::query(statement)
            .bind(first)
            .bind(last)
            .bind(wanted.owner.user.0)
            .bind(wanted.owner.key.as_bytes())
            .bind(group.tag_text())
            .bind(group.domain_number())
            .fetch_all(&mut *self.reader.get_for_search_if(!group.is_all()).await?)
            .await?
            .tuples()?;
        for (day, packed, is_deleted) in found {
            bots.add_day(day, &packed, is_deleted)?;
        }
        Ok(bots.sums())
    }

    async fn breakdown(&self, query: &BreakdownQuery) -> Result<Breakdown, StoreError> {
        let mut classes = ClassesIn::new(&query.range);
        let mut reader = self.read_classes(&query.of, &mut classes).await?;
        let (ids, clicks) = classes.sums();
        let ids = ids.iter().map(i32::to_string);
        let sums: serde_json::Map<_, _> = ids.zip(clicks.into_iter().map(Into::into)).collect();
        let mut asked = sqlx::query(OF_VALUES)
            .bind(json!(sums).to_string())
            .bind(query.by as i32);
        for filter in filters(&query.filters) {
            asked = asked.bind(filter);
        }
        // Beside the rows that are wanted, that of values without room.
        asked = asked.bind(i64::from(query.limit) + 2);
        let found: Vec<BreakdownRow> = asked.fetch_all(&mut *reader).await?.tuples()?;
        Ok(details::breakdown(found, query.limit))
    }

    async fn class_series(
        &self,
        query: &ClassSeries,
    ) -> Result<Vec<(Interval, ClickSum)>, StoreError> {
        let mut classes = ClassesIn::by_points(&query.starts, query.end);
        let mut reader = self.read_classes(&query.of, &mut classes).await?;
        let mut asked = sqlx::query(PASSING).bind(json!(classes.classes()).to_string());
        for filter in filters(&query.filters) {
            asked = asked.bind(filter);
        }
        let passing: Vec<(i32, bool)> = asked.fetch_all(&mut *reader).await?.tuples()?;
        Ok(classes.series(&passing))
    }
}

impl SqliteStore {
    /// Adds the days of these clicks; returns the connection, for what is asked of their classes.
    async fn read_classes(
        &self,
        of: &ClicksOf,
        classes: &mut ClassesIn,
    ) -> Result<Lease<'_>, StoreError> {
        let (statement, id, group) = match of {
            ClicksOf::Link(link) => (DAYS_OF_ONE, link.number(), None),
            ClicksOf::Owner(owner) => (DAYS_OF_ONE, -owner.0, None),
            ClicksOf::Group(owner, group) if group.tag.is_some() => {
                (DAYS_OF_TAG, owner.0, Some(group))
            }
            ClicksOf::Group(owner, group) => (DAYS_OF_DOMAIN, owner.0, Some(group)),
        };
        let (first, last) = classes.days();
        let in_part = json!(classes.days_in_part()).to_string();
        let mut reader = self.reader.get_for_search_if(group.is_some()).await?;
        let mut asked = sqlx::query(statement)
            .bind(first)
            .bind(last)
            .bind(id)
            .bind(&in_part);
        if let Some(group) = group {
            asked = asked.bind(group.tag_text()).bind(group.domain_number());
        }
        let found: Vec<(i32, Vec<u8>, Vec<u8>, bool)> =
            asked.fetch_all(&mut *reader).await?.tuples()?;
        for (day, ended, quarters, are_quarters_kept) in found {
            classes.add_day(1, day, (&ended, &quarters), are_quarters_kept)?;
        }
        let of_owner = [(DAYS_LEFT_OUT, -1), (DAYS_MOVED_IN, 1)];
        let of_owner = (of_owner.into_iter()).filter(|_| matches!(of, ClicksOf::Owner(_)));
        for (statement, sign) in of_owner {
            let found: Vec<(i32, Vec<u8>, Vec<u8>, bool)> = sqlx::query(statement)
                .bind(first)
                .bind(last)
                .bind(id)
                .bind(&in_part)
                .fetch_all(&mut *reader)
                .await?
                .tuples()?;
            for (day, ended, quarters, are_quarters_kept) in found {
                classes.add_day(sign, day, (&ended, &quarters), are_quarters_kept)?;
            }
        }
        Ok(reader)
    }

    /// Clicks of known bots on a link, by interval.
    pub(super) async fn bots_of_link(
        &self,
        link: LinkId,
        range: &Range<Interval>,
    ) -> Result<Vec<(Interval, u64)>, StoreError> {
        let mut bots = BotsIn::new(range);
        let (first, last) = bots.days();
        let found: Vec<(i32, Vec<u8>, bool)> = sqlx::query(BOTS_OF_LINK)
            .bind(first)
            .bind(last)
            .bind(link.number())
            .bind(None::<Vec<u8>>)
            .bind(None::<String>)
            .bind(None::<i64>)
            .fetch_all(&mut *self.reader.get().await?)
            .await?
            .tuples()?;
        for (day, packed, is_deleted) in found {
            bots.add_day(day, &packed, is_deleted)?;
        }
        Ok(bots.sums())
    }
}
