//! New links in Postgres, and the requests that made them.

use super::PostgresStore;
use super::history::{CHECKS, unchecked};
use crate::domain::{Interval, Principal, Timestamp};
use crate::store::links::quota;
use crate::store::rows::{self, UsedKeyRow, signed};
use crate::store::{CreateLinkError, CreatedLink, NewLink, StoreError, UsedKey};

/// The new link and its change, and whether the owner is there, the server was checked, and the quota is reached.
type CreatedRow = (Option<i64>, Option<i64>, bool, bool, bool);

impl PostgresStore {
    pub(super) async fn insert_checked(
        &self,
        link: &NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        for _ in 0..CHECKS {
            if let Some(created) = self.insert_link(link, max_links).await? {
                self.seen.created(created.link.id, &created.link.code);
                return Ok(created);
            }
            self.check_server().await?;
        }
        Err(unchecked().into())
    }

    /// `None` on a server that has to be checked before it gives ids out.
    async fn insert_link(
        &self,
        link: &NewLink<'_>,
        max_links: u64,
    ) -> Result<Option<CreatedLink>, CreateLinkError> {
        let properties = link.properties;
        // The owner's total is locked before it is compared: of links that are made at once, each is compared with a total
        // that has the ones before. A trigger then adds this one.
        let created: Result<Vec<CreatedRow>, _> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "WITH owner AS (SELECT user_id AS id FROM account_keys WHERE user_id = $3 AND key = $5),
                     total AS (SELECT links FROM link_totals WHERE owner_id = (SELECT id FROM owner) FOR UPDATE),
                     server AS (SELECT checked_on = pg_postmaster_start_time() AS is_checked FROM database_history),
                     created AS (
                         INSERT INTO links (short_code, target_url, owner_id, created_at,
                             is_active, title, tags, expires_at, max_clicks, forward_query)
                         SELECT $1, $2, owner.id, $4, $7, $8, $9, $10, $11, $12
                         FROM owner, server WHERE is_checked
                         AND NOT EXISTS (
                             SELECT FROM retired_codes
                             WHERE short_code = $1 AND NOT ($13 AND owner_id IS NOT DISTINCT FROM $3))
                         AND coalesce((SELECT links FROM total), 0) < $6
                         RETURNING id
                     ),
                     clicked AS (
                         INSERT INTO link_clicks (link_id, clicks, interval, in_interval)
                         SELECT id, $14::bigint, $18, $14::bigint FROM created WHERE $14::bigint > 0
                     ),
                     summed AS (
                         INSERT INTO owner_series_log (owner_id, interval, clicks)
                         SELECT $3, $18, $14::bigint FROM created WHERE $14::bigint > 0
                     ),
                     announced AS (
                         INSERT INTO link_changes (short_code) SELECT $1 FROM created WHERE $13 RETURNING number
                     ),
                     requested AS (
                         INSERT INTO idempotency_keys (owner_id, key, fingerprint, link_id, short_code, used_at)
                         SELECT $3, $15::text, $16::bytea, id, $1, $4 FROM created WHERE $15::text IS NOT NULL
                     ),
                     addressed AS (
                         INSERT INTO link_addresses (link_id, address, noted_at)
                         SELECT id, $17::text, $4 FROM created WHERE $17::text IS NOT NULL
                     )
                     SELECT (SELECT id FROM created), (SELECT number FROM announced), EXISTS (SELECT FROM owner),
                         (SELECT is_checked FROM server), coalesce((SELECT links FROM total), 0) >= $6",
                )
                .bind(link.code.as_str())
                .bind(properties.target.as_str())
                .bind(link.owner.user.0)
                .bind(link.created_at.micros())
                .bind(link.owner.key.as_bytes())
                .bind(quota(max_links))
                .bind(properties.is_active)
                .bind(rows::stored_title(properties))
                .bind(rows::tags_as_json(&properties.tags))
                .bind(properties.expires_at.map(Timestamp::micros))
                .bind(rows::stored_max(properties))
                .bind(properties.forward_query)
                .bind(link.is_chosen)
                .bind(signed(link.clicks))
                .bind(link.request.map(|request| request.key))
                .bind(link.request.map(|request| request.fingerprint))
                .bind(link.address)
                .bind(Interval::of(link.created_at).number())
                .fetch_all(session)
                .await
            })
            .await;
        match created.map(rows::written) {
            Ok(Some((Some(id), change, ..))) => Ok(Some(link.created(rows::link_id(id)?, change))),
            Ok(Some((None, _, _, false, _)) | None) => Ok(None),
            Ok(Some((None, _, false, true, _))) => Err(CreateLinkError::OwnerGone),
            Ok(Some((None, _, true, true, true))) => Err(CreateLinkError::QuotaReached),
            Ok(Some((None, _, true, true, false))) => Err(CreateLinkError::CodeTaken),
            Err(sqlx::Error::Database(error)) => match error.constraint() {
                Some("links_short_code_unique") => Err(CreateLinkError::CodeTaken),
                Some("idempotency_keys_pkey") => Err(CreateLinkError::KeyUsed),
                Some("links_owner_exists" | "idempotency_keys_owner_id_fkey") => {
                    Err(CreateLinkError::OwnerGone)
                }
                _ => Err(StoreError::from(sqlx::Error::Database(error)).into()),
            },
            Err(error) => Err(StoreError::from(error).into()),
        }
    }

    pub(super) async fn find_used_key(
        &self,
        owner: Principal,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_as(
                "WITH outdated AS (
                     DELETE FROM idempotency_keys WHERE owner_id = $1 AND key = $2 AND used_at < $3)
                 SELECT fingerprint, link_id, short_code, used_at, (SELECT removed_status FROM links WHERE id = link_id)
                 FROM idempotency_keys WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $4) AND key = $2 AND used_at >= $3",
            )
            .bind(owner.user.0)
            .bind(key)
            .bind(since.micros())
            .bind(owner.key.as_bytes())
            .fetch_all(session)
            .await
        });
        let found: Vec<UsedKeyRow> = found.await?;
        rows::written(found).map(rows::used_key).transpose()
    }
}
