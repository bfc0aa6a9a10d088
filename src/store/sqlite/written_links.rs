//! New and edited links in SQLite.

use super::SqliteStore;
use super::clicks::written_clicks;
use crate::domain::{Interval, Link, Principal, ShortCode, Timestamp};
use crate::store::connection::row_of_sqlite;
use crate::store::finding::{link_of_owner, link_to_count};
use crate::store::links::quota;
use crate::store::rows::{self, signed, tags_as_json};
use crate::store::{
    Change, CreateLinkError, CreatedLink, EditLink, Edited, EditedLink, NewLink, StoreError,
    ToCount,
};

/// The newest change of a code. There is one writer at a time, so it is that of the transaction under way.
const NEWEST_CHANGE: &str = "SELECT max(number) FROM link_changes WHERE short_code = ?1";

/// How many links an account has; no row where the account is gone.
pub(super) const TOTAL: &str =
    "SELECT coalesce(links, 0) FROM account_keys LEFT JOIN link_totals ON owner_id = user_id
     WHERE user_id = ?1 AND key = ?2";

impl SqliteStore {
    pub(super) async fn insert_link(
        &self,
        link: &NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        let (quota, properties) = (quota(max_links), link.properties);
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        // There is one writer at a time, and a trigger adds the link to the owner's total.
        let created: Vec<i64> = sqlx::query_scalar(
            "INSERT INTO links (short_code, target_url, owner_id, created_at,
                 is_active, title, tags, expires_at, max_clicks, forward_query, clicks, interval, in_interval)
             SELECT ?1, ?2, user_id, ?4, ?7, ?8, ?9, ?10, ?11, ?12, ?14, ?15, ?14
             FROM account_keys WHERE user_id = ?3 AND key = ?5
             AND NOT EXISTS (
                 SELECT 1 FROM retired_codes WHERE short_code = ?1 AND NOT (?13 AND owner_id IS ?3))
             AND coalesce((SELECT links FROM link_totals WHERE owner_id = ?3), 0) < ?6
             ON CONFLICT (short_code) DO NOTHING RETURNING id",
        )
        .bind(link.code.as_str())
        .bind(properties.target.as_str())
        .bind(link.owner.user.0)
        .bind(link.created_at.micros())
        .bind(link.owner.key.as_bytes())
        .bind(quota)
        .bind(properties.is_active)
        .bind(rows::stored_title(properties))
        .bind(tags_as_json(&properties.tags))
        .bind(properties.expires_at.map(Timestamp::micros))
        .bind(rows::stored_max(properties))
        .bind(properties.forward_query)
        .bind(link.is_chosen)
        .bind(signed(link.clicks))
        .bind(Interval::of(link.created_at).number())
        .fetch_all(&mut *transaction)
        .await
        .map_err(StoreError::from)?;
        let Some(id) = rows::written(created) else {
            let total: Option<i64> = sqlx::query_scalar(TOTAL)
                .bind(link.owner.user.0)
                .bind(link.owner.key.as_bytes())
                .fetch_optional(&mut *transaction)
                .await
                .map_err(StoreError::from)?;
            return Err(match total {
                None => CreateLinkError::OwnerGone,
                Some(total) if total >= quota => CreateLinkError::QuotaReached,
                Some(_) => CreateLinkError::CodeTaken,
            });
        };
        if let Some(request) = link.request {
            let noted = sqlx::query(
                "INSERT INTO idempotency_keys (owner_id, key, fingerprint, link_id, short_code, used_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            )
            .bind(link.owner.user.0)
            .bind(request.key)
            .bind(request.fingerprint)
            .bind(id)
            .bind(link.code.as_str())
            .bind(link.created_at.micros())
            .execute(&mut *transaction)
            .await
            .map_err(StoreError::from)?;
            if noted.rows_affected() == 0 {
                return Err(CreateLinkError::KeyUsed);
            }
        }
        if let Some(address) = link.address {
            sqlx::query(
                "INSERT INTO link_addresses (link_id, address, noted_at) VALUES (?1, ?2, ?3)",
            )
            .bind(id)
            .bind(address)
            .bind(link.created_at.micros())
            .execute(&mut *transaction)
            .await
            .map_err(StoreError::from)?;
        }
        let mut change = None;
        if link.is_chosen {
            let number: Vec<i64> = sqlx::query_scalar(
                "INSERT INTO link_changes (short_code) VALUES (?1) RETURNING number",
            )
            .bind(link.code.as_str())
            .fetch_all(&mut *transaction)
            .await
            .map_err(StoreError::from)?;
            change = rows::written(number);
        }
        transaction.commit().await.map_err(StoreError::from)?;
        Ok(link.created(rows::link_id(id)?, change))
    }

    pub(super) async fn edit_in_transaction(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        now: Timestamp,
    ) -> Result<Edited, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let found = row_of_sqlite(&mut transaction, link_of_owner(&owner, code)).await?;
        let Some(found) = found else {
            return Ok(Edited::NotFound);
        };
        let ToCount {
            value: link,
            has_parked,
        } = link_to_count(owner.user, &found)?;
        let Some(properties) = edit(&link) else {
            return Ok(Edited::Refused);
        };
        let clicks = written_clicks(&mut transaction, link.id, self.clock.now()).await?;
        let done = |link, change| {
            let link = ToCount {
                value: link,
                has_parked,
            };
            let edited = EditedLink {
                link,
                clicks,
                change,
            };
            Ok(Edited::Done(Box::new(edited)))
        };
        if properties == link.properties {
            return done(link, None);
        }
        // A trigger notes the change.
        sqlx::query(
            "UPDATE links SET target_url = ?2, is_active = ?3, title = ?4, tags = ?5, expires_at = ?6, max_clicks = ?7,
                 forward_query = ?8, updated_at = ?9
             WHERE id = ?1",
        )
        .bind(link.id.number())
        .bind(properties.target.as_str())
        .bind(properties.is_active)
        .bind(rows::stored_title(&properties))
        .bind(tags_as_json(&properties.tags))
        .bind(properties.expires_at.map(Timestamp::micros))
        .bind(rows::stored_max(&properties))
        .bind(properties.forward_query)
        .bind(now.micros())
        .execute(&mut *transaction)
        .await?;
        let number = sqlx::query_scalar(NEWEST_CHANGE)
            .bind(code.as_str())
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let change = Change {
            number,
            code: Some(code.clone()),
        };
        let link = Link {
            properties,
            updated_at: now,
            ..link
        };
        done(link, Some(change))
    }
}
