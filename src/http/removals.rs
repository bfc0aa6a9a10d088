//! Removals are answered once they hold.

use tokio::time::timeout;

use super::ApiError;
use crate::abuse::{AT_ONCE, Abuse};
use crate::domain::Removal;
use crate::links::LinkService;
use crate::store::{Change, StoreError};

/// Announces what was removed or put back with a removal itself, then works on the rest of its links. With more links than
/// [`AT_ONCE`] suffices for, the job of removals goes on. Returns the removal as it is then.
///
/// # Errors
/// Those of the database.
pub async fn settle(
    abuse: &Abuse,
    links: &LinkService,
    (removal, changes): (Removal, Vec<Change>),
) -> Result<Removal, ApiError> {
    links.announce_all(&changes).await;
    let at_work = async {
        while let Some(work) = abuse.work_on(removal.id).await? {
            links.announce_all(&work.changes).await;
        }
        Ok::<_, StoreError>(())
    };
    if let Ok(done) = timeout(AT_ONCE, at_work).await {
        done?;
    }
    Ok(abuse.removal(removal.id).await?)
}
