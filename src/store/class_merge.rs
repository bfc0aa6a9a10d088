//! Adds sums of classes to the days that they belong to, as far as there is room; the part that both databases have in common.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::class_day::{ClassDay, PackedDay};
use super::detail_room::Room;
use super::details::{MAX_REFERRERS_OF_LINK, MAX_REFERRERS_OF_OWNER};
use super::summing::{ClassIds, ClassesById, DayOf, Days, Referrers, Sums};
use crate::domain::{ClickClass, Dimension};

/// What has to be known of a database before classes are added.
pub(super) trait ClassReader {
    /// The rows of these days.
    async fn days(
        &mut self,
        days: &BTreeSet<DayOf>,
    ) -> Result<Vec<(DayOf, PackedDay)>, sqlx::Error>;

    /// The numbers of those classes that have one.
    async fn known_ids(
        &mut self,
        classes: &BTreeSet<Arc<ClickClass>>,
    ) -> Result<ClassIds, sqlx::Error>;

    /// Gives a number to classes that have none, as far as there is room.
    async fn new_ids(
        &mut self,
        classes: &BTreeSet<Arc<ClickClass>>,
    ) -> Result<ClassIds, sqlx::Error>;

    /// The classes with these numbers.
    async fn classes(&mut self, ids: BTreeSet<i32>) -> Result<ClassesById, sqlx::Error>;

    /// The referrers of these accounts on these days. A reader may remember them, with what is added, for the next time.
    async fn referrers_of_owners(
        &mut self,
        days: &BTreeSet<DayOf>,
    ) -> Result<Referrers, sqlx::Error> {
        let mut known = Days::new();
        read_days(self, days, &mut known).await?;
        let mut referrers = Referrers::new();
        for day in days {
            let classes = known.get(day).map(ClassDay::classes).unwrap_or_default();
            referrers.insert(*day, referrers_of(self, classes).await?);
        }
        Ok(referrers)
    }

    /// What is known of accounts now, once referrers were added.
    fn remember(&mut self, _of_owners: Referrers) {}

    /// The last day, in their order, of which only the whole is kept.
    async fn pruned(&mut self) -> Result<DayOf, sqlx::Error>;

    /// How many classes of quarters were new on each day, by its first interval.
    async fn growth(&mut self) -> Result<Vec<(i32, i64)>, sqlx::Error>;
}

/// Days as they are to be written.
#[derive(Default)]
pub(super) struct Merged {
    /// The days, in rising order.
    pub(super) days: Vec<(DayOf, ClassDay)>,
    /// Quarters that leave the row of their day, packed.
    pub(super) left: Vec<(DayOf, Vec<u8>)>,
    /// How many classes of quarters are new on each day.
    pub(super) growth: Vec<(i32, i64)>,
    /// Clicks for whose class there was no room.
    pub(super) unclassified: u64,
    /// What was added, and the numbers of the classes in it.
    pub(super) sums: Sums,
    pub(super) ids: ClassIds,
}

/// Adds sums to their days. If they are sums of links, `owners` has the owners of these links.
pub(super) async fn merge(
    reader: &mut impl ClassReader,
    sums: Sums,
    owners: &HashMap<i64, i64>,
    rows_per_day: u64,
) -> Result<Merged, sqlx::Error> {
    let mut days = Days::new();
    let asked = sums.days();
    read_days(reader, &asked, &mut days).await?;
    let classes = sums.classes();
    let mut ids = reader.known_ids(&classes).await?;
    let sums = bound_referrers(reader, sums, &ids, owners, &days).await?;
    let unknown = |classes: BTreeSet<Arc<ClickClass>>, ids: &ClassIds| -> BTreeSet<_> {
        let unknown = |class: &Arc<ClickClass>| !ids.contains_key(class);
        classes.into_iter().filter(unknown).collect()
    };
    let mut without_id = unknown(sums.classes(), &ids);
    // Those with other referrers than before.
    let changed: BTreeSet<_> = without_id.difference(&classes).cloned().collect();
    if !changed.is_empty() {
        ids.extend(reader.known_ids(&changed).await?);
        without_id = unknown(without_id, &ids);
    }
    if !without_id.is_empty() {
        ids.extend(reader.new_ids(&without_id).await?);
    }
    let growth = reader.growth().await?;
    let mut room = Room::new(&days, growth, rows_per_day);
    let (sums, unclassified) = sums.fitted(&ids, &mut room);
    let growth = room.new_rows();
    for (day, addition) in sums.additions(&ids) {
        days.entry(day).or_default().add(&addition);
    }
    let mut merged = Merged {
        growth,
        unclassified,
        sums,
        ids,
        ..Merged::default()
    };
    let pruned = reader.pruned().await?;
    for key in asked {
        if let Some(mut day) = days.remove(&key) {
            if key <= pruned {
                day.end_all();
            } else if let Some(quarters) = day.take_ended() {
                merged.left.push((key, quarters));
            }
            merged.days.push((key, day));
        }
    }
    Ok(merged)
}

