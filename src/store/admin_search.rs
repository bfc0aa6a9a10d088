//! What administrators search: links of all accounts, and accounts.

use super::scanned::{IN_ONE_TEXT, SEEN_TEXT, scanned};
use super::sql::{Query, Row, query};
use super::{ScannedLinks, Store, StoreError};
use crate::domain::{NewestWanted, SeenLink, SeenUser, ShortCode};

impl Store {
    /// Scans the next links of all accounts or of one, at most `limit` of them. The key of a position is the number of its link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn scan_seen_links(&self, wanted: &NewestWanted) -> Result<ScannedLinks, StoreError> {
        let limit = wanted.limit;
        let links = match wanted.owner {
            None => format!("alias_of IS NULL AND trashed_at = 0 AND id < $1 ORDER BY id DESC LIMIT {limit}"),
            // By themselves: to leave links of others out of all could take all of them.
            Some(_) => format!(
                "id IN (WITH own AS MATERIALIZED (SELECT id FROM links WHERE owner_id = $2 AND trashed_at = 0)
                     SELECT id FROM own WHERE id < $1 ORDER BY id DESC LIMIT {limit}) ORDER BY id DESC"
            ),
        };
        let links = format!("SELECT id AS key, id, {SEEN_TEXT} AS text FROM links WHERE {links}");
        self.scan_seen(&links, wanted).await
    }

    /// Scans the next accounts, as [`Store::scan_seen_links`] does links: their addresses have the text.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn scan_seen_users(&self, wanted: &NewestWanted) -> Result<ScannedLinks, StoreError> {
        let own = wanted.owner.map_or("", |_| " AND id = $2");
        let users = format!(
            "SELECT id AS key, id, email AS text FROM users WHERE id < $1{own} ORDER BY id DESC LIMIT {}",
            wanted.limit
        );
        self.scan_seen(&users, wanted).await
    }

    async fn scan_seen(
        &self,
        rows: &str,
        wanted: &NewestWanted,
    ) -> Result<ScannedLinks, StoreError> {
        let scan = Query::built(format!("{IN_ONE_TEXT} ({rows}) AS scanned"));
        let mut scan = scan.bind(wanted.below());
        if let Some(owner) = wanted.owner {
            scan = scan.bind(owner);
        }
        let rows = self.in_one_text(scan.of_search()).await?;
        scanned(rows.as_deref(), wanted.text.as_ref(), wanted.limit).await
    }

    /// The links with these numbers, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn seen_links(&self, numbers: &[i64]) -> Result<Vec<SeenLink>, StoreError> {
        let find = query(
            "SELECT id, short_code, target_url, fallback_url, rules, owner_id, (SELECT address FROM link_addresses WHERE link_id = links.id) AS address,
                 created_at, is_active, removed_status, password_hash IS NOT NULL AS has_password
             FROM links WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1)) ORDER BY id DESC",
        );
        let found = self.engine.read(find.bind(numbers).of_search()).await?;
        found.iter().map(seen_link).collect()
    }

    /// The link with this code, also by an alias, unless it is in a bin or its account is deleted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn seen_link(&self, code: &ShortCode) -> Result<Option<SeenLink>, StoreError> {
        let find = query(
            "SELECT id FROM live_links WHERE id = (SELECT link_id FROM link_codes WHERE code = $1)",
        );
        let Some(row) = self.engine.read_one(find.bind(code)).await? else {
            return Ok(None);
        };
        let found = self.seen_links(&[row.get("id")?]).await?;
        Ok(found.into_iter().next())
    }

    /// The accounts with these numbers, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn seen_users(&self, numbers: &[i64]) -> Result<Vec<SeenUser>, StoreError> {
        let find = query(
            "SELECT id, email, group_name, created_at, coalesce((SELECT links FROM link_totals WHERE owner_id = users.id), 0) AS links,
                 EXISTS (SELECT 1 FROM user_roles WHERE user_id = users.id AND role = 'admin') AS is_admin,
                 EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id) AS is_banned
             FROM users WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1)) ORDER BY id DESC",
        );
        let found = self.engine.read(find.bind(numbers).of_search()).await?;
        found.iter().map(seen_user).collect()
    }
}

fn seen_link(row: &Row) -> Result<SeenLink, StoreError> {
    Ok(SeenLink {
        id: row.get("id")?,
        code: row.get("short_code")?,
        target: row.get("target_url")?,
        fallback: row.get("fallback_url")?,
        rules: row.get("rules")?,
        owner: row.get("owner_id")?,
        address: row.get("address")?,
        created_at: row.get("created_at")?,
        is_active: row.get("is_active")?,
        removed: row.get("removed_status")?,
        has_password: row.get("has_password")?,
    })
}

fn seen_user(row: &Row) -> Result<SeenUser, StoreError> {
    Ok(SeenUser {
        id: row.get("id")?,
        email: row.get("email")?,
        group: row.get("group_name")?,
        created_at: row.get("created_at")?,
        links: row.get("links")?,
        is_admin: row.get("is_admin")?,
        is_banned: row.get("is_banned")?,
    })
}
