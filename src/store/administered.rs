//! What administrators see of the service as a whole, and of accounts, in numbers. Each statement reads a bounded number of rows.

use std::collections::HashMap;

use super::sql::{Row, query, query_of_each};
use super::{Store, StoreError};
use crate::domain::{AccountNumbers, EmailAddress, Interval, ServiceTotals, UserId};

/// Accounts that are counted at most.
const MAX_ACCOUNTS: u32 = 100_000;

/// Links whose addresses are looked at, the newest.
const MAX_ADDRESSES: u32 = 10_000;

impl Store {
    /// How much there is of everything. It reads 100,000 accounts and 10,000 reports at most.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn service_totals(&self) -> Result<ServiceTotals, StoreError> {
        let count = query(
            "SELECT accounts, links, open_reports, reported_links FROM (
                 SELECT count(*) AS accounts, CAST(coalesce(sum(links), 0) AS bigint) AS links FROM (
                     SELECT links FROM link_totals
                     WHERE NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = owner_id) LIMIT $1) AS counted) AS of_accounts,
                 (SELECT count(*) AS open_reports, count(DISTINCT link_id) AS reported_links
                  FROM reports WHERE closed_at IS NULL) AS of_reports",
        );
        let counted = self
            .engine
            .read_one(count.bind(MAX_ACCOUNTS).of_search())
            .await?;
        let counted = counted.ok_or_else(|| StoreError::Unexpected("nothing is counted".into()))?;
        let accounts = number(&counted, "accounts")?;
        Ok(ServiceTotals {
            open_reports: number(&counted, "open_reports")?,
            reported_links: number(&counted, "reported_links")?,
            accounts,
            links: number(&counted, "links")?,
            are_more: accounts >= u64::from(MAX_ACCOUNTS),
        })
    }

    /// Clicks of all links that are written back, by day of UTC from this one on: days since 1970. Days without clicks are missing.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn service_days(&self, from: i64) -> Result<HashMap<i64, u64>, StoreError> {
        // In Postgres a job adds up what was logged since.
        let find =
            query("SELECT CAST(day AS bigint) AS day, clicks FROM service_days WHERE day >= $1");
        let found = self.engine.read(find.bind(from)).await?;
        let days = found
            .iter()
            .map(|row| Ok((row.get("day")?, number(row, "clicks")?)));
        days.collect()
    }

    /// Numbers of the accounts with these numbers: of each it reads the clicks since `since` by the quarter of an hour.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn account_numbers(
        &self,
        users: &[i64],
        since: Interval,
    ) -> Result<HashMap<UserId, AccountNumbers>, StoreError> {
        let find = query_of_each(
            "SELECT id,
                 CAST(coalesce((SELECT sum(clicks) FROM owner_series WHERE owner_id = users.id AND interval >= $2), 0)
                     + coalesce((SELECT sum(clicks) FROM owner_series_log WHERE owner_id = users.id AND interval >= $2), 0) AS bigint) AS clicks,
                 (SELECT max(last_used) FROM known_addresses WHERE user_id = users.id) AS signed_in_at,
                 (SELECT count(*) FROM (
                     SELECT 1 FROM links WHERE owner_id = users.id AND removed_status IS NOT NULL LIMIT 1000) AS removed) AS removed_links
             FROM users WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1))",
            "SELECT id,
                 coalesce((SELECT sum(clicks) FROM owner_series WHERE owner_id = users.id AND interval >= $2), 0) AS clicks,
                 (SELECT max(last_used) FROM known_addresses WHERE user_id = users.id) AS signed_in_at,
                 (SELECT count(*) FROM (
                     SELECT 1 FROM links WHERE owner_id = users.id AND removed_status IS NOT NULL LIMIT 1000) AS removed) AS removed_links
             FROM users WHERE id IN (SELECT value FROM json_each($1))",
        );
        let find = find.bind(users).bind(i64::from(since.number()));
        let found = self.engine.read(find.of_search()).await?;
        let numbers = found.iter().map(|row| {
            let numbers = AccountNumbers {
                clicks: number(row, "clicks")?,
                signed_in_at: row.get("signed_in_at")?,
                removed_links: number(row, "removed_links")?,
            };
            Ok((row.get("id")?, numbers))
        });
        numbers.collect()
    }

    /// The e-mail addresses of these accounts, as far as they are there.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn emails_of(
        &self,
        users: &[i64],
    ) -> Result<HashMap<UserId, EmailAddress>, StoreError> {
        let find = query_of_each(
            "SELECT id, email FROM users WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1))",
            "SELECT id, email FROM users WHERE id IN (SELECT value FROM json_each($1))",
        );
        let found = self.engine.read(find.bind(users).of_search()).await?;
        let emails = found
            .iter()
            .map(|row| Ok((row.get("id")?, row.get("email")?)));
        emails.collect()
    }

    /// The addresses that the newest links were made from: of 10,000 links at most.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn newest_addresses(&self) -> Result<Vec<String>, StoreError> {
        let find = query("SELECT address FROM link_addresses ORDER BY link_id DESC LIMIT $1");
        let found = self
            .engine
            .read(find.bind(MAX_ADDRESSES).of_search())
            .await?;
        found.iter().map(|row| row.get("address")).collect()
    }
}

/// A number that is not below 0; a sum may be for as long as a log is added up.
pub(super) fn number(row: &Row, name: &str) -> Result<u64, StoreError> {
    let number: i64 = row.get(name)?;
    Ok(u64::try_from(number).unwrap_or_default())
}
