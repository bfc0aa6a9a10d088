//! Parts: clicks that are durable, and not added to links yet.
//!
//! A part has the clicks of one interval in a band of links, as `click_parts` of the schema says. Readers add parts to what the
//! links have; a merge adds them to the links for good.

use sqlx::Row;

use super::PostgresStore;
use super::session::Session;
use crate::domain::LinkId;
use crate::store::clicks::PartsLeft;
use crate::store::rows::signed;
use crate::store::{Compacted, MergeRound, StoreError};

/// Levels of bands, the narrowest first: a band is 2^level ids wide. `bands_of` in the schema has the same.
const LEVELS: [u32; 9] = [7, 10, 13, 16, 19, 22, 25, 28, 31];

/// Links of a part at most: a row stays in its page.
const LINKS_PER_PART: usize = 128;

/// The first id of a band is shifted by so many bits, for the level.
const LEVEL_BITS: u32 = 5;

/// Bands, and parts, of one transaction of a merge: bounds how long rows of links stay locked.
const BANDS_PER_STEP: usize = 32;
const PARTS_PER_STEP: i32 = 256;

/// Bands of one round: bounds its memory.
const BANDS_PER_ROUND: i64 = 100_000;

/// How many flushes of a data set may have parts: what a reading of counts looks through.
pub(super) const MAX_UNMERGED: i64 = 8;

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
    pub(super) fn of(clicks: &[(LinkId, u64)]) -> Self {
        let mut parts = Self::default();
        parts.cut(clicks, &LEVELS);
        parts
    }

    /// Cuts clicks into bands of the last of these levels, or narrower ones.
    fn cut(&mut self, clicks: &[(LinkId, u64)], levels: &[u32]) {
        let Some((level, narrower)) = levels.split_last() else {
            return;
        };
        let first_of_band = |link: LinkId| link.number() >> level << level;
        for band in clicks.chunk_by(|one, other| first_of_band(one.0) == first_of_band(other.0)) {
            if band.len() > LINKS_PER_PART && !narrower.is_empty() {
                self.cut(band, narrower);
            } else {
                self.add(first_of_band(band[0].0), *level, band);
            }
        }
    }

    fn add(&mut self, first_id: i64, level: u32, band: &[(LinkId, u64)]) {
        self.bands.push((first_id << LEVEL_BITS) + i64::from(level));
        // The widest band has 2^31 ids.
        let offset = |link: LinkId| i32::try_from(link.number() - first_id).unwrap_or(i32::MAX);
        self.links
            .extend(band.iter().map(|(link, _)| offset(*link)));
        self.clicks
            .extend(band.iter().map(|(_, clicks)| signed(*clicks)));
        self.ends
            .push(i32::try_from(self.links.len()).unwrap_or(i32::MAX));
    }
}

impl PostgresStore {
    /// Merges the next parts of a round.
    pub(super) async fn merge_step(&self, round: &mut MergeRound) -> Result<Compacted, StoreError> {
        let mut left = match round.0.take() {
            Some(left) => left,
            None => self.pool.run(begin_round).await?,
        };
        let bands: Vec<i64> = left.bands.iter().take(BANDS_PER_STEP).copied().collect();
        if bands.is_empty() {
            self.pool
                .run(async |session| end_round(session, &left).await)
                .await?;
            return Ok(Compacted {
                done: !left.are_more,
                ..Compacted::default()
            });
        }
        let merging = async |session: &mut Session| merge(session, &bands).await;
        let Some((parts, links, clicks)) = self.pool.transaction(merging).await? else {
            // Another instance merges. What it leaves is for the next round.
            return Ok(Compacted {
                done: true,
                ..Compacted::default()
            });
        };
        if parts == 0 {
            left.bands.drain(..bands.len());
        }
        round.0 = Some(left);
        Ok(Compacted {
            links: links.unsigned_abs(),
            clicks: clicks.unsigned_abs(),
            done: false,
        })
    }
}

