//! Clicks on their way into a batch: summed by link, and kept while no sink takes them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::domain::{Click, ClickClass, Interval, LinkId, UserId};
use crate::store::{ClickBatch, ClickDetails, DetailedClicks, LinkClicks};
use crate::telemetry::metrics::CLASSES_UNKNOWN;

/// Classes of links that are kept in memory for one recorder. Past it the clicks are kept without their class.
const MAX_DETAILS: usize = 50_000;

/// A click of a link.
#[derive(Debug)]
pub(super) struct RecordedClick {
    pub(super) link: LinkId,
    pub(super) owner: UserId,
    /// Its class, if it has one.
    pub(super) class: Option<Arc<ClickClass>>,
}

impl RecordedClick {
    pub(super) fn of(click: Click, class: Option<Arc<ClickClass>>) -> Self {
        Self {
            link: click.link(),
            owner: click.owner(),
            class,
        }
    }

    /// The same click, for the alias by which the link was followed.
    pub(super) fn of_alias(alias: LinkId) -> Self {
        Self {
            link: alias,
            owner: UserId::NOBODY,
            class: None,
        }
    }
}

/// The clicks of a batch.
#[derive(Default)]
pub(super) struct GatheredClicks {
    /// One entry per click.
    pub(super) clicks: Vec<RecordedClick>,
    /// The oldest version of the cache at which the link of a click was looked up. The clicks may be counted while it is still
    /// the version. `None` if they may be at any.
    pub(super) version: Option<u64>,
    /// Whether a click is among them that has to be counted, whatever changed.
    has_unconditional: bool,
}

impl GatheredClicks {
    /// Adds a click whose link was looked up at a version, or that has to be counted at any.
    pub(super) fn add(&mut self, click: RecordedClick, version: Option<u64>) {
        self.clicks.push(click);
        self.has_unconditional |= version.is_none();
        self.version = if self.has_unconditional {
            None
        } else {
            self.version.into_iter().chain(version).min()
        };
    }
}

/// Clicks that no sink has taken yet, by interval. There is one entry per link, so their number is bounded by that of the links
/// in each interval.
#[derive(Default)]
pub(super) struct Buffered {
    intervals: BTreeMap<Interval, HashMap<LinkId, OfLink, RandomState>>,
    /// How many classes the links have in all.
    details: usize,
}

/// A part of what is kept, by rising link.
pub(super) struct TakenOut {
    pub(super) interval: Interval,
    pub(super) clicks: Vec<LinkClicks>,
    pub(super) details: ClickDetails,
}

struct OfLink {
    owner: UserId,
    clicks: u64,
    classes: HashMap<Arc<ClickClass>, u64, RandomState>,
}

impl OfLink {
    fn of(owner: UserId) -> Self {
        Self {
            owner,
            clicks: 0,
            classes: HashMap::default(),
        }
    }
}

impl Buffered {
    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    pub(super) fn add(&mut self, batch: &ClickBatch) {
        let of_interval = self.intervals.entry(batch.interval).or_default();
        for part in &batch.clicks {
            let of_link = of_interval.entry(part.link);
            of_link.or_insert_with(|| OfLink::of(part.owner)).clicks += part.clicks;
        }
        let mut unclassified = 0;
        for part in batch.details.of_links() {
            // Classes of other links would be of no click.
            let Some(of_link) = of_interval.get_mut(&part.link) else {
                continue;
            };
            let classes = &mut of_link.classes;
            match classes.get_mut(&part.class) {
                Some(clicks) => *clicks += part.clicks,
                None if self.details >= MAX_DETAILS => unclassified += part.clicks,
                None => {
                    classes.insert(Arc::clone(&part.class), part.clicks);
                    self.details += 1;
                }
            }
        }
        if unclassified > 0 {
            metrics::counter!(CLASSES_UNKNOWN, "reason" => "memory").increment(unclassified);
        }
    }

    /// Takes out up to `limit` links of the oldest interval; `None` if there is nothing.
    pub(super) fn take_oldest(&mut self, limit: usize) -> Option<TakenOut> {
        let mut oldest = self.intervals.first_entry()?;
        let (interval, of_interval) = (*oldest.key(), oldest.get_mut());
        let mut links: Vec<_> = of_interval.keys().copied().take(limit).collect();
        links.sort_unstable();
        let (mut clicks, mut details) = (Vec::with_capacity(links.len()), Vec::new());
        for link in links {
            let Some(of_link) = of_interval.remove(&link) else {
                continue;
            };
            clicks.push(LinkClicks {
                link,
                owner: of_link.owner,
                clicks: of_link.clicks,
            });
            self.details -= of_link.classes.len();
            let classes = of_link.classes.into_iter();
            details.extend(classes.map(|(class, clicks)| DetailedClicks {
                link,
                class,
                clicks,
            }));
        }
        if of_interval.is_empty() {
            oldest.remove();
        }
        Some(TakenOut {
            interval,
            clicks,
            details: ClickDetails::new(details),
        })
    }
}

