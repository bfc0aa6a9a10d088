//! Sums the classes of counted clicks; the part that both databases have in common.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::details::{MAX_REFERRERS_OF_LINK, MAX_REFERRERS_OF_OWNER, day_of};
use super::rows::signed;
use super::{ClickDetails, DetailedClicks};
use crate::domain::{ClickClass, Dimension, LinkId};

/// Classes of a batch or a part of a flush, as they wait.
pub(super) struct WaitingClasses {
    pub(super) interval: i32,
    pub(super) details: ClickDetails,
    /// The clicks that were counted of each link, where these may be fewer.
    pub(super) limits: Option<Vec<(LinkId, u64)>>,
}

/// Clicks of a link in a quarter of an hour, by their class.
pub(super) type OfClass = (LinkId, i32, Arc<ClickClass>);

/// Whose day it is: an id, and its first quarter of an hour.
pub(super) type DayOf = (i64, i32);

/// The referrers that links or accounts have on some days.
pub(super) type Referrers = HashMap<DayOf, HashSet<String>>;

/// Clicks per link, quarter of an hour and class.
#[derive(Default)]
pub(super) struct Sums(BTreeMap<(LinkId, i32), HashMap<Arc<ClickClass>, u64, RandomState>>);

/// Rows to be added to a table: keys, times, classes, clicks.
#[derive(Default)]
pub(super) struct Added {
    pub(super) keys: Vec<i64>,
    pub(super) times: Vec<i32>,
    pub(super) classes: Vec<i32>,
    pub(super) clicks: Vec<i64>,
}

/// What is added to each of the tables. Rows are in the order of their keys.
#[derive(Default)]
pub(super) struct AddedToAll {
    pub(super) links: Added,
    pub(super) link_days: Added,
    pub(super) owners: Added,
    pub(super) owner_days: Added,
    /// Without classes.
    pub(super) bots: Added,
}

impl Sums {
    pub(super) fn of(waiting: impl IntoIterator<Item = WaitingClasses>) -> Self {
        let mut sums = Self::default();
        for WaitingClasses {
            interval,
            details,
            limits,
        } in waiting
        {
            let details = match limits {
                Some(limits) => details.fitted_to(&limits),
                None => details,
            };
            for DetailedClicks {
                link,
                class,
                clicks,
            } in details.of_links()
            {
                sums.add((*link, interval, Arc::clone(class)), *clicks);
            }
        }
        sums
    }

    pub(super) fn of_classes(classes: impl IntoIterator<Item = (OfClass, u64)>) -> Self {
        let mut sums = Self::default();
        for (of_class, clicks) in classes {
            sums.add(of_class, clicks);
        }
        sums
    }

    fn add(&mut self, (link, interval, class): OfClass, clicks: u64) {
        let of_link = self.0.entry((link, interval)).or_default();
        let sum = of_link.entry(class).or_default();
        *sum = sum.saturating_add(clicks);
    }

    pub(super) fn links(&self) -> Vec<i64> {
        let links: BTreeSet<_> = self.0.keys().map(|(link, _)| link.number()).collect();
        links.into_iter().collect()
    }

    /// The days of links, and of accounts, that get clicks with a referrer.
    pub(super) fn days_with_referrers(
        &self,
        owners: &HashMap<i64, i64>,
    ) -> (BTreeSet<DayOf>, BTreeSet<DayOf>) {
        let (mut of_links, mut of_owners) = (BTreeSet::new(), BTreeSet::new());
        for ((link, interval), classes) in &self.0 {
            if let Some(owner) = owners.get(&link.number())
                && has_referrer(classes)
            {
                of_links.insert((link.number(), day_of(*interval)));
                of_owners.insert((*owner, day_of(*interval)));
            }
        }
        (of_links, of_owners)
    }

    /// Leaves out the links without an owner, which are deleted, and names only as many referrers as there is room for beside
    /// the known referrers, to which it adds.
    pub(super) fn bound(
        mut self,
        owners: &HashMap<i64, i64>,
        of_links: &mut Referrers,
        of_owners: &mut Referrers,
    ) -> Self {
        self.0
            .retain(|(link, _), _| owners.contains_key(&link.number()));
        if !self.0.values().any(has_referrer) {
            return self;
        }
        self.map_classes(|link, interval, class, _| {
            let (link, day) = (link.number(), day_of(interval));
            let (Some(referrer), Some(owner)) =
                (class.value(Dimension::Referrer), owners.get(&link))
            else {
                return class;
            };
            let of_link = of_links.entry((link, day)).or_default();
            let of_owner = of_owners.entry((*owner, day)).or_default();
            if named(of_link, referrer, MAX_REFERRERS_OF_LINK)
                && named(of_owner, referrer, MAX_REFERRERS_OF_OWNER)
            {
                return class;
            }
            let other = Some(Dimension::OTHER);
            Arc::new(class.with(Dimension::Referrer, other))
        })
    }

