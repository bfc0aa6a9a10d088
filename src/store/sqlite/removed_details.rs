//! Removal of classes that are not kept any more, and of the classes of deleted links and accounts, in SQLite, in steps: what is written is
//! read first, between two steps that sum classes.

use std::time::Instant;

use serde_json::json;
use sqlx::SqliteConnection;

use super::class_days::{DayRows, bytes, days, in_one_text, parsed_rows};
use super::class_rows::{Reader, Remembered};
use super::class_sums::ClassSums;
use super::one_row::{in_one_row, read};
use crate::store::StoreError;
use crate::store::class_day::ClassDay;
use crate::store::class_merge::{ClassReader, make_up, read_days, subtract};
use crate::store::summing::{DayOf, Days, Owners};

/// `?1` is a position in JSON, `?2` the day before which quarters are summed, `?3` how many rows are read.
const TO_PRUNE: &str = in_one_text!(
    "(SELECT * FROM class_days WHERE (day, whose) > (?1 ->> 0, ?1 ->> 1) AND day < ?2 ORDER BY day, whose LIMIT ?3) AS class_days"
);

const DAYS_OF: &str = concat!(
    days!(),
    in_one_text!(
        "(SELECT class_days.* FROM days CROSS JOIN class_days USING (day) WHERE whose = ?3 LIMIT ?4) AS class_days"
    )
);

const QUARTERS_OF: &str = in_one_row!(
    "day, whose, hex(quarters)",
    "SELECT class_quarters.day AS day, whose, quarters FROM json_each(?1) AS asked
     CROSS JOIN class_quarters ON class_quarters.day = asked.value ->> 0 AND whose = asked.value ->> 1"
);

/// The oldest link that is deleted, with its owner, and whether the owner is not. Not before the account's own row is gone if that is
/// deleted, too: then nothing of its links is subtracted.
const DELETED: &str = "
    SELECT link_id, owner_id, EXISTS (SELECT 1 FROM users WHERE id = owner_id) FROM deleted_details
    WHERE owner_id NOT IN (SELECT user_id FROM deleted_users) ORDER BY link_id LIMIT 1";

/// Values are bound one after the other, through all of the statements.
const REMOVE: &str = "
    DELETE FROM class_days WHERE (day, whose) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?));
    DELETE FROM class_quarters WHERE (day, whose) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))";

const PRUNE: &str = "
    DELETE FROM class_quarters WHERE (day, whose) > (SELECT day, whose FROM class_days_pruned) AND (day, whose) <= (?, ?);
    UPDATE class_days_pruned SET day = ?, whose = ?";

impl ClassSums {
    /// Sums the quarters of up to `limit` days before this one. Returns how many days these were.
    pub(super) async fn prune(&self, before: i32, limit: u32) -> Result<u64, StoreError> {
        let mut under_way = self.between_steps().await;
        let steps = &mut under_way.steps;
        let limit = u32::try_from(steps.days.rows()).map_or(limit, |rows| rows.min(limit));
        let found = {
            let reader = &mut *self.log.background().await?;
            let pruned: (i32, i64) = sqlx::query_as("SELECT day, whose FROM class_days_pruned")
                .fetch_one(&mut *reader)
                .await?;
            let found = sqlx::query_scalar(TO_PRUNE)
                .bind(json!(pruned).to_string())
                .bind(before)
                .bind(limit);
            parsed_rows(found.fetch_one(reader).await?)?
        };
        let Some(((last_day, last), _)) = found.last().cloned() else {
            return Ok(0);
        };
        let count = found.len();
        let changed = found.into_iter().filter_map(|(key, mut day)| {
            let before = day.clone();
            day.end_all();
            (day != before).then_some((key, day))
        });
        let rows = DayRows::of(changed.collect(), Vec::new());
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        sqlx::query(PRUNE)
            .bind(last_day)
            .bind(last)
            .bind(last_day)
            .bind(last)
            .execute(&mut *transaction)
            .await?;
        rows.write(&mut transaction).await?;
        transaction.commit().await?;
        steps.days.took(count, started.elapsed());
        steps.remembered.forget_days();
        Ok(count as u64)
    }

    /// Removes up to `limit` days of a deleted link, also from the days of its owner, or of a deleted account. Returns whether more may be
    /// left.
    pub(super) async fn remove_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        let mut under_way = self.between_steps().await;
        let steps = &mut under_way.steps;
        let limit = u32::try_from(steps.days.rows()).map_or(limit, |rows| rows.min(limit));
        let (link, gone, of_owner) = {
            let reader = &mut *self.log.background().await?;
            let deleted: Option<(i64, i64, bool)> =
                sqlx::query_as(DELETED).fetch_optional(&mut *reader).await?;
            let Some((link, owner, is_owned)) = deleted else {
                return Ok(false);
            };
            let found = sqlx::query_scalar(DAYS_OF)
                .bind(i32::MIN)
                .bind(i32::MAX)
                .bind(link)
                .bind(limit);
            let gone = parsed_rows(found.fetch_one(&mut *reader).await?)?;
            let of_owner = if is_owned {
                without(reader, &mut steps.remembered, &gone, owner).await?
            } else {
                Vec::new()
            };
            (link, gone, of_owner)
        };
        let count = gone.len();
        let keys: Vec<_> = gone.into_iter().map(|(key, _)| key).collect();
        let rows = DayRows::of(of_owner, Vec::new());
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        if keys.is_empty() {
            sqlx::query("DELETE FROM deleted_details WHERE link_id = ?1")
                .bind(link)
                .execute(&mut *transaction)
                .await?;
        } else {
            let keys = json!(keys).to_string();
            sqlx::query(REMOVE)
                .bind(&keys)
                .bind(&keys)
                .execute(&mut *transaction)
                .await?;
        }
        rows.write(&mut transaction).await?;
        transaction.commit().await?;
        steps.days.took(count, started.elapsed());
        steps.remembered.forget_days();
        Ok(true)
    }
}

/// The days of an owner without the clicks of a link.
async fn without(
    reader: &mut SqliteConnection,
    remembered: &mut Remembered,
    gone: &[(DayOf, ClassDay)],
    owner: i64,
) -> Result<Vec<(DayOf, ClassDay)>, sqlx::Error> {
    let keys: Vec<_> = gone.iter().map(|(key, _)| key).collect();
    let found: Vec<(i32, i64, String)> =
        read(reader, QUARTERS_OF, &json!(keys).to_string()).await?;
    let left = found
        .iter()
        .map(|(day, whose, digits)| Some(((*day, *whose), bytes(digits)?)));
    let left: Option<Vec<_>> = left.collect();
    let left = left.ok_or_else(|| sqlx::Error::Decode("quarters of a day are invalid".into()))?;
    let is_all_added =
        sqlx::query_scalar("SELECT NOT EXISTS (SELECT 1 FROM click_details_of_owners)")
            .fetch_one(&mut *reader)
            .await?;
    let mut days = Days::new(gone.iter().map(|((day, _), _)| (*day, -owner)).collect());
    let mut reader = Reader::new(reader, remembered);
    read_days(&mut reader, &mut days).await?;
    let owners = Owners::new(gone.iter().map(|((_, link), _)| (*link, owner)).collect());
    subtract(&mut days, &owners, gone, &left)?;
    if is_all_added {
        make_up(&mut reader, &mut days).await?;
    }
    let pruned = reader.pruned().await?;
    for (_, day) in days.all_mut().iter_mut().filter(|(key, _)| *key <= pruned) {
        day.end_all();
    }
    Ok(days.into_all())
}
