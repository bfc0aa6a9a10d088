//! A removal in bodies.

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::base_address::BaseAddress;
#[cfg(test)]
use crate::api::words::{ProgressWord, RemovedKindWord, removal_status};
use crate::domain::{Removal, Timestamp};

/// A removal.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct RemovalBody {
    /// Identifier.
    #[schema(example = 7, minimum = 1)]
    id: i64,
    /// What was removed: `link`, `host`, `user`, `address`, or `blocklist`, the service's own of all that its list covers.
    #[schema(value_type = RemovedKindWord)]
    kind: String,
    /// The code, of another host as `HOST/CODE`; the host, the account's number, or the address.
    #[schema(example = "K7mXq2R")]
    value: String,
    /// Why.
    #[schema(example = "phishing")]
    reason: String,
    /// How its links are answered: 410 or 451.
    #[schema(schema_with = removal_status)]
    status: u16,
    /// The account of the administrator; `null`: the operator, or the service itself.
    #[schema(required = true, example = 1)]
    removed_by: Option<i64>,
    /// When, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    removed_at: String,
    /// When it was revoked.
    #[schema(required = true, example = "2027-02-01T18:00:00.123456Z", format = DateTime)]
    revoked_at: Option<String>,
    /// Links that it covers now; 100,000 stands for as many or more.
    #[schema(example = 1)]
    links: u64,
    /// `running` while links are still scanned, then `done`.
    #[schema(value_type = ProgressWord)]
    progress: &'static str,
}

impl RemovalBody {
    pub(super) fn new(removal: &Removal, base_address: &BaseAddress) -> Self {
        let value = match removal.kind.as_str() {
            "link" => base_address.shown_key(&removal.value),
            _ => removal.value.clone(),
        };
        Self {
            id: removal.id.0,
            kind: removal.kind.clone(),
            value,
            reason: removal.reason.clone(),
            status: removal.status.code(),
            removed_by: removal.removed_by.map(|user| user.0),
            removed_at: removal.removed_at.with_micros(),
            revoked_at: removal.revoked_at.map(Timestamp::with_micros),
            links: removal.links,
            progress: if removal.is_running {
                "running"
            } else {
                "done"
            },
        }
    }
}