    /// Sums by other classes, which are chosen by the link, the interval, the class and its clicks. Of a link and interval, those with
    /// most clicks come first, and so get room first.
    pub(super) fn map_classes(
        self,
        mut chosen: impl FnMut(LinkId, i32, Arc<ClickClass>, u64) -> Arc<ClickClass>,
    ) -> Self {
        let mut mapped = Self::default();
        for ((link, interval), classes) in self.0 {
            let mut classes: Vec<_> = classes.into_iter().collect();
            classes.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
            let sums = mapped.0.entry((link, interval)).or_default();
            for (class, clicks) in classes {
                *sums
                    .entry(chosen(link, interval, class, clicks))
                    .or_default() += clicks;
            }
        }
        mapped
    }

    /// The classes, and those that clicks get for whose class there is no room.
    pub(super) fn classes(&self) -> BTreeSet<Arc<ClickClass>> {
        let classes: BTreeSet<_> = self.0.values().flat_map(HashMap::keys).cloned().collect();
        let bot_flags: BTreeSet<_> = classes
            .iter()
            .map(|class| Arc::new(class.bot_flag_only()))
            .collect();
        classes.into_iter().chain(bot_flags).collect()
    }

    /// The rows of all tables; `ids` has the number of each class.
    pub(super) fn rows(
        &self,
        owners: &HashMap<i64, i64>,
        ids: &HashMap<ClickClass, i32>,
    ) -> AddedToAll {
        let mut tables: [BTreeMap<(i64, i32, i32), u64>; 5] = Default::default();
        for ((link, interval), classes) in &self.0 {
            let (link, day) = (link.number(), day_of(*interval));
            let Some(owner) = owners.get(&link) else {
                continue;
            };
            for (class, clicks) in classes {
                let Some(id) = ids.get(&**class) else {
                    continue;
                };
                let mut add = |table: usize, key| *tables[table].entry(key).or_default() += clicks;
                add(0, (link, *interval, *id));
                add(1, (link, day, *id));
                add(2, (*owner, *interval, *id));
                add(3, (*owner, day, *id));
                if class.is_bot() {
                    add(4, (link, *interval, 0));
                }
            }
        }
        let [links, link_days, owners, owner_days, bots] = tables.map(Added::of);
        AddedToAll {
            links,
            link_days,
            owners,
            owner_days,
            bots,
        }
    }
}

impl Added {
    fn of(rows: BTreeMap<(i64, i32, i32), u64>) -> Self {
        let mut added = Self::default();
        for ((key, time, class), clicks) in rows {
            added.keys.push(key);
            added.times.push(time);
            added.classes.push(class);
            added.clicks.push(signed(clicks));
        }
        added
    }
}

fn has_referrer(classes: &HashMap<Arc<ClickClass>, u64, RandomState>) -> bool {
    let mut classes = classes.keys();
    classes.any(|class| class.value(Dimension::Referrer).is_some())
}

/// Whether a referrer is among those that are known, where there may be so many.
fn named(known: &mut HashSet<String>, referrer: &str, max: usize) -> bool {
    if known.contains(referrer) {
        return true;
    }
    known.len() < max && known.insert(referrer.to_owned())
}

/// The values of a class, as the databases keep them: '' is not known.
pub(super) fn columns(class: &ClickClass) -> [String; 6] {
    Dimension::ALL.map(|dimension| class.value(dimension).unwrap_or_default().to_owned())
}

/// A class of the databases.
pub(super) fn class(values: [&str; 6]) -> ClickClass {
    ClickClass::of(values.map(Some))
}

/// Filters by dimension, as both databases take them: NULL lets every value through, '' those that are not known.
pub(super) fn filters(filters: &[(Dimension, Option<String>)]) -> [Option<String>; 6] {
    Dimension::ALL.map(|dimension| {
        let mut of_dimension = filters
            .iter()
            .filter(|(filtered, _)| *filtered == dimension);
        let (_, value) = of_dimension.next_back()?;
        Some(value.clone().unwrap_or_default())
    })
}
