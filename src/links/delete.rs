//! Deleting a link.

use super::{Expected, LinkError, LinkService};
use crate::domain::{Link, Principal, ShortCode};
use crate::store::{Deleted, Deletion, IsExpected};

impl LinkService {
    /// Deletes a link of this owner, which goes into the owner's bin if the service has bins, and announces the change. `false` if there is no such link, or it is another owner's.
    ///
    /// # Errors
    /// [`LinkError::NotAsExpected`], [`LinkError::Store`].
    pub async fn delete(
        &self,
        owner: Principal,
        code: &ShortCode,
        expected: &Expected,
    ) -> Result<bool, LinkError> {
        let is_met = |link: &Link| expected.is_met_by(link);
        let is_expected: Option<IsExpected<'_>> = match expected {
            Expected::Any => None,
            Expected::OneOf(_) => Some(&is_met),
        };
        let deletion = match self.trash_days {
            0 => Deletion::AtOnce,
            _ => Deletion::IntoBin(self.clock.now()),
        };
        let deleted = (self.store).delete_link(owner, code, is_expected, deletion);
        match deleted.await? {
            Deleted::NotFound => Ok(false),
            Deleted::Refused => Err(LinkError::NotAsExpected),
            Deleted::Done(changes) => {
                self.announce_all(&changes).await;
                Ok(true)
            }
        }
    }
}
