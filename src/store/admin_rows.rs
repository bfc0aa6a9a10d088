//! Rows of administration, turned into values.

use super::StoreError;
use super::rows::{code, removal_status, timestamp};
use crate::domain::{
    AuditEntry, EmailAddress, Newest, Removal, RemovalId, Report, SeenLink, SeenUser, TargetUrl,
    UserId,
};

/// `id`, `short_code`, `target_url`, `owner_id`, address, `created_at` in microseconds, `is_active`, `removed_status`.
pub(super) type SeenLinkRow = (
    i64,
    String,
    String,
    i64,
    Option<String>,
    i64,
    bool,
    Option<i64>,
);

/// `id`, `email`, `created_at` in microseconds, links, whether it has the role, whether it is banned.
pub(super) type SeenUserRow = (i64, String, i64, i64, bool, bool);

/// `id`, `short_code`, `target_url`, `removed_status`, `reason`, the reporter, `reported_at` in microseconds.
pub(super) type ReportRow = (i64, String, String, Option<i64>, String, String, i64);

/// `id`, `at` in microseconds, `user_id`, `address`, `action`, `subject`, `detail`.
pub(super) type AuditRow = (i64, i64, Option<i64>, String, String, String, String);

/// A page of up to `limit` entries, of which one more was asked for.
fn page<T>(mut entries: Vec<T>, number: impl Fn(&T) -> i64, limit: u32) -> Newest<T> {
    let is_full = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let next = entries.last().filter(|_| is_full).map(number);
    Newest { entries, next }
}

pub(super) fn seen_links(rows: Vec<SeenLinkRow>) -> Result<Vec<SeenLink>, StoreError> {
    let link =
        |(id, stored_code, target, owner, address, created_at, is_active, removed): SeenLinkRow| {
            Ok(SeenLink {
                id,
                code: code(&stored_code)?,
                target: TargetUrl::from_stored(&target),
                owner: UserId(owner),
                address,
                created_at: timestamp(created_at)?,
                is_active,
                removed: removed.map(removal_status).transpose()?,
            })
        };
    rows.into_iter().map(link).collect()
}

pub(super) fn seen_users(rows: Vec<SeenUserRow>) -> Result<Vec<SeenUser>, StoreError> {
    let user = |(id, email, created_at, links, is_admin, is_banned): SeenUserRow| {
        Ok(SeenUser {
            id: UserId(id),
            email: EmailAddress::from_stored(email),
            created_at: timestamp(created_at)?,
            links: links.unsigned_abs(),
            is_admin,
            is_banned,
        })
    };
    rows.into_iter().map(user).collect()
}

pub(super) fn reports(rows: Vec<ReportRow>, limit: u32) -> Result<Newest<Report>, StoreError> {
    let report = |(id, stored_code, target, removed, reason, reporter, at): ReportRow| {
        Ok(Report {
            id,
            code: code(&stored_code)?,
            target: TargetUrl::from_stored(&target),
            removed: removed.map(removal_status).transpose()?,
            reason,
            reporter,
            reported_at: timestamp(at)?,
        })
    };
    let reports: Result<_, StoreError> = rows.into_iter().map(report).collect();
    Ok(page(reports?, |report: &Report| report.id, limit))
}

pub(super) fn audit(rows: Vec<AuditRow>, limit: u32) -> Result<Newest<AuditEntry>, StoreError> {
    let entry = |(id, at, user, address, action, subject, detail): AuditRow| {
        Ok(AuditEntry {
            id,
            at: timestamp(at)?,
            user: user.map(UserId),
            address,
            action,
            subject,
            detail,
        })
    };
    let entries: Result<_, StoreError> = rows.into_iter().map(entry).collect();
    Ok(page(entries?, |entry: &AuditEntry| entry.id, limit))
}

/// `id`, `kind`, `value`, `reason`, `status`, `removed_by`, `removed_at` and `taken_back_at` in microseconds, links that it covers,
/// `looking_after` of a removal.
pub(super) type RemovalRow = (
    i64,
    String,
    String,
    String,
    i64,
    Option<i64>,
    i64,
    Option<i64>,
    i64,
    Option<i64>,
);

pub(super) fn removal(
    (id, kind, value, reason, status, by, at, taken_back_at, links, looking_after): RemovalRow,
) -> Result<Removal, StoreError> {
    Ok(Removal {
        id: RemovalId(id),
        kind,
        value,
        reason,
        status: removal_status(status)?,
        removed_by: by.map(UserId),
        removed_at: timestamp(at)?,
        revoked_at: taken_back_at.map(timestamp).transpose()?,
        links: links.unsigned_abs(),
        is_running: looking_after.is_some(),
    })
}
