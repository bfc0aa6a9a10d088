//! Limits of clicks in SQLite, which has one writer at a time.

use async_trait::async_trait;
use sqlx::{Sqlite, Transaction};

use super::SqliteStore;
use super::batch::to_json;
use super::counted::{count_clicks, insert_classes};
use crate::domain::LinkId;
use crate::store::rows::Tuples as _;
use crate::store::rows::{self, signed};
use crate::store::{ClickBatch, ClickLimits, Grant, LinkClicks, StoreError};

/// A link, and how many of its clicks are granted and left.
type GrantRow = (i64, i64, Option<i64>);

#[async_trait]
impl ClickLimits for SqliteStore {
    async fn grant(&self, batch: &ClickBatch) -> Result<Vec<(LinkId, Grant)>, StoreError> {
        let mut writer = self.writer.get_with_priority().await?;
        let mut transaction = writer.begin_immediate().await?;
        let newest: Option<(i64, String)> = sqlx::query_as(
            "SELECT number, grants FROM click_grants WHERE recorder = ?1 ORDER BY number DESC LIMIT 1",
        )
        .bind(batch.recorder.cast_signed())
        .fetch_optional(&mut *transaction)
        .await?;
        let number = batch.number.cast_signed();
        let grants: Vec<GrantRow> = match newest {
            Some((newest, _)) if newest > number => return Ok(Vec::new()),
            Some((newest, grants)) if newest == number => from_json(&grants)?,
            _ => {
                let grants = granted(&mut transaction, batch).await?;
                self.note(&mut transaction, batch, &grants).await?;
                transaction.commit().await?;
                self.log.batch_written();
                grants
            }
        };
        grants
            .into_iter()
            .map(|(link, clicks, left)| Ok((rows::link_id(link)?, Grant::of_row(clicks, left))))
            .collect()
    }

    async fn begin_counting(&self, link: LinkId, counting: u64) -> Result<Option<u64>, StoreError> {
        let begun: Vec<i64> = sqlx::query_scalar(
            "INSERT INTO link_limits (link_id, counting)
             SELECT id, ?2 FROM links WHERE id = ?1 AND max_clicks IS NOT NULL
             ON CONFLICT (link_id) DO UPDATE SET counting = coalesce(counting, excluded.counting)
             WHERE clicks_before IS NULL
             RETURNING counting",
        )
        .bind(link.number())
        .bind(counting.cast_signed())
        .fetch_all(&mut *self.writer.get_with_priority().await?)
        .await?;
        Ok(rows::written(begun).map(i64::cast_unsigned))
    }

    async fn set_clicks_before(
        &self,
        link: LinkId,
        counting: u64,
        clicks: u64,
    ) -> Result<bool, StoreError> {
        let counted = sqlx::query(
            "UPDATE link_limits SET clicks_before = ?3, counting = NULL WHERE link_id = ?1 AND counting = ?2",
        )
        .bind(link.number())
        .bind(counting.cast_signed())
        .bind(signed(clicks))
        .execute(&mut *self.writer.get_with_priority().await?)
        .await?;
        Ok(counted.rows_affected() == 1)
    }

    async fn admit(&self, link: LinkId) -> Result<bool, StoreError> {
        let mut writer = self.writer.get_with_priority().await?;
        let mut transaction = writer.begin_immediate().await?;
        let known: Option<Option<i64>> = sqlx::query_scalar(
            "SELECT clicks_before + granted FROM link_limits WHERE link_id = ?1",
        )
        .bind(link.number())
        .fetch_optional(&mut *transaction)
        .await?;
        let admitting = match known {
            // No counting was begun that could miss it.
            None => return Ok(true),
            Some(None) => "UPDATE link_limits SET counting = NULL WHERE link_id = ?1",
            Some(Some(_)) => {
                "UPDATE link_limits SET granted = granted + 1 WHERE link_id = ?1
                 AND clicks_before + granted < (SELECT max_clicks FROM links WHERE id = ?1)"
            }
        };
        let admitted = sqlx::query(admitting)
            .bind(link.number())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(admitted.rows_affected() == 1)
    }
}

/// How many of the clicks of a batch are granted and left.
async fn granted(
    transaction: &mut Transaction<'_, Sqlite>,
    batch: &ClickBatch,
) -> Result<Vec<GrantRow>, StoreError> {
    // A deleted link has none left, one without a limit the largest number. `max` of NULL is NULL.
    let asked: Vec<GrantRow> = sqlx::query(
        "SELECT CAST(asked.key AS INTEGER), asked.value, CASE
             WHEN links.id IS NULL THEN 0
             WHEN max_clicks IS NULL THEN 9223372036854775807
             ELSE max_clicks - max(clicks_before + granted, clicks)
         END
         FROM json_each(?1) AS asked LEFT JOIN links ON links.id = CAST(asked.key AS INTEGER)
         LEFT JOIN link_limits ON link_id = links.id",
    )
    .bind(to_json(batch.clicks.iter().map(LinkClicks::of_link)))
    .fetch_all(&mut **transaction)
    .await?
    .tuples()?;
    let granted = |(link, asked, left): GrantRow| match left {
        Some(left) if left < i64::MAX => {
            let clicks = asked.min(left).max(0);
            (link, clicks, Some(left - clicks))
        }
        none => (link, 0, none),
    };
    Ok(asked.into_iter().map(granted).collect())
}

impl SqliteStore {
    /// Counts what is granted, and notes it for a repetition.
    async fn note(
        &self,
        transaction: &mut Transaction<'_, Sqlite>,
        batch: &ClickBatch,
        grants: &[GrantRow],
    ) -> Result<(), StoreError> {
        let json = serde_json::json!(grants).to_string();
        sqlx::query(
            "UPDATE link_limits SET granted = granted + (pair.value ->> 1) FROM json_each(?1) AS pair
             WHERE link_id = pair.value ->> 0 AND pair.value ->> 1 > 0",
        )
        .bind(&json)
        .execute(&mut **transaction)
        .await?;
        let counted: Vec<_> = grants
            .iter()
            .filter(|(_, clicks, _)| *clicks > 0)
            .map(|(link, clicks, _)| Ok((rows::link_id(*link)?, clicks.unsigned_abs())))
            .collect::<Result<_, StoreError>>()?;
        count_clicks(transaction, &counted, batch.interval).await?;
        insert_classes(transaction, &batch.details, &counted, batch.interval).await?;
        sqlx::query(
            "INSERT INTO click_grants (recorder, number, grants, granted_at) VALUES (?1, ?2, ?3, ?4)",
        )
        .bind(batch.recorder.cast_signed())
        .bind(batch.number.cast_signed())
        .bind(&json)
        .bind(self.clock.now().micros())
        .execute(&mut **transaction)
        .await?;
        Ok(())
    }
}

fn from_json(grants: &str) -> Result<Vec<GrantRow>, StoreError> {
    serde_json::from_str(grants).map_err(|error| StoreError::Unexpected(error.to_string()))
}
