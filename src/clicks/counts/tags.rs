//! The clicks of all links of an owner by tag: as the series of an owner is counted.

use super::owner::links_in;
use super::{AsOf, CountError, Counting, Counts, TRIES};
use crate::store::{TagTotals, WantedTags};

impl Counting<'_> {
    /// Tags of an owner's links by their bytes, with clicks as exact as [`Counting::series_of_owner`]; with those of the database
    /// where exact ones cannot be read. The work grows with the links that have clicks in Redis, and with those that have the tags.
    ///
    /// # Errors
    /// [`CountError`] where the database cannot be read.
    pub async fn tags_or_written(
        self,
        wanted: &WantedTags<'_>,
    ) -> Result<AsOf<Vec<TagTotals>>, CountError> {
        let counts = self.counts;
        let written = async {
            let found = counts.store.tags_of(wanted, &[]).await?;
            counts.none_parked_elsewhere(!found.ledger.parked_in.is_empty())?;
            Ok(found.totals.into_values().collect())
        };
        counts.or_written(self.tags(wanted).await, written).await
    }

    async fn tags(self, wanted: &WantedTags<'_>) -> Result<Vec<TagTotals>, CountError> {
        self.none_in_memory()?;
        let counts = self.counts;
        counts.settle_parked().await?;
        for _ in 0..TRIES {
            if let Some(tags) = counts.tags(wanted).await? {
                return Ok(tags);
            }
        }
        Err(CountError::Unavailable(
            "clicks are written back faster than they can be read".into(),
        ))
    }
}

impl Counts {
    /// `None` when a flush overtook the reading.
    async fn tags(&self, wanted: &WantedTags<'_>) -> Result<Option<Vec<TagTotals>>, CountError> {
        let unflushed = self.unflushed().await?;
        let asked = links_in(&unflushed);
        let mut found = self.store.tags_of(wanted, &asked).await?;
        let Some(missing) = self.missing(&unflushed, &found.ledger).await? else {
            return Ok(None);
        };
        for (link, _, clicks) in missing {
            for tag in found.tagged.get(&link).into_iter().flatten() {
                if let Some(totals) = found.totals.get_mut(tag) {
                    totals.clicks = totals.clicks.saturating_add(clicks);
                }
            }
        }
        Ok(Some(found.totals.into_values().collect()))
    }
}