/// Reads which flushes are whole, and then which bands have parts: so the round sees all parts of these flushes.
async fn begin_round(session: &mut Session) -> Result<PartsLeft, sqlx::Error> {
    let flushes = sqlx::query_as(
        "SELECT epoch, whole FROM (
             SELECT epoch, merged_flush, CASE WHEN up_to = 9223372036854775807 THEN flush ELSE flush - 1 END AS whole FROM data_sets
         ) AS seen WHERE whole > merged_flush",
    )
    .fetch_all(&mut *session)
    .await?;
    let bands: Vec<i64> =
        sqlx::query_scalar("SELECT band FROM click_parts GROUP BY band ORDER BY band LIMIT $1")
            .bind(BANDS_PER_ROUND)
            .fetch_all(session)
            .await?;
    let are_more = bands.len() as i64 == BANDS_PER_ROUND;
    Ok(PartsLeft {
        flushes: if are_more { Vec::new() } else { flushes },
        bands: bands.into(),
        are_more,
    })
}

async fn end_round(session: &mut Session, round: &PartsLeft) -> Result<(), sqlx::Error> {
    if round.flushes.is_empty() {
        return Ok(());
    }
    let (epochs, flushes): (Vec<_>, Vec<_>) = round
        .flushes
        .iter()
        .map(|(epoch, flush)| (epoch.as_str(), *flush))
        .unzip();
    sqlx::query(
        "WITH noted AS (
             UPDATE data_sets SET merged_flush = merged.flush FROM unnest($1::text[], $2::bigint[]) AS merged (epoch, flush)
             WHERE data_sets.epoch = merged.epoch AND data_sets.merged_flush < merged.flush
         )
         SELECT set_config('synchronous_commit', 'off', true)",
    )
    .bind(epochs)
    .bind(flushes)
    .execute(session)
    .await?;
    Ok(())
}

/// Returns how many parts, links and clicks were merged. `None`: another instance is at it. A merge need not be durable: a crash that loses
/// it brings the parts back.
async fn merge(
    session: &mut Session,
    bands: &[i64],
) -> Result<Option<(i64, i64, i64)>, sqlx::Error> {
    let alone = sqlx::query(
        "SELECT FROM locks, set_config('synchronous_commit', 'off', true)
         WHERE name = 'merging' FOR UPDATE OF locks SKIP LOCKED",
    )
    .fetch_optional(&mut *session)
    .await?;
    if alone.is_none() {
        return Ok(None);
    }
    let merged = sqlx::query("SELECT part_count, link_count, click_count FROM merge_parts($1, $2)")
        .bind(bands)
        .bind(PARTS_PER_STEP)
        .fetch_one(session)
        .await?;
    Ok(Some((
        merged.try_get(0)?,
        merged.try_get(1)?,
        merged.try_get(2)?,
    )))
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_have_each_click_in_a_band_of_its_link(
            dense in btree_map(1_i64..4_000, 1_u64..5, 0..600),
            sparse in btree_map(1_i64..=i64::MAX >> (LEVEL_BITS + 1), 1_u64..5, 0..100),
        ) {
            let clicks: std::collections::BTreeMap<_, _> = dense.into_iter().chain(sparse).collect();
            let clicks: Vec<_> = clicks.into_iter().map(|(link, clicks)| (LinkId::parse(link).unwrap(), clicks)).collect();
            let parts = Parts::of(&clicks);
            let (mut found, mut begin) = (Vec::new(), 0);
            for (band, end) in parts.bands.iter().zip(&parts.ends) {
                let (level, first, end) = (band & 31, band >> LEVEL_BITS, usize::try_from(*end).unwrap());
                prop_assert!(LEVELS.contains(&u32::try_from(level).unwrap()) && end - begin <= LINKS_PER_PART && end > begin);
                for place in begin..end {
                    let link = first + i64::from(parts.links[place]);
                    prop_assert_eq!(link >> level << level, first);
                    found.push((LinkId::parse(link).unwrap(), parts.clicks[place].unsigned_abs()));
                }
                begin = end;
            }
            prop_assert_eq!(found, clicks);
        }

        #[test]
        fn few_links_make_few_parts(links in proptest::collection::btree_set(1_i64..1_000_000_000, 1..1_000)) {
            let clicks: Vec<_> = links.iter().map(|link| (LinkId::parse(*link).unwrap(), 1)).collect();
            // A band that is cut has more than 128 links, and becomes eight at most.
            prop_assert!(Parts::of(&clicks).bands.len() <= 1 + clicks.len() / 16);
        }
    }
}
