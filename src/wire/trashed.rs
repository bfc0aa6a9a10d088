//! A link in the bin, as the API shows it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::FullLinkBody;

/// A link that was deleted and can be restored.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TrashedLinkBody {
    /// The link, as it is once it is restored.
    #[serde(flatten)]
    pub link: FullLinkBody,
    /// When it was deleted.
    #[schema(example = "2026-11-25T09:30:00.123456Z", format = DateTime)]
    pub deleted_at: String,
    /// Until when it can be restored.
    #[schema(example = "2026-12-25T09:30:00.123456Z", format = DateTime)]
    pub ends_at: String,
}
