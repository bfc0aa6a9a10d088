//! The classes of clicks, and the packed form in which they travel with their batch.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::LinkClicks;
use crate::domain::leb128::{put_number, take_number};
use crate::domain::{ClickClass, LinkId};

/// The first byte of the packed form. A reader that does not know it takes the classes for unknown.
const FORM: u8 = 1;

/// Clicks per link and class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClickDetails {
    /// By rising link; a link and class may come several times.
    of_links: Vec<DetailedClicks>,
}

/// Clicks of one link and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailedClicks {
    /// The link.
    pub link: LinkId,
    /// Their class.
    pub class: Arc<ClickClass>,
    /// How many there are, never 0.
    pub clicks: u64,
}

impl ClickDetails {
    /// Sorts them by link.
    #[must_use]
    pub fn new(mut of_links: Vec<DetailedClicks>) -> Self {
        of_links.retain(|part| part.clicks > 0);
        of_links.sort_by_key(|part| part.link);
        Self { of_links }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of_links.is_empty()
    }

    /// By rising link.
    #[must_use]
    pub fn of_links(&self) -> &[DetailedClicks] {
        &self.of_links
    }

    /// By rising link, as values.
    pub(super) fn into_links(self) -> Vec<DetailedClicks> {
        self.of_links
    }

    /// The same clicks with the class of which nothing is known.
    #[must_use]
    pub fn without_classes(&self) -> Self {
        let unknown = Arc::new(ClickClass::unknown());
        let of_links = self.of_links.chunk_by(|one, next| one.link == next.link);
        let of_links = of_links.map(|parts| DetailedClicks {
            link: parts[0].link,
            class: Arc::clone(&unknown),
            clicks: parts.iter().map(|part| part.clicks).sum(),
        });
        Self {
            of_links: of_links.collect(),
        }
    }

    /// Takes out those of the links after this one.
    #[must_use]
    pub fn split_after(&mut self, last: LinkId) -> Self {
        let rest = self.of_links.partition_point(|part| part.link <= last);
        Self {
            of_links: self.of_links.split_off(rest),
        }
    }

    /// Those of exactly these clicks, which are by rising link: what is above the clicks of a link is left out, and what is
    /// missing has the class of which nothing is known.
    #[must_use]
    pub fn fitted_to(&self, clicks: &[(LinkId, u64)]) -> Self {
        let unknown = Arc::new(ClickClass::unknown());
        let mut of_links = Vec::with_capacity(clicks.len());
        let first = clicks.first().map_or(LinkId::LAST, |(link, _)| *link);
        let from = self.of_links.partition_point(|part| part.link < first);
        let mut rest = self.of_links[from..].iter().peekable();
        for (link, clicks) in clicks {
            let mut left = *clicks;
            while let Some(part) = rest.next_if(|part| part.link <= *link) {
                if part.link < *link {
                    continue;
                }
                let clicks = part.clicks.min(left);
                left -= clicks;
                if clicks > 0 {
                    of_links.push(DetailedClicks {
                        clicks,
                        ..part.clone()
                    });
                }
            }
            if left > 0 {
                of_links.push(DetailedClicks {
                    link: *link,
                    class: Arc::clone(&unknown),
                    clicks: left,
                });
            }
        }
        Self { of_links }
    }

    /// The packed form: the classes, then the links, each with the number of its class and its clicks. Numbers are in LEB128.
    /// Empty where there are no clicks.
    #[must_use]
    pub fn packed(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut numbers = HashMap::<usize, u64, RandomState>::default();
        let (mut classes, mut links) = (Vec::new(), Vec::with_capacity(4 * self.of_links.len()));
        let mut before = 0;
        for part in &self.of_links {
            let next = numbers.len() as u64;
            let number = *numbers.entry(place(&part.class)).or_insert_with(|| {
                classes.extend_from_slice(part.class.packed());
                next
            });
            let link = part.link.number().unsigned_abs();
            put_number(&mut links, link - before);
            put_number(&mut links, number);
            put_number(&mut links, part.clicks);
            before = link;
        }
        let mut packed = Vec::with_capacity(1 + 10 + classes.len() + links.len());
        packed.push(FORM);
        put_number(&mut packed, numbers.len() as u64);
        packed.append(&mut classes);
        packed.append(&mut links);
        packed
    }

