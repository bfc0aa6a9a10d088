//! The table of one worker: links that it served recently, in front of the process's cache (moka) and without its
//! bookkeeping.
//!
//! A look-up in moka touches half a dozen cold lines of memory (bucket, key, entry, order of use), one here touches two.
//! An entry is used only while no link has changed since it was inserted, and for a part of the link's time in the
//! process. After that moka is asked again, and so learns that the link is in use.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use super::link::CachedLink;
use crate::domain::ShortCode;

/// Slots of the tables of all workers together, 56 bytes each: 29 MB once all are in use.
const SLOTS: usize = 1 << 19;

/// Slots in one allocation, which is made when the first of them is used.
const SLOTS_PER_PAGE: usize = 64;

pub(super) struct L1 {
    pages: Mutex<Vec<Option<Page>>>,
    hasher: RandomState,
    /// How long an entry is used.
    ttl: Duration,
}

/// A code is in the slot of its hash or in the neighbouring one.
struct Page(Box<[Option<Entry>; SLOTS_PER_PAGE]>);

struct Entry {
    code: ShortCode,
    link: Arc<CachedLink>,
    /// The version of the cache before the link was looked up.
    version: u64,
    since: Instant,
}

impl L1 {
    /// One of `tables` tables, which share the space.
    pub(super) fn new(tables: usize, ttl: Duration) -> Self {
        let pages = (SLOTS / SLOTS_PER_PAGE / tables.max(1)).max(1);
        Self {
            pages: Mutex::new((0..pages).map(|_| None).collect()),
            hasher: RandomState::default(),
            ttl,
        }
    }

    pub(super) fn get(
        &self,
        code: &ShortCode,
        version: u64,
        now: Instant,
    ) -> Option<Arc<CachedLink>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let (page, slots) = self.slots(code, &mut pages);
        let page = page.as_ref()?;
        let entry = slots
            .into_iter()
            .find_map(|slot| page.0[slot].as_ref().filter(|entry| entry.code == *code))?;
        let is_current = entry.version == version && now.duration_since(entry.since) < self.ttl;
        is_current.then(|| Arc::clone(&entry.link))
    }

    /// `version` and `now` are those from before the link was looked up.
    pub(super) fn put(&self, code: &ShortCode, link: &Arc<CachedLink>, version: u64, now: Instant) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let (page, slots) = self.slots(code, &mut pages);
        let entry = Entry {
            code: code.clone(),
            link: Arc::clone(link),
            version,
            since: now,
        };
        page.get_or_insert_with(Page::empty).put(slots, entry);
    }

    fn slots<'a>(
        &self,
        code: &ShortCode,
        pages: &'a mut [Option<Page>],
    ) -> (&'a mut Option<Page>, [usize; 2]) {
        let hash = self.hasher.hash_one(code);
        let below = |bound: usize, hash: u64| {
            usize::try_from(hash % bound as u64).expect("a number below a usize is one")
        };
        let slot = below(SLOTS_PER_PAGE, hash);
        let page = below(pages.len(), hash / SLOTS_PER_PAGE as u64);
        (&mut pages[page], [slot, slot ^ 1])
    }
}

impl Page {
    fn empty() -> Self {
        Self(Box::new([const { None }; SLOTS_PER_PAGE]))
    }

    /// An entry that is still current moves to the neighbouring slot.
    fn put(&mut self, [first, second]: [usize; 2], entry: Entry) {
        let is_in_use = self.0[first]
            .as_ref()
            .is_some_and(|old| old.code != entry.code && old.version == entry.version);
        if is_in_use {
            self.0.swap(first, second);
        }
        self.0[first] = Some(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LinkId, Location, Shard};

    const TTL: Duration = Duration::from_secs(15);

    fn code(number: usize) -> ShortCode {
        ShortCode::parse(&format!("code{number}")).unwrap()
    }

    fn link(number: usize) -> Arc<CachedLink> {
        Arc::new(CachedLink {
            id: LinkId::parse(i64::try_from(number).unwrap() + 1).unwrap(),
            shard: Shard::ONLY,
            location: Location::parse("https://example.com/").unwrap(),
            is_active: true,
        })
    }

    #[test]
    fn a_link_is_found_under_its_own_code_alone() {
        let (l1, now) = (L1::new(1, TTL), Instant::now());
        for number in 0..10_000 {
            l1.put(&code(number), &link(number), 0, now);
        }
        let mut found = 0;
        for number in 0..10_000 {
            if let Some(cached) = l1.get(&code(number), 0, now) {
                assert_eq!(cached, link(number));
                found += 1;
            }
        }
        assert!(found > 9_000, "{found} of 10,000 are found");
    }

    #[test]
    fn an_entry_is_not_used_after_a_change_or_after_its_time() {
        let (l1, now) = (L1::new(1, TTL), Instant::now());
        l1.put(&code(1), &link(1), 7, now);
        assert!(l1.get(&code(1), 7, now).is_some());
        assert!(l1.get(&code(1), 8, now).is_none());
        assert!(l1.get(&code(1), 7, now + TTL).is_none());
    }

    #[test]
    fn the_entry_inserted_last_is_found() {
        let (l1, now) = (L1::new(1, TTL), Instant::now());
        for number in 0..100 {
            l1.put(&code(1), &link(number), 0, now);
            assert_eq!(l1.get(&code(1), 0, now), Some(link(number)));
        }
    }

    #[test]
    fn tables_share_a_bounded_space() {
        let pages = |tables| L1::new(tables, TTL).pages.lock().unwrap().len();
        assert_eq!(pages(1) * SLOTS_PER_PAGE, SLOTS);
        assert_eq!(pages(2) * 2, pages(1));
        assert!(pages(3) * 3 <= pages(1), "three take no more than one");
        assert_eq!(pages(1_000_000), 1);
    }
}
