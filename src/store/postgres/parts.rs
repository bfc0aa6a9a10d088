//! Parts: clicks that are durable, and not added to links yet.
//!
//! A part has the clicks of one interval in a band of links, as `click_parts` of the schema says. Readers add parts to what the
//! links have; a merge adds them to the links for good.

use super::PostgresStore;
use super::session::Session;
use crate::domain::LinkId;
use crate::store::rows::signed;
use crate::store::{Compacted, LinkClicks, MergeRound, StoreError};

/// Levels of bands, the narrowest first: a band is 2^level ids wide. `bands_of` in the schema has the same.
const LEVELS: [u32; 9] = [7, 10, 13, 16, 19, 22, 25, 28, 31];

/// Links of a part at most: a row stays in its page.
const LINKS_PER_PART: usize = 128;

/// So many bits below a band's first id have its level.
const LEVEL_BITS: u32 = 5;

/// Bands of one transaction of a merge.
const BANDS_PER_STEP: usize = 64;

/// Bands of one round: bounds its memory.
const BANDS_PER_ROUND: i64 = 100_000;

/// Clicks by rising link, cut into parts, in the form in which `insert_parts` of the schema takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) bands: Vec<i64>,
    /// Where each part ends in the lists below.
    pub(super) ends: Vec<i32>,
    /// Ids of links, less the first of their band.
    pub(super) links: Vec<i32>,
    pub(super) clicks: Vec<i64>,
}

impl Parts {
    pub(super) fn of(clicks: &[LinkClicks]) -> Self {
        let mut parts = Self::default();
        parts.cut(clicks, &LEVELS);
        parts
    }

    /// Cuts clicks into bands of the last of these levels, or narrower ones.
    fn cut(&mut self, clicks: &[LinkClicks], levels: &[u32]) {
        let Some((level, narrower)) = levels.split_last() else {
            return;
        };
        let first_of_band = |link: LinkId| link.number() >> level << level;
        for band in
            clicks.chunk_by(|one, other| first_of_band(one.link) == first_of_band(other.link))
        {
            if band.len() > LINKS_PER_PART && !narrower.is_empty() {
                self.cut(band, narrower);
            } else {
                self.add(first_of_band(band[0].link), *level, band);
            }
        }
    }

    fn add(&mut self, first_id: i64, level: u32, band: &[LinkClicks]) {
        self.bands.push((first_id << LEVEL_BITS) + i64::from(level));
        // The widest band has 2^31 ids.
        let offset = |link: LinkId| i32::try_from(link.number() - first_id).unwrap_or(i32::MAX);
        self.links
            .extend(band.iter().map(|of_link| offset(of_link.link)));
        self.clicks
            .extend(band.iter().map(|of_link| signed(of_link.clicks)));
        self.ends
            .push(i32::try_from(self.links.len()).unwrap_or(i32::MAX));
    }
}

impl PostgresStore {
    /// Merges the next parts of a round. Bands whose step fails are left for the next round, so that they do not keep others from being
    /// merged.
    pub(super) async fn merge_step(&self, round: &mut MergeRound) -> Result<Compacted, StoreError> {
        if round.bands.is_none() {
            // A flush waits until earlier ones have no parts.
            self.tell_some().await;
            round.bands = Some(self.pool.run(bands_with_parts).await?.into());
        }
        let left = round.bands.get_or_insert_default();
        let bands: Vec<i64> = left.iter().take(BANDS_PER_STEP).copied().collect();
        if bands.is_empty() {
            return Ok(Compacted {
                done: true,
                ..Compacted::default()
            });
        }
        let merging = async |session: &mut Session| merge(session, &bands).await;
        let merged = self.pool.transaction(merging).await;
        if !matches!(merged, Ok((_, _, true))) {
            left.drain(..bands.len());
        }
        let (links, clicks, _) = merged?;
        Ok(Compacted {
            links: links.unsigned_abs(),
            clicks: clicks.unsigned_abs(),
            done: false,
        })
    }
}

async fn bands_with_parts(session: &mut Session) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT band FROM click_parts WHERE band >= 0 GROUP BY band ORDER BY band LIMIT $1",
    )
    .bind(BANDS_PER_ROUND)
    .fetch_all(session)
    .await
}

/// Returns how many links and clicks were merged, and whether there are more of these bands. A merge need not be durable: a crash that
/// loses it brings the parts back.
async fn merge(session: &mut Session, bands: &[i64]) -> Result<(i64, i64, bool), sqlx::Error> {
    let merged: (i64, i64, bool, String) = sqlx::query_as(
        "SELECT link_count, click_count, are_more, set_config('synchronous_commit', 'off', true) FROM merge_parts($1)",
    )
    .bind(bands)
    .fetch_one(session)
    .await?;
    let (links, clicks, are_more, _) = merged;
    Ok((links, clicks, are_more))
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::UserId;

    fn of_link(link: i64, clicks: u64) -> LinkClicks {
        LinkClicks {
            link: LinkId::parse(link).unwrap(),
            owner: UserId(1),
            clicks,
        }
    }

    proptest! {
        #[test]
        fn parts_have_each_click_in_a_band_of_its_link(
            dense in btree_map(1_i64..4_000, 1_u64..5, 0..600),
            sparse in btree_map(1..=LinkId::LAST.number(), 1_u64..5, 0..100),
        ) {
            let clicks: std::collections::BTreeMap<_, _> = dense.into_iter().chain(sparse).collect();
            let clicks: Vec<_> = clicks.into_iter().map(|(link, clicks)| of_link(link, clicks)).collect();
            let parts = Parts::of(&clicks);
            let (mut found, mut begin) = (Vec::new(), 0);
            for (band, end) in parts.bands.iter().zip(&parts.ends) {
                let (level, first, end) = (band & 31, band >> LEVEL_BITS, usize::try_from(*end).unwrap());
                prop_assert!(LEVELS.contains(&u32::try_from(level).unwrap()) && end - begin <= LINKS_PER_PART && end > begin);
                for place in begin..end {
                    let link = first + i64::from(parts.links[place]);
                    prop_assert_eq!(link >> level << level, first);
                    found.push(of_link(link, parts.clicks[place].unsigned_abs()));
                }
                begin = end;
            }
            prop_assert_eq!(found, clicks);
        }

        #[test]
        fn few_links_make_few_parts(links in proptest::collection::btree_set(1_i64..1_000_000_000, 1..1_000)) {
            let clicks: Vec<_> = links.iter().map(|link| of_link(*link, 1)).collect();
            // A band that is cut has more than 128 links, and becomes eight at most.
            prop_assert!(Parts::of(&clicks).bands.len() <= 1 + clicks.len() / 16);
        }
    }
}
