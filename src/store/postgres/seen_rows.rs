//! What administrators search in Postgres: links of all accounts, and accounts.

use super::PostgresStore;
use crate::domain::{NewestWanted, SeenLink, SeenUser};
use crate::store::admin_rows::{self, SeenLinkRow, SeenUserRow};
use crate::store::scanned::{IN_ONE_TEXT, LINK_TEXT, scanned};
use crate::store::{ScannedLinks, StoreError};

type Query = sqlx::QueryBuilder<sqlx::Postgres>;

impl PostgresStore {
    pub(super) async fn scan_all_links(
        &self,
        wanted: &NewestWanted,
    ) -> Result<ScannedLinks, StoreError> {
        let mut query = Query::new("WITH newest AS MATERIALIZED (");
        match wanted.owner {
            None => query.push("SELECT id FROM links WHERE id < "),
            // By themselves: to leave links of others out of all could take all of them.
            Some(owner) => {
                query.push("WITH own AS MATERIALIZED (SELECT id FROM links WHERE owner_id = ");
                query.push_bind(owner.0);
                query.push(") SELECT id FROM own WHERE id < ")
            }
        };
        query.push_bind(wanted.before.unwrap_or(i64::MAX));
        query.push(format_args!(
            " ORDER BY id DESC LIMIT {}) {}(
                 SELECT newest.id AS key, newest.id, text FROM newest
                 CROSS JOIN LATERAL (SELECT {} AS text FROM links WHERE links.id = newest.id LIMIT 1) found
                 ORDER BY newest.id DESC) looked_at",
            wanted.limit,
            IN_ONE_TEXT, LINK_TEXT,
        ));
        self.scan_all(query, wanted).await
    }

    pub(super) async fn scan_all_users(
        &self,
        wanted: &NewestWanted,
    ) -> Result<ScannedLinks, StoreError> {
        let mut query = Query::new(format!(
            "{IN_ONE_TEXT} (SELECT id AS key, id, email AS text FROM users WHERE id < "
        ));
        query.push_bind(wanted.before.unwrap_or(i64::MAX));
        if let Some(owner) = wanted.owner {
            query.push(" AND id = ").push_bind(owner.0);
        }
        query.push(format_args!(
            " ORDER BY id DESC LIMIT {}) looked_at",
            wanted.limit
        ));
        self.scan_all(query, wanted).await
    }

    async fn scan_all(
        &self,
        mut query: Query,
        wanted: &NewestWanted,
    ) -> Result<ScannedLinks, StoreError> {
        let rows = self
            .pool
            .search(async |session| query.build_query_scalar().fetch_one(session).await);
        let rows: Option<String> = rows.await?;
        scanned(rows.as_deref(), wanted.text.as_ref(), wanted.limit).await
    }

    pub(super) async fn links_as_seen(&self, numbers: &[i64]) -> Result<Vec<SeenLink>, StoreError> {
        let found = self.pool.search(async |session| {
            sqlx::query_as(
                "SELECT id, short_code, target_url, owner_id, (SELECT address FROM link_addresses WHERE link_id = id),
                     created_at, is_active, removed_status
                 FROM unnest($1::bigint[]) WITH ORDINALITY wanted (link_id, n)
                 CROSS JOIN LATERAL (SELECT * FROM links WHERE id = wanted.link_id LIMIT 1) links ORDER BY wanted.n",
            )
            .bind(numbers)
            .fetch_all(session)
            .await
        });
        let found: Vec<SeenLinkRow> = found.await?;
        admin_rows::seen_links(found)
    }

    pub(super) async fn users_as_seen(&self, numbers: &[i64]) -> Result<Vec<SeenUser>, StoreError> {
        let found = self.pool.search(async |session| {
            sqlx::query_as(
                "SELECT id, email, created_at, coalesce((SELECT links FROM link_totals WHERE owner_id = id), 0),
                     EXISTS (SELECT FROM user_roles WHERE user_id = id AND role = 'admin'),
                     EXISTS (SELECT FROM banned_users WHERE user_id = id)
                 FROM unnest($1::bigint[]) WITH ORDINALITY wanted (wanted_id, n)
                 CROSS JOIN LATERAL (SELECT * FROM users WHERE id = wanted.wanted_id LIMIT 1) users ORDER BY wanted.n",
            )
            .bind(numbers)
            .fetch_all(session)
            .await
        });
        let found: Vec<SeenUserRow> = found.await?;
        admin_rows::seen_users(found)
    }
}
