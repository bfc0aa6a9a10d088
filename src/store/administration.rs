//! The contract of administration: roles, what administrators see, reports, and the audit.

use async_trait::async_trait;

use super::{Actor, ScannedLinks, StoreError};
use crate::domain::{
    AuditEntry, Newest, NewestWanted, Principal, Reason, Report, SeenLink, SeenUser, ShortCode,
    Timestamp, TokenKey, UserId,
};

/// What is kept of the time before a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Addresses that links were made from.
    Addresses,
    /// Reports of links.
    Reports,
    /// What administrators did.
    Audit,
}

/// Roles, what administrators see, reports, and the audit.
#[async_trait]
pub trait Administration: Send + Sync {
    /// Whether the account that a token names administers the service; `None` where it is gone, or has another key.
    async fn is_admin(&self, principal: Principal) -> Result<Option<bool>, StoreError>;

    /// Lets an account administer the service, and notes that for the audit. `false`: there is no such account, or it is
    /// banned.
    async fn set_role(
        &self,
        user: UserId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Gives an account another password and another key, and notes that for the audit. `false` as for
    /// [`Administration::set_role`].
    async fn reset_password(
        &self,
        user: UserId,
        password_hash: &str,
        key: TokenKey,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Looks at the next links of all accounts or of one, at most `limit` of them. Key and number of a position are that of a link.
    async fn scan_seen_links(&self, wanted: &NewestWanted) -> Result<ScannedLinks, StoreError>;

    /// The links with these numbers, in their order.
    async fn seen_links(&self, numbers: &[i64]) -> Result<Vec<SeenLink>, StoreError>;

    /// Looks at the next accounts, as [`Administration::scan_seen_links`] does at links: their addresses have the text.
    async fn scan_seen_users(&self, wanted: &NewestWanted) -> Result<ScannedLinks, StoreError>;

    /// The accounts with these numbers, in their order.
    async fn seen_users(&self, numbers: &[i64]) -> Result<Vec<SeenUser>, StoreError>;

    /// Notes a report of a link by a hash of its reporter's address. Of too many, one of the reporter who has most makes room. `false`:
    /// there is no such link.
    async fn report(
        &self,
        code: &ShortCode,
        reason: &Reason,
        reporter: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Removes a report, and notes that for the audit. `false`: there is no such report.
    async fn close_report(
        &self,
        report: i64,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Reports of links.
    async fn reports(&self, wanted: &NewestWanted) -> Result<Newest<Report>, StoreError>;

    /// What administrators did.
    async fn audit(&self, wanted: &NewestWanted) -> Result<Newest<AuditEntry>, StoreError>;

    /// Removes up to `limit` rows of the time before `before`; returns how many were removed.
    async fn prune(&self, kept: Kept, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
