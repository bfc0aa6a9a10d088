//! Many new links of one owner in SQLite.

use std::collections::HashMap;

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::SqliteStore;
use super::counted::queue_details;
use super::written_links::TOTAL;
use crate::domain::{Interval, LinkId, Timestamp};
use crate::store::bulk::{
    imported_clicks, imported_one_by_one, many_outcomes, one_by_one, or_rest,
};
use crate::store::links::quota;
use crate::store::rows::{self, signed, tags_as_json};
use crate::store::{CreateLinkError, CreatedOfMany, NewLink, StoreError};

/// Links per transaction: a batch of clicks waits for one at most.
const PER_TRANSACTION: usize = 250;

impl SqliteStore {
    pub(super) async fn insert_many(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
        let mut outcomes = Vec::with_capacity(links.len());
        for part in links.chunks(PER_TRANSACTION) {
            let of_part = match self.insert_part(part, max_links).await {
                Ok(Some(of_part)) => Ok(of_part),
                Ok(None) => self.insert_one_by_one(part, max_links).await,
                Err(error) => Err(error),
            };
            match of_part {
                Ok(of_part) => outcomes.extend(of_part),
                Err(error) => return or_rest(outcomes, links.len(), error),
            }
        }
        Ok(outcomes)
    }

    async fn insert_one_by_one(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
        let outcomes = one_by_one(self, links, max_links).await?;
        if let Some((details, interval)) = imported_one_by_one(links, &outcomes) {
            let queued = async {
                let mut writer = self.writer.get().await?;
                Ok::<_, StoreError>(queue_details(&mut writer, &details, interval, None).await?)
            };
            if let Err(error) = queued.await {
                // The links are created: what they started with is of an unknown class.
                tracing::warn!(%error, "the class of imported clicks could not be saved: breakdowns show these clicks as unknown, not as imported");
            }
        }
        Ok(outcomes)
    }

    /// `None` where they are more than the account may have: none is created then.
    async fn insert_part(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Option<Vec<Result<CreatedOfMany, CreateLinkError>>>, CreateLinkError> {
        let Some(first) = links.first() else {
            return Ok(Some(Vec::new()));
        };
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let total: Option<i64> = sqlx::query_scalar(TOTAL)
            .bind(first.owner.user.0)
            .bind(first.owner.key.as_bytes())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(StoreError::from)?;
        let total = total.ok_or(CreateLinkError::OwnerGone)?;
        let count = i64::try_from(links.len()).unwrap_or(i64::MAX);
        if total.saturating_add(count) > quota(max_links) {
            return Ok(None);
        }
        let ids = insert(&mut transaction, links).await?;
        if let Some(address) = first.address {
            let made: serde_json::Value = ids.values().copied().collect();
            sqlx::query("INSERT INTO link_addresses (link_id, address, noted_at) SELECT value, ?2, ?3 FROM json_each(?1)")
                .bind(made.to_string())
                .bind(address)
                .bind(first.created_at.micros())
                .execute(&mut *transaction)
                .await
                .map_err(StoreError::from)?;
        }
        let id_of = |link: &NewLink<'_>| LinkId::parse(*ids.get(link.code.as_str())?);
        if let Some((details, interval)) = imported_clicks(links, id_of) {
            let queued = queue_details(&mut transaction, &details, interval, None).await;
            queued.map_err(StoreError::from)?;
        }
        let mut changes = HashMap::new();
        if first.is_chosen {
            changes = announce(&mut transaction, ids.keys()).await?;
        }
        transaction.commit().await.map_err(StoreError::from)?;
        many_outcomes(links, ids, &changes).map(Some)
    }
}

/// The ids of the links that were created, by code.
async fn insert(
    connection: &mut SqliteConnection,
    links: &[NewLink<'_>],
) -> Result<HashMap<String, i64>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new(
        "INSERT INTO links (short_code, target_url, owner_id, created_at,
             is_active, title, tags, expires_at, max_clicks, forward_query, clicks, in_interval, interval)
         SELECT column1, column2, column3, column4, column5, column6, column7, column8, column9, column10, column11, column11, column12 FROM (",
    );
    query.push_values(links, |mut row, link| {
        let properties = link.properties;
        row.push_bind(link.code.as_str())
            .push_bind(properties.target.as_str())
            .push_bind(link.owner.user.0)
            .push_bind(link.created_at.micros())
            .push_bind(properties.is_active)
            .push_bind(rows::stored_title(properties))
            .push_bind(tags_as_json(&properties.tags))
            .push_bind(properties.expires_at.map(Timestamp::micros))
            .push_bind(rows::stored_max(properties))
            .push_bind(properties.forward_query)
            .push_bind(signed(link.clicks))
            .push_bind(Interval::of(link.created_at).number());
    });
    let is_chosen = links.first().is_some_and(|link| link.is_chosen);
    query.push(
        ") WHERE NOT EXISTS (SELECT 1 FROM retired_codes WHERE short_code = column1 AND NOT (",
    );
    query.push_bind(is_chosen);
    query.push(
        " AND owner_id IS column3)) ON CONFLICT (short_code) DO NOTHING RETURNING short_code, id",
    );
    let created: Vec<(String, i64)> = query.build_query_as().fetch_all(connection).await?;
    Ok(created.into_iter().collect())
}

/// The numbers of the changes that announce these codes.
async fn announce(
    connection: &mut SqliteConnection,
    codes: impl Iterator<Item = &String>,
) -> Result<HashMap<String, i64>, StoreError> {
    let codes: serde_json::Value = codes.map(String::as_str).collect();
    let changes: Vec<(String, i64)> = sqlx::query_as(
        "INSERT INTO link_changes (short_code) SELECT value FROM json_each(?1) RETURNING short_code, number",
    )
    .bind(codes.to_string())
    .fetch_all(connection)
    .await?;
    Ok(changes.into_iter().collect())
}