/// Names only as many referrers as a link, and an account, has room for on a day. A day with few classes has few referrers. Classes that
/// have no number yet, which are what fills the database, need room among the referrers of the owner, too.
async fn bound_referrers(
    reader: &mut impl ClassReader,
    sums: Sums,
    ids: &ClassIds,
    owners: &HashMap<i64, i64>,
    days: &Days,
) -> Result<Sums, sqlx::Error> {
    let is_new = |class: &Arc<ClickClass>| {
        !ids.contains_key(class) && class.value(Dimension::Referrer).is_some()
    };
    let (mut full, mut with_new) = (BTreeSet::new(), BTreeSet::new());
    for (day, classes) in sums.classes_by_day() {
        let known = days.get(&day).map_or(0, ClassDay::most_classes);
        let max = if day.1 < 0 {
            MAX_REFERRERS_OF_OWNER
        } else {
            MAX_REFERRERS_OF_LINK
        };
        let is_known = |class: &&Arc<ClickClass>| {
            let id = ids.get(*class);
            id.is_some_and(|id| days.get(&day).is_some_and(|known| known.has(*id)))
        };
        if known + classes.len() > max && !classes.iter().all(is_known) {
            full.insert(day);
        }
        if classes.into_iter().any(is_new)
            && let Some(owner) = owners.get(&day.1)
        {
            with_new.insert((day.0, -owner));
        }
    }
    if full.is_empty() && with_new.is_empty() {
        return Ok(sums);
    }
    let mut referrers = reader.referrers_of_owners(&with_new).await?;
    for day in full {
        let classes = days.get(&day).map(ClassDay::classes).unwrap_or_default();
        referrers.insert(day, referrers_of(reader, classes).await?);
    }
    let sums = sums.bound(&mut referrers, |day, class| {
        let owner = owners.get(&day.1).filter(|_| is_new(class));
        [day]
            .into_iter()
            .chain(owner.map(|owner| (day.0, -owner)))
            .collect()
    });
    referrers.retain(|day, _| with_new.contains(day));
    reader.remember(referrers);
    Ok(sums)
}

/// The referrers of some classes that are a host.
pub(super) async fn referrers_of(
    reader: &mut (impl ClassReader + ?Sized),
    classes: BTreeSet<i32>,
) -> Result<HashSet<String>, sqlx::Error> {
    if classes.is_empty() {
        return Ok(HashSet::new());
    }
    let classes = reader.classes(classes).await?;
    let referrers = classes
        .values()
        .filter_map(|class| class.value(Dimension::Referrer));
    let hosts = referrers.filter(|referrer| *referrer != Dimension::OTHER);
    Ok(hosts.map(str::to_owned).collect())
}

/// Mends days of accounts from which deleted links were subtracted: clicks that have another class in the sums of the account, for want of
/// room, are subtracted from that class. Nothing that was merged is still to be added to these days.
pub(super) async fn make_up(
    reader: &mut impl ClassReader,
    days: &mut Days,
) -> Result<(), sqlx::Error> {
    let overdrawn = |day: &ClassDay| day.overdrawn().into_iter().map(|(class, _)| class);
    let overdrawn: BTreeSet<i32> = days.values().flat_map(overdrawn).collect();
    if overdrawn.is_empty() {
        return Ok(());
    }
    let classes = reader.classes(overdrawn).await?;
    // What a class becomes for want of room, in this order.
    let others = |class: &ClickClass| {
        let other = class.with(Dimension::Referrer, Some(Dimension::OTHER));
        [other, class.bot_flag_only()].map(Arc::new)
    };
    let asked = classes.values().flat_map(|class| others(class)).collect();
    let ids = reader.known_ids(&asked).await?;
    for day in days.values_mut() {
        for (class, clicks) in day.overdrawn() {
            let others = classes.get(&class).map(|class| others(class));
            let ids = others.iter().flatten().filter_map(|other| ids.get(other));
            let mut with_so_many = ids.filter(|id| day.total(**id) >= clicks);
            if let Some(other) = with_so_many.next() {
                day.make_up(class, *other, clicks);
            }
        }
    }
    Ok(())
}

/// Adds the days that there are.
pub(super) async fn read_days(
    reader: &mut (impl ClassReader + ?Sized),
    asked: &BTreeSet<DayOf>,
    days: &mut Days,
) -> Result<(), sqlx::Error> {
    if !asked.is_empty() {
        for (day, packed) in reader.days(asked).await? {
            days.insert(day, parsed(&packed));
        }
    }
    Ok(())
}

/// A day as it was packed; a new one if that is invalid.
pub(super) fn parsed(packed: &PackedDay) -> ClassDay {
    ClassDay::parse(packed).unwrap_or_else(|| {
        tracing::error!("a day of visitor classes is invalid and begins anew");
        ClassDay::begun_anew()
    })
}
