//! A link as its owner sees it.

use serde::{Deserialize, Serialize};

/// A link in the full view.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cli::client) struct Link {
    pub(in crate::cli::client) id: i64,
    pub(in crate::cli::client) short_code: String,
    pub(in crate::cli::client) short_url: String,
    pub(in crate::cli::client) target_url: String,
    pub(in crate::cli::client) title: Option<String>,
    pub(in crate::cli::client) tags: Vec<String>,
    pub(in crate::cli::client) clicks: u64,
    pub(in crate::cli::client) is_active: bool,
    pub(in crate::cli::client) status: String,
    pub(in crate::cli::client) created_at: String,
    pub(in crate::cli::client) updated_at: String,
    pub(in crate::cli::client) expires_at: Option<String>,
    pub(in crate::cli::client) max_clicks: Option<u64>,
    pub(in crate::cli::client) forward_query: bool,
}
