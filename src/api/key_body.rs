//! An API key in bodies.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{ApiKey, Scope};

/// What a key may do.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeBody {
    /// Read links and statistics.
    Read,
    /// Change links, too.
    Write,
    /// Create links, and nothing else.
    Create,
}

/// The fields of a key that never change.
#[derive(Serialize, ToSchema)]
pub(super) struct KeyFields {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// Your name for it.
    #[schema(example = "backup script", min_length = 1, max_length = 100)]
    name: String,
    /// What it may do.
    scope: ScopeBody,
    /// When it was made, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    created_at: String,
    /// When it expires.
    #[schema(required = true, example = "2028-01-31T18:00:00Z", format = DateTime)]
    expires_at: Option<String>,
    /// Of a key of a group, the address of the member who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ada@example.org")]
    made_by: Option<String>,
}

impl KeyFields {
    pub(super) fn new(key: &ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name.as_str().to_owned(),
            scope: match key.scope {
                Scope::Read => ScopeBody::Read,
                Scope::Write => ScopeBody::Write,
                Scope::Create => ScopeBody::Create,
            },
            created_at: key.created_at.with_micros(),
            expires_at: key.expires_at.map(|end| end.to_string()),
            made_by: key.made_by.as_ref().map(|maker| maker.as_str().to_owned()),
        }
    }
}
