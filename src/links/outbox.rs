//! Changes that could not be told when they were made.

use crate::cache::{CacheError, LinkCache};
use crate::store::{Links, StoreError};

/// Changes told in one go.
const AT_ONCE: u32 = 500;

/// Why changes are still untold.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// Redis is away.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells every instance of the changes that are left in the outbox. Telling one twice does no harm.
///
/// # Errors
/// When Redis or the database is away; what is left is told later.
pub async fn publish_pending(links: &dyn Links, cache: &LinkCache) -> Result<(), OutboxError> {
    loop {
        let changes = links.unpublished_changes(AT_ONCE).await?;
        if changes.is_empty() {
            return Ok(());
        }
        for change in &changes {
            cache.forget(&change.code).await?;
        }
        let numbers: Vec<_> = changes.iter().map(|change| change.number).collect();
        links.changes_published(&numbers).await?;
    }
}