/// Clicks per link, and per link and class, by rising link.
pub(super) fn sum_by_link(mut clicks: Vec<RecordedClick>) -> (Vec<LinkClicks>, ClickDetails) {
    // By the place of the class in memory: a worker has each class once, or nearly so.
    let place = |class: &Option<Arc<ClickClass>>| {
        class.as_ref().map_or(0, |class| Arc::as_ptr(class).addr())
    };
    clicks.sort_unstable_by_key(|click| (click.link, place(&click.class)));
    let of_links = clicks.chunk_by(|one, other| one.link == other.link);
    let of_links = of_links.map(|same| LinkClicks {
        link: same[0].link,
        owner: same[0].owner,
        clicks: same.len() as u64,
    });
    let of_links = of_links.collect();
    let of_classes = clicks
        .chunk_by(|one, other| one.link == other.link && place(&one.class) == place(&other.class));
    let of_classes = of_classes.filter_map(|same| {
        let RecordedClick { link, class, .. } = &same[0];
        Some(DetailedClicks {
            link: *link,
            class: Arc::clone(class.as_ref()?),
            clicks: same.len() as u64,
        })
    });
    (of_links, ClickDetails::new(of_classes.collect()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Dimension;

    fn classes() -> [Option<Arc<ClickClass>>; 3] {
        let class = |browser| ClickClass::unknown().with(Dimension::Browser, Some(browser));
        [
            None,
            Some(Arc::new(class("Firefox"))),
            Some(Arc::new(class("Chrome"))),
        ]
    }

    fn recorded() -> impl Strategy<Value = Vec<RecordedClick>> {
        let classes = classes();
        let click = (1_i64..20, 0_usize..3);
        proptest::collection::vec(click, 0..200).prop_map(move |clicks| {
            let click = |(id, class): (i64, usize)| RecordedClick {
                link: LinkId::parse(id).unwrap(),
                owner: UserId(id % 3 + 1),
                class: classes[class].clone(),
            };
            clicks.into_iter().map(click).collect()
        })
    }

    proptest! {
        #[test]
        fn a_batch_has_each_link_once_by_rising_id_and_loses_no_click(recorded in recorded()) {
            let with_class = recorded.iter().filter(|click| click.class.is_some()).count();
            let clicks = recorded.len() as u64;
            let (batch, details) = sum_by_link(recorded);
            prop_assert!(batch.windows(2).all(|pair| pair[0].link < pair[1].link));
            prop_assert_eq!(LinkClicks::total(&batch), clicks);
            prop_assert!(batch.iter().all(|part| part.owner.0 == part.link.number() % 3 + 1));
            let detailed: u64 = details.of_links().iter().map(|part| part.clicks).sum();
            prop_assert_eq!(detailed, with_class as u64);
        }

        #[test]
        fn what_is_kept_in_memory_is_taken_out_whole(batches in proptest::collection::vec((1_i64..4, recorded()), 0..5)) {
            let (mut buffered, mut kept, mut detailed) = (Buffered::default(), 0, 0);
            let of_parts = |details: &ClickDetails| details.of_links().iter().map(|part| part.clicks).sum::<u64>();
            for (interval, recorded) in batches {
                let (clicks, details) = sum_by_link(recorded);
                kept += LinkClicks::total(&clicks);
                detailed += of_parts(&details);
                let interval = Interval::from_number(interval);
                buffered.add(&ClickBatch { recorder: 1, number: 1, interval, clicks, details });
            }
            while let Some(TakenOut { clicks, details, .. }) = buffered.take_oldest(3) {
                kept -= LinkClicks::total(&clicks);
                prop_assert!(clicks.iter().all(|part| part.owner.0 == part.link.number() % 3 + 1));
                detailed -= of_parts(&details);
            }
            prop_assert_eq!((kept, detailed, buffered.details), (0, 0, 0));
            prop_assert!(buffered.is_empty());
        }
    }
}
