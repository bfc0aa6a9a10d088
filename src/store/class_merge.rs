//! Adds sums of classes to the days that they belong to, as far as there is room; the part that both databases have in common.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::class_day::{ClassDay, PackedDay};
use super::class_packing::{Count, parse_quarters};
use super::detail_room::Room;
use super::details::{MAX_REFERRERS_OF_LINK, MAX_REFERRERS_OF_OWNER};
use super::summing::{ClassIds, ClassesById, DayOf, Days, Owners, Referrers, Sum, Sums, set};
use crate::domain::{ClickClass, Dimension};

/// What has to be known of a database before classes are added.
#[async_trait]
pub(super) trait ClassReader: Send {
    /// The rows of these days.
    async fn days(&mut self, days: Vec<DayOf>) -> Result<Vec<(DayOf, PackedDay)>, sqlx::Error>;

    /// The numbers of those classes that have one.
    async fn known_ids(&mut self, classes: &[Arc<ClickClass>]) -> Result<ClassIds, sqlx::Error>;

    /// Gives a number to classes that have none, as far as there is room.
    async fn new_ids(&mut self, classes: &[Arc<ClickClass>]) -> Result<ClassIds, sqlx::Error>;

    /// The classes with these numbers.
    async fn classes(&mut self, ids: Vec<i32>) -> Result<ClassesById, sqlx::Error>;

    /// Takes out what is remembered of the referrers of an account on a day, to which some are added.
    fn remembered(&mut self, _day: DayOf) -> Option<HashSet<String>> {
        None
    }

    /// What is known of accounts now, once referrers were added: a reader may remember it for the next time.
    fn remember(&mut self, _of_owners: Referrers) {}

    /// The last day, in their order, of which only the whole is kept.
    async fn pruned(&mut self) -> Result<DayOf, sqlx::Error>;

    /// How many classes of quarters were new on each day, by its first interval.
    async fn growth(&mut self) -> Result<Vec<(i32, i64)>, sqlx::Error>;
}

/// Days as they are to be written.
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
    reader: &mut dyn ClassReader,
    sums: Sums,
    owners: &Owners,
    rows_per_day: u64,
) -> Result<Merged, sqlx::Error> {
    let mut days = sums.days();
    read_days(reader, &mut days).await?;
    let asked = sums.classes();
    let mut ids = reader.known_ids(&asked).await?;
    let sums = bound_referrers(reader, sums, &ids, owners, &days).await?;
    let mut unknown = without_id(sums.classes(), &ids);
    // Those with other referrers than before.
    let mut changed = unknown.clone();
    changed.retain(|class| asked.binary_search(class).is_err());
    if !changed.is_empty() {
        ids.extend(reader.known_ids(&changed).await?);
        unknown = without_id(unknown, &ids);
    }
    if !unknown.is_empty() {
        ids.extend(reader.new_ids(&unknown).await?);
    }
    let growth = reader.growth().await?;
    let mut room = Room::new(&days, growth, rows_per_day);
    let (sums, unclassified) = sums.fitted(&ids, &mut room);
    let growth = room.new_rows();
    for of_day in sums.by_day() {
        if let Some(day) = days.get_mut(of_day[0].day()) {
            day.add(&Sums::additions(of_day, &ids));
        }
    }
    let pruned = reader.pruned().await?;
    let (mut days, mut left) = (days.into_all(), Vec::new());
    days.retain(|(_, day)| *day != ClassDay::default());
    for (key, day) in &mut days {
        if *key <= pruned {
            day.end_all();
        } else if let Some(quarters) = day.take_ended() {
            left.push((*key, quarters));
        }
    }
    Ok(Merged {
        days,
        left,
        growth,
        unclassified,
        sums,
        ids,
    })
}

fn without_id(mut classes: Vec<Arc<ClickClass>>, ids: &ClassIds) -> Vec<Arc<ClickClass>> {
    classes.retain(|class| !ids.contains_key(class));
    classes
}

/// Names only as many referrers as a link, and an account, has room for on a day. A day with few classes has few referrers. Classes that
/// have no number yet, which are what fills the database, need room among the referrers of the owner, too.
async fn bound_referrers(
    reader: &mut dyn ClassReader,
    sums: Sums,
    ids: &ClassIds,
    owners: &Owners,
    days: &Days,
) -> Result<Sums, sqlx::Error> {
    // The day of the owner, if the class is new.
    let with_new = |sum: &Sum| -> Option<DayOf> {
        let is_new =
            !ids.contains_key(&sum.class) && sum.class.value(Dimension::Referrer).is_some();
        let owner = owners.of(sum.whose).filter(|_| is_new)?;
        Some((sum.day().0, -owner))
    };
    let (mut referrers, mut of_owners) = (Referrers::new(), Vec::new());
    for of_day in sums.by_day() {
        let day = of_day[0].day();
        if let Some(classes) = classes_if_full(days.get(day), of_day, ids) {
            referrers.insert(day, referrers_of(reader, classes).await?);
        }
        of_owners.extend(of_day.iter().filter_map(with_new));
    }
    if referrers.is_empty() && of_owners.is_empty() {
        return Ok(sums);
    }
    for day in &of_owners {
        if let Some(known) = reader.remembered(*day) {
            referrers.insert(*day, known);
        }
    }
    let is_of_links = !of_owners.is_empty();
    of_owners.retain(|day| !referrers.contains_key(day));
    let mut unknown = Days::new(of_owners);
    read_days(reader, &mut unknown).await?;
    for (day, known) in unknown.into_all() {
        referrers.insert(day, referrers_of(reader, known.classes()).await?);
    }
    let sums = sums.map_classes(&mut |sum| {
        let referrer = sum.class.value(Dimension::Referrer);
        let referrer = referrer.filter(|referrer| *referrer != Dimension::OTHER)?;
        let days = [Some(sum.day()), with_new(sum)];
        let has_room = days.into_iter().flatten().all(|day| {
            let known = referrers.get_mut(&day);
            known.is_none_or(|known| is_named(known, referrer, max_referrers(day)))
        });
        let other = || sum.class.with(Dimension::Referrer, Some(Dimension::OTHER));
        (!has_room).then(|| Arc::new(other()))
    });
    if is_of_links {
        referrers.retain(|(_, whose), _| *whose < 0);
        reader.remember(referrers);
    }
    Ok(sums)
}

