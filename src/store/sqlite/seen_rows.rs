//! What administrators search in SQLite: links of all accounts, and accounts.

use super::SqliteStore;
use crate::domain::{NewestWanted, SeenLink, SeenUser};
use crate::store::admin_rows::{self, SeenLinkRow, SeenUserRow};
use crate::store::scanned::{IN_ONE_TEXT, LINK_TEXT, scanned};
use crate::store::{ScannedLinks, StoreError};

type Query = sqlx::QueryBuilder<sqlx::Sqlite>;

impl SqliteStore {
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
        // A cross join is done in the order of its tables.
        query.push(format_args!(
            " ORDER BY id DESC LIMIT {}) {}(
                 SELECT newest.id AS key, newest.id AS id, {} AS text FROM newest CROSS JOIN links ON links.id = newest.id) AS looked_at",
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
            " ORDER BY id DESC LIMIT {}) AS looked_at",
            wanted.limit
        ));
        self.scan_all(query, wanted).await
    }

    async fn scan_all(
        &self,
        mut query: Query,
        wanted: &NewestWanted,
    ) -> Result<ScannedLinks, StoreError> {
        let mut reader = self.reader.get_for_search().await?;
        let rows: Option<String> = query.build_query_scalar().fetch_one(&mut *reader).await?;
        drop(reader);
        scanned(rows.as_deref(), wanted.text.as_ref(), wanted.limit).await
    }

    pub(super) async fn links_as_seen(&self, numbers: &[i64]) -> Result<Vec<SeenLink>, StoreError> {
        let found: Vec<SeenLinkRow> = sqlx::query_as(
            "SELECT links.id, short_code, target_url, owner_id, (SELECT address FROM link_addresses WHERE link_id = links.id), created_at,
                 is_active, removed_status
             FROM json_each(?1) wanted CROSS JOIN links ON links.id = wanted.value ORDER BY wanted.key",
        )
        .bind(serde_json::Value::from(numbers).to_string())
        .fetch_all(&mut *self.reader.get_for_search().await?)
        .await?;
        admin_rows::seen_links(found)
    }

    pub(super) async fn users_as_seen(&self, numbers: &[i64]) -> Result<Vec<SeenUser>, StoreError> {
        let found: Vec<SeenUserRow> = sqlx::query_as(
            "SELECT users.id, email, created_at, coalesce((SELECT links FROM link_totals WHERE owner_id = users.id), 0),
                 EXISTS (SELECT 1 FROM user_roles WHERE user_id = users.id AND role = 'admin'),
                 EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
             FROM json_each(?1) wanted CROSS JOIN users ON users.id = wanted.value ORDER BY wanted.key",
        )
        .bind(serde_json::Value::from(numbers).to_string())
        .fetch_all(&mut *self.reader.get_for_search().await?)
        .await?;
        admin_rows::seen_users(found)
    }
}
