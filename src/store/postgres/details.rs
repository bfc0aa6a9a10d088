//! Clicks by visitor class in Postgres.

use async_trait::async_trait;
use futures_util::TryStreamExt;

use super::PostgresStore;
use super::merged_classes::merge_classes;
use super::owner_series;
use super::removed_details::{prune, remove_of_deleted};
use super::session::Session;
use crate::domain::{Interval, LinkGroup, LinkId};
use crate::store::class_reading::{BotsIn, ClassesIn};
use crate::store::details::{self, BreakdownRow};
use crate::store::rows::Tuples as _;
use crate::store::summing::filters;
use crate::store::{
    Breakdown, BreakdownQuery, ClassSeries, ClickSum, ClicksOf, Details, OwnerSeries, StoreError,
};

/// Days of deleted links that are removed in one transaction: each may have many quarters.
const DAYS_PER_STEP: u32 = 100;

/// Clicks by the values of one dimension, of the sums by class that were read. Classes are looked up one by one: the planner, which
/// expects a few sums, would compare each of thousands with each class. Bound are: classes and their clicks, the dimension, the
/// filters, and how many rows.
const OF_VALUES: &str = "WITH of_values AS (
        SELECT CASE $3 WHEN 0 THEN referrer WHEN 1 THEN country WHEN 2 THEN browser WHEN 3 THEN os WHEN 4 THEN device
            WHEN 5 THEN rule WHEN 6 THEN code ELSE bot END AS value,
            sum(n)::bigint AS clicks, coalesce(sum(n) FILTER (WHERE bot = 'true'), 0)::bigint AS bots
        FROM unnest($1::integer[], $2::bigint[]) AS sums (class_id, n)
        CROSS JOIN LATERAL (SELECT * FROM click_classes WHERE id = sums.class_id LIMIT 1) AS class
        WHERE ($4::text IS NULL OR referrer = $4) AND ($5::text IS NULL OR country = $5)
          AND ($6::text IS NULL OR browser = $6) AND ($7::text IS NULL OR os = $7)
          AND ($8::text IS NULL OR device = $8) AND ($9::text IS NULL OR rule = $9)
          AND ($10::text IS NULL OR code = $10) AND ($11::text IS NULL OR bot = $11)
        GROUP BY 1 HAVING sum(n) > 0
    )
    SELECT value, clicks, bots, sum(clicks) OVER ()::bigint, sum(bots) OVER ()::bigint FROM of_values
    ORDER BY value IN ('', 'other', 'imported') DESC, clicks DESC, value COLLATE \"C\" LIMIT $12";

/// Which of these classes pass the filters, and whether each is that of a known bot.
const PASSING: &str = "SELECT class.id, bot = 'true'
     FROM unnest($1::integer[]) AS asked (class_id)
     CROSS JOIN LATERAL (SELECT * FROM click_classes WHERE id = asked.class_id LIMIT 1) AS class
     WHERE ($2::text IS NULL OR referrer = $2) AND ($3::text IS NULL OR country = $3)
       AND ($4::text IS NULL OR browser = $4) AND ($5::text IS NULL OR os = $5)
       AND ($6::text IS NULL OR device = $6) AND ($7::text IS NULL OR rule = $7)
       AND ($8::text IS NULL OR code = $8) AND ($9::text IS NULL OR bot = $9)";