    /// Reads the packed form; `None` for bytes that are none.
    #[must_use]
    pub fn parse(packed: &[u8]) -> Option<Self> {
        KnownClasses::default().parse(packed)
    }
}

/// Sums of the details of many batches, which are added one by one, and taken out part by part: a million in one piece would keep
/// a core from redirects for long. All batches are read by way of the same [`KnownClasses`].
#[derive(Default)]
pub struct DetailSums(BTreeMap<(LinkId, KnownClass), u64>);

/// A class that is the same where it is at the same place in memory.
struct KnownClass(Arc<ClickClass>);

impl DetailSums {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a batch.
    pub fn add(&mut self, batch: ClickDetails) {
        for part in batch.of_links {
            let sum = self.0.entry((part.link, KnownClass(part.class)));
            let sum = sum.or_default();
            *sum = sum.saturating_add(part.clicks);
        }
    }

    /// Takes out the sums of all links up to the last of these, which are by rising link, [fitted](ClickDetails::fitted_to) to
    /// their clicks.
    #[must_use]
    pub fn take_fitted_to(&mut self, clicks: &[LinkClicks]) -> ClickDetails {
        let Some(LinkClicks { link: last, .. }) = clicks.last() else {
            return ClickDetails::default();
        };
        let mut of_links = Vec::with_capacity(clicks.len());
        while let Some(sum) = self.0.first_entry().filter(|sum| sum.key().0 <= *last) {
            let ((link, KnownClass(class)), clicks) = sum.remove_entry();
            of_links.push(DetailedClicks {
                link,
                class,
                clicks,
            });
        }
        let clicks: Vec<_> = clicks.iter().map(LinkClicks::of_link).collect();
        ClickDetails { of_links }.fitted_to(&clicks)
    }
}

impl Ord for KnownClass {
    fn cmp(&self, other: &Self) -> Ordering {
        place(&self.0).cmp(&place(&other.0))
    }
}

impl PartialOrd for KnownClass {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KnownClass {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for KnownClass {}

/// The place of a class in memory.
fn place(class: &Arc<ClickClass>) -> usize {
    Arc::as_ptr(class).addr()
}

/// The classes of several details, each once in memory.
#[derive(Default)]
pub struct KnownClasses(HashSet<Known, RandomState>);

/// Found by its packed form.
#[derive(PartialEq, Eq)]
struct Known(Arc<ClickClass>);

impl Borrow<[u8]> for Known {
    fn borrow(&self) -> &[u8] {
        self.0.packed()
    }
}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.packed().hash(state);
    }
}

impl KnownClasses {
    /// Reads the packed form of details; `None` for bytes that are none.
    #[must_use]
    pub fn parse(&mut self, packed: &[u8]) -> Option<ClickDetails> {
        let Some((form, mut rest)) = packed.split_first() else {
            return Some(ClickDetails::default());
        };
        if *form != FORM {
            return None;
        }
        let rest = &mut rest;
        let count = take_number(rest)?;
        let mut classes = Vec::new();
        for _ in 0..count {
            classes.push(self.class(ClickClass::take_packed(rest)?)?);
        }
        let (mut of_links, mut before) = (Vec::new(), 0_i64);
        while !rest.is_empty() {
            let step = i64::try_from(take_number(rest)?).ok()?;
            let link = LinkId::parse(before.checked_add(step)?)?;
            before = link.number();
            let class = usize::try_from(take_number(rest)?).ok()?;
            let clicks = take_number(rest)?;
            if clicks == 0 || i64::try_from(clicks).is_err() {
                return None;
            }
            let class = Arc::clone(classes.get(class)?);
            of_links.push(DetailedClicks {
                link,
                class,
                clicks,
            });
        }
        Some(ClickDetails { of_links })
    }

    fn class(&mut self, packed: &[u8]) -> Option<Arc<ClickClass>> {
        if let Some(Known(class)) = self.0.get(packed) {
            return Some(Arc::clone(class));
        }
        let class = Arc::new(ClickClass::of_packed(packed)?);
        self.0.insert(Known(Arc::clone(&class)));
        Some(class)
    }
}

