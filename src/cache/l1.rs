//! The table of a worker: links that it served recently, in front of the process's cache (moka) and without its
//! bookkeeping.
//!
//! A look-up in moka touches half a dozen cold lines of memory (bucket, key, entry, order of use), one here touches two.
//! An entry is used only while no link has changed since it was inserted, and for a part of the link's time in the
//! process. After that moka is asked again, and so learns that the link is in use. An entry does not keep its link in
//! memory: what moka evicts is gone here, too, so that moka's bound in bytes holds for both.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use super::link::CachedLink;
use crate::domain::ShortCode;

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
    link: Weak<CachedLink>,
    /// The version of the cache before the link was looked up.
    version: u64,
    since: Instant,
}

impl L1 {
    /// One of `tables` tables, which share the slots.
    pub(super) fn new(slots: u64, tables: usize, ttl: Duration) -> Self {
        let pages = usize::try_from(slots).unwrap_or(usize::MAX) / SLOTS_PER_PAGE / tables.max(1);
        let pages = pages.max(1);
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
        is_current.then(|| entry.link.upgrade())?
    }

    /// `version` and `now` are from before the link was looked up.
    pub(super) fn put(&self, code: &ShortCode, link: &Arc<CachedLink>, version: u64, now: Instant) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let (page, slots) = self.slots(code, &mut pages);
        let entry = Entry {
            code: code.clone(),
            link: Arc::downgrade(link),
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
    use crate::domain::{LinkId, LinkTarget, Shard, TargetUrl, UserId};

    const TTL: Duration = Duration::from_secs(15);

    const SLOTS: u64 = 1 << 19;

    fn code(number: usize) -> ShortCode {
        ShortCode::parse(&format!("code{number}")).unwrap()
    }

    fn link(number: usize) -> Arc<CachedLink> {
        let id = LinkId::parse(i64::try_from(number).unwrap() + 1).unwrap();
        let target = TargetUrl::from_stored("https://example.com/");
        Arc::new(CachedLink::new(
            &LinkTarget::of(id, UserId(1), target),
            Shard::ONLY,
        ))
    }

    #[test]
    fn a_link_is_found_under_its_own_code_alone() {
        let (l1, now) = (L1::new(SLOTS, 1, TTL), Instant::now());
        let links: Vec<_> = (0..10_000).map(link).collect();
        for (number, link) in links.iter().enumerate() {
            l1.put(&code(number), link, 0, now);
        }
        let mut found = 0;
        for (number, link) in links.iter().enumerate() {
            if let Some(cached) = l1.get(&code(number), 0, now) {
                assert_eq!(cached, *link);
                found += 1;
            }
        }
        assert!(found > 9_000, "{found} of 10,000 are found");
    }

    #[test]
    fn an_entry_is_not_used_after_a_change_or_after_its_time() {
        let (l1, link, now) = (L1::new(SLOTS, 1, TTL), link(1), Instant::now());
        l1.put(&code(1), &link, 7, now);
        assert!(l1.get(&code(1), 7, now).is_some());
        assert!(l1.get(&code(1), 8, now).is_none());
        assert!(l1.get(&code(1), 7, now + TTL).is_none());
    }

    #[test]
    fn an_entry_keeps_no_link_in_memory() {
        let (l1, evicted, now) = (L1::new(SLOTS, 1, TTL), link(1), Instant::now());
        l1.put(&code(1), &evicted, 0, now);
        drop(evicted);
        assert!(l1.get(&code(1), 0, now).is_none());
    }

    #[test]
    fn the_entry_inserted_last_is_found() {
        let (l1, now) = (L1::new(SLOTS, 1, TTL), Instant::now());
        for number in 0..100 {
            let link = link(number);
            l1.put(&code(1), &link, 0, now);
            assert_eq!(l1.get(&code(1), 0, now), Some(link));
        }
    }

    #[test]
    fn tables_share_a_bounded_space() {
        let pages = |tables| L1::new(SLOTS, tables, TTL).pages.lock().unwrap().len();
        assert_eq!((pages(1) * SLOTS_PER_PAGE) as u64, SLOTS);
        assert_eq!(pages(2) * 2, pages(1));
        assert!(pages(3) * 3 <= pages(1), "three take no more than one");
        assert_eq!(pages(1_000_000), 1);
    }
}