/// Rows of days of these links or this account, looked up one by one: the planner does not know how few days there are: with the sums of quarters that have left them, and whether these are kept, or, without
/// the sums, such quarters. Bound are: the first and the last day, and the days of which only a part is asked for.
macro_rules! days_of {
    ($whose:literal) => {
        concat!(
            "SELECT day, ended, quarters, (day, whose) > (SELECT day, whose FROM class_days_pruned)
             FROM (",
            $whose,
            ") AS asked (of_whose) CROSS JOIN class_days_between($2, $3) AS between (at)
             JOIN class_days ON day = at AND whose = of_whose
             UNION ALL
             SELECT day, ''::bytea, quarters, true
             FROM (",
            $whose,
            ") AS asked (of_whose) CROSS JOIN unnest($4::integer[]) AS in_part (at)
             CROSS JOIN LATERAL (SELECT * FROM class_quarters WHERE day = at AND whose = of_whose OFFSET 0) AS of_day"
        )
    };
}

const DAYS_OF_ONE: &str = days_of!("SELECT $1::bigint");
const DAYS_OF_TAG: &str = days_of!(
    "SELECT link_id FROM link_tags WHERE owner_id = $1 AND tag = $5
     AND ($6::bigint IS NULL OR (SELECT domain FROM links WHERE links.id = link_id) = $6)"
);
const DAYS_OF_DOMAIN: &str = days_of!(
    "SELECT id FROM links WHERE owner_id = $1 AND trashed_at = 0 AND $5::text IS NULL AND domain = $6"
);
/// What is in the bin of an owner is in the days of the owner, too, and what was moved to another account.
const DAYS_LEFT_OUT: &str = days_of!(
    "SELECT id FROM links WHERE owner_id = -($1::bigint) AND trashed_at > 0 AND made_by IS NULL
     UNION ALL SELECT id FROM links WHERE made_by = -($1::bigint)"
);
/// What was moved to an account is not in its days.
const DAYS_MOVED_IN: &str = days_of!(
    "SELECT id FROM links WHERE owner_id = -($1::bigint) AND trashed_at = 0 AND made_by IS NOT NULL"
);

const BOTS_OF_LINK: &str = "SELECT day, bots, false FROM class_days_between($2, $3) AS between (at)
     CROSS JOIN LATERAL (SELECT * FROM class_days WHERE day = at AND whose = $1 LIMIT 1) AS of_day";

/// Bots of links in the bin, and of links that were moved to another account, are in the days of their owner, too, and bots of deleted links
/// until the days of these are removed. Bots of links that were moved to this account are not.
const BOTS_OF_OWNER: &str = "SELECT day, bots, is_less FROM (
         SELECT -user_id AS id, false AS is_less FROM account_keys WHERE user_id = $1 AND key = $4
         UNION ALL
         SELECT link_id, true FROM deleted_details WHERE owner_id = $1 AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $4)
         UNION ALL
         SELECT id, true FROM links WHERE owner_id = $1 AND trashed_at > 0 AND made_by IS NULL
             AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $4)
         UNION ALL
         SELECT id, false FROM links WHERE owner_id = $1 AND trashed_at = 0 AND made_by IS NOT NULL
             AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $4)
         UNION ALL
         SELECT id, true FROM links WHERE made_by = $1 AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $4)
     ) AS asked CROSS JOIN class_days_between($2, $3) AS between (at)
     CROSS JOIN LATERAL (SELECT * FROM class_days WHERE day = at AND whose = asked.id LIMIT 1) AS of_day";

/// Bots of some links, which are not deleted.
macro_rules! bots_of {
    ($whose:literal) => {
        concat!(
            "SELECT day, bots, false FROM (",
            $whose,
            ") AS asked CROSS JOIN class_days_between($2, $3) AS between (at)
             CROSS JOIN LATERAL (SELECT * FROM class_days WHERE day = at AND whose = asked.id LIMIT 1) AS of_day"
        )
    };
}

const BOTS_OF_TAG: &str = bots_of!(
    "SELECT link_id AS id FROM link_tags JOIN links ON links.id = link_id
     WHERE link_tags.owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $4) AND tag = $5
     AND ($6::bigint IS NULL OR domain = $6)"
);
const BOTS_OF_DOMAIN: &str = bots_of!(
    "SELECT id FROM links WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $4)
     AND trashed_at = 0 AND $5::text IS NULL AND domain = $6"
);

#[async_trait]
impl Details for PostgresStore {
    async fn sum_details(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        // Classes are summed once their clicks have places in the feeds of events.
        self.tell_some().await;
        let parts = self.class_parts_per_step.get();
        let merging = async |session: &mut Session| {
            merge_classes(session, &self.classes, rows_per_day, parts).await
        };
        let merged = self.pool.transaction(merging).await;
        self.class_parts_per_step.note(parts, merged.is_ok());
        let (are_more, unclassified) = merged?;
        details::note_unclassified(unclassified);
        let summing =
            async |session: &mut Session| owner_series::sum_log(session, &self.classes).await;
        Ok(are_more | self.pool.transaction(summing).await?)
    }

    async fn prune_details(&self, before: Interval, limit: u32) -> Result<u64, StoreError> {
        let before = before.number();
        let limit = i64::from(limit);
        let pruning =
            async |session: &mut Session| prune(session, &self.classes, before, limit).await;
        Ok(self.pool.transaction(pruning).await?)
    }