impl DetailSums {
    /// Removes the sums of the highest links until at most so many sums are left; a single link that has more keeps as many.
    /// Returns the lowest link without its sums, if any was removed, and how many clicks of the single link have no class any more.
    pub fn shrink_to(&mut self, most: usize) -> (Option<LinkId>, u64) {
        let (mut removed, mut unclassified) = (None, 0_u64);
        while self.0.len() > most
            && let Some(((last, _), clicks)) = self.0.pop_last()
        {
            let is_single = |first: &(LinkId, KnownClass)| first.0 == last;
            if self.0.keys().next().is_none_or(is_single) {
                unclassified = unclassified.saturating_add(clicks);
                continue;
            }
            while let Some(sum) = self.0.last_entry().filter(|sum| sum.key().0 == last) {
                sum.remove();
            }
            removed = Some(last);
        }
        (removed, unclassified)
    }
}

impl KnownClasses {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets the classes that no details and no sums have.
    pub fn forget_unused(&mut self) {
        self.0.retain(|Known(class)| Arc::strong_count(class) > 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Dimension, UserId};

    fn class(browser: &str, is_bot: bool) -> Arc<ClickClass> {
        let class = ClickClass::unknown().with(Dimension::Browser, Some(browser));
        Arc::new(class.with(Dimension::Bot, Some(if is_bot { "true" } else { "false" })))
    }

    fn details() -> impl Strategy<Value = ClickDetails> {
        let part = (
            0..=LinkId::LAST.number(),
            "[a-c]{0,2}",
            any::<bool>(),
            1..u64::from(u32::MAX),
        );
        vec(part, 0..20).prop_map(|parts| {
            let part = |(link, browser, is_bot, clicks): (i64, String, bool, u64)| DetailedClicks {
                link: LinkId::parse(link).unwrap(),
                class: class(&browser, is_bot),
                clicks,
            };
            ClickDetails::new(parts.into_iter().map(part).collect())
        })
    }

    proptest! {
        #[test]
        fn details_are_read_as_they_were_packed(details in details()) {
            prop_assert_eq!(ClickDetails::parse(&details.packed()).unwrap(), details);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = ClickDetails::parse(&bytes);
            let _ = ClickDetails::parse(&[&[FORM], &*bytes].concat());
        }

        #[test]
        fn sums_of_batches_have_all_their_clicks_whatever_the_parts_they_are_taken_in(
            batches in vec(details(), 0..20), links_per_part in 1_usize..20,
        ) {
            let mut known = KnownClasses::default();
            let (mut sums, mut of_links, mut of_classes) = (DetailSums::default(), BTreeMap::new(), BTreeMap::new());
            for batch in &batches {
                sums.add(known.parse(&batch.packed()).unwrap());
                for part in batch.of_links() {
                    *of_links.entry(part.link).or_insert(0) += part.clicks;
                    *of_classes.entry((part.link, part.class.packed())).or_insert(0) += part.clicks;
                }
            }
            let of_links = of_links.into_iter();
            let of_links: Vec<_> = of_links.map(|(link, clicks)| LinkClicks { link, owner: UserId(1), clicks }).collect();
            let mut taken = Vec::new();
            for part in of_links.chunks(links_per_part) {
                taken.extend(sums.take_fitted_to(part).of_links);
            }
            prop_assert!(sums.is_empty());
            prop_assert!(taken.is_sorted_by_key(|part| part.link));
            prop_assert_eq!(taken.len(), of_classes.len());
            for part in &taken {
                prop_assert_eq!(of_classes.get(&(part.link, part.class.packed())), Some(&part.clicks));
            }
        }

        #[test]
        fn fitted_details_are_as_many_as_the_clicks(details in details(), clicks in vec((0_i64..50, 1_u64..50), 0..20)) {
            let mut clicks: Vec<_> =
                clicks.into_iter().map(|(link, clicks)| (LinkId::parse(link).unwrap(), clicks)).collect();
            clicks.sort_unstable();
            clicks.dedup_by_key(|(link, _)| *link);
            let fitted = details.fitted_to(&clicks);
            for (link, clicks) in &clicks {
                let of_link = fitted.of_links().iter().filter(|part| part.link == *link);
                prop_assert_eq!(of_link.map(|part| part.clicks).sum::<u64>(), *clicks);
            }
            let total: u64 = fitted.of_links().iter().map(|part| part.clicks).sum();
            prop_assert_eq!(total, clicks.iter().map(|(_, clicks)| clicks).sum::<u64>());
        }
    }
}
