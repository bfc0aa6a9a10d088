//! Answers a removal when it is in effect, or when its time to wait is over.

use tokio::time::timeout;

use crate::abuse::{AT_ONCE, Abuse};
use crate::domain::Removal;
use crate::links::LinkService;
use crate::store::{Change, StoreError};

/// Announces the changes of a removal or of its end, then works on the rest of its links. If [`AT_ONCE`] is not enough for all
/// links, or the database fails, the job of removals continues: the removal itself is committed. Returns the removal as it is
/// then, as far as it can be read.
pub async fn settle(
    abuse: &Abuse,
    links: &LinkService,
    (removal, changes): (Removal, Vec<Change>),
) -> Removal {
    links.announce_all(&changes).await;
    let at_work = async {
        while let Some(work) = abuse.work_on(removal.id).await? {
            links.announce_all(&work.changes).await;
        }
        Ok::<_, StoreError>(())
    };
    if let Ok(Err(error)) = timeout(AT_ONCE, at_work).await {
        tracing::warn!(%error, "a removal could not be finished at once; it continues in the background");
        return removal;
    }
    match abuse.removal(removal.id).await {
        Ok(newer) => newer,
        Err(error) => {
            tracing::debug!(%error, "a removal is answered as it was made");
            removal
        }
    }
}