    async fn remove_details_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        let limit = i64::from(limit.min(DAYS_PER_STEP));
        let removing =
            async |session: &mut Session| remove_of_deleted(session, &self.classes, limit).await;
        Ok(self.pool.transaction(removing).await?)
    }

    async fn bots_of_owner(
        &self,
        wanted: &OwnerSeries<'_>,
    ) -> Result<Vec<(Interval, u64)>, StoreError> {
        let mut bots = BotsIn::new(&wanted.range);
        let (first, last) = bots.days();
        let group = Some(wanted.links).filter(|links| !links.is_all());
        let statement = match wanted.links {
            LinkGroup { tag: Some(_), .. } => BOTS_OF_TAG,
            LinkGroup {
                domain: Some(_), ..
            } => BOTS_OF_DOMAIN,
            _ => BOTS_OF_OWNER,
        };
        let read = self.pool.search_if(group.is_some(), async |session| {
            let mut asked = sqlx::query_as(statement)
                .bind(wanted.owner.user.0)
                .bind(first)
                .bind(last)
                .bind(wanted.owner.key.as_bytes());
            if let Some(group) = group {
                asked = asked.bind(group.tag_text()).bind(group.domain_number());
            }
            let mut days = asked.fetch(session);
            while let Some((day, packed, is_deleted)) = days.try_next().await? {
                let packed: Vec<u8> = packed;
                bots.add_day(day, &packed, is_deleted)?;
            }
            Ok(())
        });
        read.await?;
        Ok(bots.sums())
    }

    async fn breakdown(&self, query: &BreakdownQuery) -> Result<Breakdown, StoreError> {
        let mut classes = ClassesIn::new(&query.range);
        let is_search = matches!(query.of, ClicksOf::Group(..));
        let found = self.pool.search_if(is_search, async |session| {
            read_classes(session, &query.of, &mut classes).await?;
            let (ids, clicks) = classes.sums();
            let mut asked = sqlx::query(OF_VALUES)
                .bind(ids)
                .bind(clicks)
                .bind(query.by as i32);
            for filter in filters(&query.filters) {
                asked = asked.bind(filter);
            }
            // Beside the rows that are wanted, that of values without room.
            asked = asked.bind(i64::from(query.limit) + 2);
            asked.fetch_all(session).await?.tuples()
        });
        let found: Vec<BreakdownRow> = found.await?;
        Ok(details::breakdown(found, query.limit))
    }

    async fn class_series(
        &self,
        query: &ClassSeries,
    ) -> Result<Vec<(Interval, ClickSum)>, StoreError> {
        let mut classes = ClassesIn::by_points(&query.starts, query.end);
        let is_search = matches!(query.of, ClicksOf::Group(..));
        let passing = self.pool.search_if(is_search, async |session| {
            read_classes(session, &query.of, &mut classes).await?;
            let mut asked = sqlx::query(PASSING).bind(classes.classes());
            for filter in filters(&query.filters) {
                asked = asked.bind(filter);
            }
            let passing: Vec<(i32, bool)> = asked.fetch_all(session).await?.tuples()?;
            Ok(classes.series(&passing))
        });
        Ok(passing.await?)
    }
}

/// Adds the days of these clicks.
async fn read_classes(
    session: &mut Session,
    of: &ClicksOf,
    classes: &mut ClassesIn,
) -> Result<(), sqlx::Error> {
    let (statement, id, group) = match of {
        ClicksOf::Link(link) => (DAYS_OF_ONE, link.number(), None),
        ClicksOf::Owner(owner) => (DAYS_OF_ONE, -owner.0, None),
        ClicksOf::Group(owner, group) if group.tag.is_some() => (DAYS_OF_TAG, owner.0, Some(group)),
        ClicksOf::Group(owner, group) => (DAYS_OF_DOMAIN, owner.0, Some(group)),
    };
    let (first, last) = classes.days();
    let mut asked = sqlx::query_as(statement)
        .bind(id)
        .bind(first)
        .bind(last)
        .bind(classes.days_in_part());
    if let Some(group) = group {
        asked = asked.bind(group.tag_text()).bind(group.domain_number());
    }
    {
        let mut days = asked.fetch(&mut *session);
        while let Some((day, ended, quarters, are_kept)) = days.try_next().await? {
            let (ended, quarters): (Vec<u8>, Vec<u8>) = (ended, quarters);
            classes.add_day(1, day, (&ended, &quarters), are_kept)?;
        }
    }
    let of_owner = [(DAYS_LEFT_OUT, -1), (DAYS_MOVED_IN, 1)];
    let of_owner = (of_owner.into_iter()).filter(|_| matches!(of, ClicksOf::Owner(_)));
    for (statement, sign) in of_owner {
        let asked = sqlx::query_as(statement)
            .bind(id)
            .bind(first)
            .bind(last)
            .bind(classes.days_in_part());
        let mut days = asked.fetch(&mut *session);
        while let Some((day, ended, quarters, are_kept)) = days.try_next().await? {
            let (ended, quarters): (Vec<u8>, Vec<u8>) = (ended, quarters);
            classes.add_day(sign, day, (&ended, &quarters), are_kept)?;
        }
    }
    Ok(())
}

impl PostgresStore {
    /// Clicks of known bots on a link, by interval.
    pub(super) async fn bots_of_link(
        &self,
        link: LinkId,
        range: &std::ops::Range<Interval>,
    ) -> Result<Vec<(Interval, u64)>, StoreError> {
        let mut bots = BotsIn::new(range);
        let (first, last) = bots.days();
        let days = self.pool.run(async |session| {
            sqlx::query(BOTS_OF_LINK)
                .bind(link.number())
                .bind(first)
                .bind(last)
                .fetch_all(session)
                .await?
                .tuples()
        });
        let days: Vec<(i32, Vec<u8>, bool)> = days.await?;
        for (day, packed, is_deleted) in days {
            bots.add_day(day, &packed, is_deleted)?;
        }
        Ok(bots.sums())
    }
}
