//! Limits of clicks in Postgres. The function `grant_clicks` of the schema does what has to be one transaction.

use async_trait::async_trait;

use super::PostgresStore;
use super::clicks::{columns, insert_counted};
use super::session::Session;
use crate::domain::LinkId;
use crate::store::rows::Tuples as _;
use crate::store::rows::{self, signed};
use crate::store::{ClickBatch, ClickLimits, Grant, LinkClicks, StoreError};

/// Links, of each how many clicks are granted and left, and whether they were granted now.
type GrantsRow = (Vec<i64>, Vec<i64>, Vec<Option<i64>>, bool);

#[async_trait]
impl ClickLimits for PostgresStore {
    async fn grant(&self, batch: &ClickBatch) -> Result<Vec<(LinkId, Grant)>, StoreError> {
        let (links, clicks) = columns(batch.clicks.iter().map(LinkClicks::of_link));
        let grant = async |session: &mut Session| {
            let granted: Vec<GrantsRow> = sqlx::query(
                "SELECT link_ids, clicks, clicks_left, is_new FROM grant_clicks($1, $2, $3, $4, $5)",
            )
            .bind(batch.recorder.cast_signed())
            .bind(batch.number.cast_signed())
            .bind(&links)
            .bind(&clicks)
            .bind(batch.interval.number())
            .fetch_all(&mut *session)
            .await?
            .tuples()?;
            let (links, clicks, left, is_new) = rows::written(granted).unwrap_or_default();
            let granted: Vec<_> = links
                .into_iter()
                .zip(clicks.into_iter().zip(left))
                .collect();
            if is_new {
                let granted = granted_of(batch, &granted);
                insert_counted(session, &batch.details, &granted, batch.interval).await?;
            }
            Ok(granted)
        };
        let granted = self.pool.transaction(grant).await?;
        granted
            .into_iter()
            .map(|(link, (clicks, left))| Ok((rows::link_id(link)?, Grant::of_row(clicks, left))))
            .collect()
    }

    async fn begin_counting(&self, link: LinkId, counting: u64) -> Result<Option<u64>, StoreError> {
        let begun: Vec<i64> = self.pool.run_with_priority(async |session| {
            sqlx::query_scalar(
                "INSERT INTO link_limits (link_id, counting)
                 SELECT id, $2 FROM links WHERE id = $1 AND max_clicks IS NOT NULL
                 ON CONFLICT (link_id) DO UPDATE SET counting = coalesce(link_limits.counting, excluded.counting)
                 WHERE link_limits.clicks_before IS NULL
                 RETURNING counting",
            )
            .bind(link.number())
            .bind(counting.cast_signed())
            .fetch_all(session)
            .await
        }).await?;
        Ok(rows::written(begun).map(i64::cast_unsigned))
    }

    async fn set_clicks_before(
        &self,
        link: LinkId,
        counting: u64,
        clicks: u64,
    ) -> Result<bool, StoreError> {
        let counted = self.pool.run_with_priority(async |session| {
            sqlx::query(
                "UPDATE link_limits SET clicks_before = $3, counting = NULL WHERE link_id = $1 AND counting = $2",
            )
            .bind(link.number())
            .bind(counting.cast_signed())
            .bind(signed(clicks))
            .execute(session)
            .await
        });
        Ok(counted.await?.rows_affected() == 1)
    }

    async fn admit(&self, link: LinkId) -> Result<bool, StoreError> {
        let admitted = self.pool.transaction(async |session| {
            // The lock puts it in order with grants and with a counting that ends.
            let known: Option<Option<i64>> = sqlx::query_scalar(
                "SELECT clicks_before + granted FROM link_limits WHERE link_id = $1 FOR UPDATE",
            )
            .bind(link.number())
            .fetch_optional(&mut *session)
            .await?;
            let admitting = match known {
                // No counting was begun that could miss it.
                None => return Ok(true),
                Some(None) => "UPDATE link_limits SET counting = NULL WHERE link_id = $1",
                Some(Some(_)) => {
                    "UPDATE link_limits SET granted = granted + 1 WHERE link_id = $1
                     AND clicks_before + granted < (SELECT max_clicks FROM links WHERE id = $1)"
                }
            };
            let admitted = sqlx::query(admitting)
                .bind(link.number())
                .execute(session)
                .await?;
            Ok(admitted.rows_affected() == 1)
        });
        Ok(admitted.await?)
    }
}

/// The clicks of a batch that were granted.
fn granted_of(batch: &ClickBatch, granted: &[(i64, (i64, Option<i64>))]) -> Vec<LinkClicks> {
    let mut of_links = Vec::new();
    for (link, (clicks, _)) in granted.iter().filter(|(_, (clicks, _))| *clicks > 0) {
        let asked = batch.clicks.iter();
        of_links.extend(
            asked
                .filter(|asked| asked.link.number() == *link)
                .map(|asked| LinkClicks {
                    clicks: clicks.unsigned_abs(),
                    ..*asked
                }),
        );
    }
    of_links
}
