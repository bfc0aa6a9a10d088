//! Changing a link.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{CountedLink, LinkError, LinkService, Revision};
use crate::domain::{Click, FieldEdit, Link, LinkEdit, Principal, ShortCode};
use crate::store::{Edited, ToCount};

/// The state in which a client expects a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any.
    Any,
    /// One of these revisions.
    OneOf(Vec<String>),
}

impl Expected {
    pub(super) fn is_met_by(&self, link: &Link) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(revisions) => {
                let current = Revision::of(link);
                revisions.iter().any(|known| known == current.as_str())
            }
        }
    }
}

impl LinkService {
    /// Changes a link of this owner, and announces the change: once this returns, no instance that Redis can reach follows
    /// the link as it was. `None` where there is no such link, or it is another's.
    ///
    /// # Errors
    /// [`LinkError::NotAsExpected`], [`LinkError::Removed`], [`LinkError::TargetRefused`], [`LinkError::Count`], [`LinkError::Store`].
    pub async fn edit(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: &LinkEdit,
        expected: &Expected,
    ) -> Result<Option<CountedLink>, LinkError> {
        if let Some(target) = &edit.target {
            self.check_target(target).await?;
        }
        let is_removed = AtomicBool::new(false);
        let edited = |link: &Link| {
            is_removed.store(link.removed.is_some(), Ordering::Relaxed);
            let is_met = expected.is_met_by(link) && link.removed.is_none();
            is_met.then(|| edit.apply(&link.properties))
        };
        let now = self.clock.now();
        let (edited, change) = match self.links.edit_link(owner, code, &edited, now).await? {
            Edited::NotFound => return Ok(None),
            Edited::Refused if is_removed.into_inner() => return Err(LinkError::Removed),
            Edited::Refused => return Err(LinkError::NotAsExpected),
            Edited::Done(link, change) => (*link, change),
        };
        if let Some(change) = change {
            self.announce(&change).await;
        }
        let ToCount {
            value: link,
            has_parked,
        } = edited;
        let click = Click::new(link.id, self.cache.shard_of(code));
        if matches!(edit.max_clicks, FieldEdit::Set(_))
            && let Err(error) = self.before_limit.count(code, click).await
        {
            tracing::debug!(%error, "the limit of a link takes effect with its next visit");
        }
        let clicks = self.counts.begin().of(&[click], has_parked).await?;
        // A link that was deleted meanwhile has no clicks.
        let clicks = clicks.get(&link.id).copied();
        Ok(clicks.map(|clicks| CountedLink { link, clicks }))
    }
}