/// The classes of a day, if there may be too many referrers with the added classes.
fn classes_if_full(known: Option<&ClassDay>, added: &[Sum], ids: &ClassIds) -> Option<Vec<i32>> {
    let max = max_referrers(added.first()?.day());
    let count = known.map_or(0, ClassDay::most_classes);
    if count + added.len() <= max {
        return None;
    }
    let distinct = set(added.iter().map(|sum| Arc::clone(&sum.class)).collect());
    if count + distinct.len() <= max {
        return None;
    }
    let known = known.map(ClassDay::classes).unwrap_or_default();
    let is_known = |class| {
        let id = ids.get(class);
        id.is_some_and(|id| known.binary_search(id).is_ok())
    };
    (!distinct.iter().all(is_known)).then_some(known)
}

fn max_referrers((_, whose): DayOf) -> usize {
    if whose < 0 {
        MAX_REFERRERS_OF_OWNER
    } else {
        MAX_REFERRERS_OF_LINK
    }
}

/// Whether a referrer is known, or is added because there is room.
fn is_named(known: &mut HashSet<String>, referrer: &str, max: usize) -> bool {
    known.contains(referrer) || known.len() < max && known.insert(referrer.to_owned())
}

/// The referrers of some classes that are a host.
async fn referrers_of(
    reader: &mut dyn ClassReader,
    classes: Vec<i32>,
) -> Result<HashSet<String>, sqlx::Error> {
    let mut hosts = HashSet::new();
    if !classes.is_empty() {
        for class in reader.classes(classes).await?.values() {
            let referrer = class.value(Dimension::Referrer);
            hosts.extend(
                referrer
                    .filter(|referrer| *referrer != Dimension::OTHER)
                    .map(str::to_owned),
            );
        }
    }
    Ok(hosts)
}

/// Subtracts the days of deleted links from the days of their owners, which are read; `left` are the quarters that have left the former.
pub(super) fn subtract(
    days: &mut Days,
    owners: &Owners,
    gone: &[(DayOf, ClassDay)],
    left: &[(DayOf, Vec<u8>)],
) -> Result<(), sqlx::Error> {
    for ((day, link), of_link) in gone {
        let mut quarters: Option<Vec<Count>> = None;
        for (_, packed) in left.iter().filter(|(left, _)| *left == (*day, *link)) {
            let parsed = parse_quarters(packed)
                .ok_or_else(|| sqlx::Error::Decode("quarters of a day are invalid".into()))?;
            quarters.get_or_insert_default().extend(parsed);
        }
        let of_owner = owners.of(*link).map(|owner| (*day, -owner));
        if let Some(of_owner) = of_owner.and_then(|day| days.get_mut(day)) {
            of_owner.subtract(of_link, quarters.as_deref());
        }
    }
    Ok(())
}

/// Mends days of accounts from which deleted links were subtracted: clicks that have another class in the sums of the account, for want of
/// room, are subtracted from that class. Nothing that was merged is still to be added to these days.
pub(super) async fn make_up(
    reader: &mut dyn ClassReader,
    days: &mut Days,
) -> Result<(), sqlx::Error> {
    let mut overdrawn = Vec::new();
    for (_, day) in days.all_mut() {
        overdrawn.extend(day.overdrawn().iter().map(|count| count.class));
    }
    if overdrawn.is_empty() {
        return Ok(());
    }
    overdrawn.sort_unstable();
    overdrawn.dedup();
    let classes = reader.classes(overdrawn).await?;
    // What a class becomes for want of room, in this order.
    let others = |class: &ClickClass| {
        let other = class.with(Dimension::Referrer, Some(Dimension::OTHER));
        [other, class.bot_flag_only()].map(Arc::new)
    };
    let asked = classes.values().flat_map(|class| others(class)).collect();
    let ids = reader.known_ids(&set(asked)).await?;
    for (_, day) in days.all_mut() {
        day.make_up(&|class| {
            let others = classes.get(&class).map(|class| others(class));
            let others = others.iter().flatten();
            others.filter_map(|other| ids.get(other).copied()).collect()
        });
    }
    Ok(())
}

/// Reads the rows that there are of these days.
pub(super) async fn read_days(
    reader: &mut dyn ClassReader,
    days: &mut Days,
) -> Result<(), sqlx::Error> {
    let asked = days.keys();
    if !asked.is_empty() {
        for (day, packed) in reader.days(asked).await? {
            days.set(day, parsed(&packed));
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
