//! Clicks of a link by the code that was followed: its own, or an alias.

use super::{LinkError, LinkService};
use crate::clicks::counts::{AsOf, LinkSeries};
use crate::domain::{Click, Principal, SeriesRange, ShortCode, Timestamp, UserId};
use crate::store::ToCount;

/// How often all codes are read again because clicks came meanwhile.
const TRIES: usize = 3;

/// Clicks of a link by code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClicksByCode {
    /// All codes, most clicks first.
    pub rows: Vec<(ShortCode, u64)>,
    /// Clicks by all codes.
    pub clicks: u64,
    /// The clicks without the clicks of known bots; `None` for a part of the codes.
    pub people: Option<u64>,
    /// How new the clicks are: as [`AsOf`] says.
    pub as_of: Option<Timestamp>,
}

impl LinkService {
    /// The clicks of a link of this owner by code; `None` if there is no such link. Each alias has a count of its own, and the own code
    /// has all other clicks of the link: all are read again if clicks come meanwhile.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub async fn clicks_by_code(
        &self,
        owner: Principal,
        code: &ShortCode,
        range: &SeriesRange,
    ) -> Result<Option<ClicksByCode>, LinkError> {
        let Some(ToCount {
            value: link,
            has_parked,
        }) = self.store.link_of(owner, code).await?
        else {
            return Ok(None);
        };
        let aliases = self.store.aliases_of(link.id).await?;
        let click = self.click_of(link.id, link.made_by, &link.code);
        let read = async |click: Click| {
            let counting = self.counts.begin();
            let read = counting.series_of_or_written(click, range.intervals(), has_parked);
            let AsOf { value, as_of } = read.await?;
            Ok::<_, LinkError>((value, as_of))
        };
        let (mut of_link, mut as_of) = read(click).await?;
        let mut rows = Vec::new();
        for _ in 0..TRIES {
            rows.clear();
            let before = of_link.count;
            for (alias, id) in &aliases {
                let click = Click::new(*id, UserId::NOBODY, click.shard());
                let (of_alias, _) = read(click).await?;
                rows.push((alias.clone(), sum(&of_alias)));
            }
            if !aliases.is_empty() {
                (of_link, as_of) = read(click).await?;
            }
            if of_link.count == before {
                break;
            }
        }
        let clicks = sum(&of_link);
        let of_aliases: u64 = rows.iter().map(|(_, clicks)| clicks).sum();
        rows.push((link.code, clicks.saturating_sub(of_aliases)));
        rows.sort_by(|(one, of_one), (other, of_other)| of_other.cmp(of_one).then(one.cmp(other)));
        let bots: u64 = of_link.bots.values().sum();
        Ok(Some(ClicksByCode {
            rows,
            clicks,
            people: Some(clicks.saturating_sub(bots)),
            as_of,
        }))
    }
}

fn sum(series: &LinkSeries) -> u64 {
    series.points.values().sum()
}
