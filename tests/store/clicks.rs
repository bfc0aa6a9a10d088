//! Clicks: each counts once, also when it is repeated, late, concurrent or out of order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use shunt::domain::{Clock, LinkId, SystemClock};
use shunt::store::FlushMark::{Nothing, Superseded, UpTo, Whole};
use shunt::store::{ClickBatch, Fence, FlushId, FlushesSeen, ParkedBatch, Store};

use crate::backend::{both_stores, link, moment, user};

fn batch(recorder: u64, number: u64, clicks: &[(LinkId, u64)]) -> ClickBatch {
    let mut clicks = clicks.to_vec();
    clicks.sort_unstable();
    ClickBatch {
        recorder,
        number,
        clicks,
    }
}

fn flush(number: i64) -> FlushId {
    FlushId {
        epoch: "epoch".into(),
        number,
    }
}

/// Of the Redis that is used.
const REPLICATION_ID: &str = "0123abcd";

async fn count(store: &Store, link: LinkId) -> u64 {
    store.clicks.counts(&[link], None).await.unwrap().clicks[0].1
}

/// Compacts the whole journal; returns the clicks that were added.
async fn compact_all(store: &Store) -> u64 {
    let mut clicks = 0;
    loop {
        let compacted = store.clicks.compact().await.unwrap();
        clicks += compacted.clicks;
        if compacted.done {
            return clicks;
        }
    }
}

both_stores! {
    async fn a_release_of_a_batch_that_was_not_parked_hides_no_older_batch(store) {
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        store.clicks.release_parked(7, 2).await.unwrap();
        store.clicks.append(&batch(7, 1, &[(clicked, 3)]), None).await.unwrap();
        assert_eq!(count(&store, clicked).await, 3);
    }

    async fn a_batch_of_clicks_goes_before_other_writes(store) {
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        let made = AtomicUsize::new(0);
        let others = join_all((0..300).map(async |_| {
            link(&store, owner).await;
            made.fetch_add(1, Ordering::Relaxed);
        }));
        let clicks = async {
            store.clicks.append(&batch(7, 1, &[(clicked, 1)]), None).await.unwrap();
            made.load(Ordering::Relaxed)
        };
        let (_, made_before) = tokio::join!(others, clicks);
        assert!(made_before < 60, "{made_before} links were made before it was written");
    }

    async fn a_batch_counts_once_however_often_it_is_sent(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let first = batch(7, 1, &[(one, 3), (two, 1)]);
        for _ in 0..3 {
            store.clicks.append(&first, None).await.unwrap();
        }
        assert_eq!((count(&store, one).await, count(&store, two).await), (3, 1));
        compact_all(&store).await;
        store.clicks.append(&first, None).await.unwrap();
        compact_all(&store).await;
        assert_eq!((count(&store, one).await, count(&store, two).await), (3, 1));
        store.clicks.append(&batch(7, 2, &[(one, 1)]), None).await.unwrap();
        store.clicks.append(&batch(8, 1, &[(one, 1)]), None).await.unwrap();
        assert_eq!(count(&store, one).await, 5);
    }

    async fn compaction_reports_its_work_and_changes_no_count(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        for number in 1..=5 {
            store.clicks.append(&batch(7, number, &[(id, 10)]), None).await.unwrap();
        }
        store.clicks.compact().await.unwrap();
        assert_eq!(count(&store, id).await, 50, "also in the middle");
        compact_all(&store).await;
        store.clicks.append(&batch(7, 6, &[(id, 1)]), None).await.unwrap();
        assert_eq!(compact_all(&store).await, 1);
        assert_eq!(compact_all(&store).await, 0);
        assert_eq!(count(&store, id).await, 51);
    }

    async fn a_parked_batch_is_not_counted_and_is_reported(store) {
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        let with_links = async || {
            let listed = store.links.links_of(owner, None, 10).await.unwrap();
            let found = store.links.link_to_count(&code).await.unwrap().unwrap();
            assert_eq!((listed.value[0].id, found.value.id), (id, id));
            assert_eq!(listed.has_parked, found.has_parked);
            found.has_parked
        };
        let parked = batch(7, 1, &[(id, 5)]);
        assert!(!with_links().await);
        store.clicks.append(&parked, Some("epoch")).await.unwrap();
        assert!(with_links().await);
        compact_all(&store).await;
        let snapshot = store.clicks.counts(&[id], None).await.unwrap();
        assert_eq!((snapshot.clicks, snapshot.has_parked), (vec![(id, 0)], true));
        let listed = ParkedBatch { batch: parked.clone(), epoch: "epoch".into() };
        assert_eq!(store.clicks.parked(None, 10).await.unwrap(), [listed]);
        store.clicks.release_parked(7, 1).await.unwrap();
        store.clicks.release_parked(7, 1).await.unwrap();
        assert!(!store.clicks.counts(&[id], None).await.unwrap().has_parked);
        assert!(!with_links().await);
        store.clicks.append(&parked, Some("epoch")).await.unwrap();
        assert!(store.clicks.parked(None, 10).await.unwrap().is_empty(), "a late repetition changes nothing");
    }

    async fn parked_batches_are_listed_page_by_page(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        for (recorder, number) in [(7, 1), (7, 2), (8, 1)] {
            store.clicks.append(&batch(recorder, number, &[(id, 1)]), Some("epoch")).await.unwrap();
        }
        store.clicks.append(&batch(7, 3, &[(id, 1)]), None).await.unwrap();
        let mut listed = Vec::new();
        while let Some(next) = store.clicks.parked(listed.last().copied(), 1).await.unwrap().first() {
            listed.push((next.batch.recorder, next.batch.number));
        }
        assert_eq!(listed, [(7, 1), (7, 2), (8, 1)]);
    }

    async fn clicks_of_deleted_links_are_passed_over(store) {
        let owner = user(&store).await;
        let (code, gone) = link(&store, owner).await;
        let (_, id) = link(&store, owner).await;
        store.links.delete_link(owner, &code).await.unwrap();
        store.clicks.append(&batch(7, 1, &[(gone, 5), (id, 1)]), None).await.unwrap();
        compact_all(&store).await;
        store.clicks.apply_flush(&flush(1), Nothing, &[(gone, 5), (id, 1)], Whole, SystemClock.now()).await.unwrap();
        assert_eq!(store.clicks.counts(&[gone, id], None).await.unwrap().clicks, [(id, 2)]);
    }

    async fn a_flush_counts_once_part_by_part_however_often_it_is_sent(store) {
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..4 {
            links.push(link(&store, owner).await.1);
        }
        let part = |range: std::ops::Range<usize>| links[range].iter().map(|id| (*id, 2)).collect::<Vec<_>>();
        let apply = async |from, range, up_to| {
            store.clicks.apply_flush(&flush(1), from, &part(range), up_to, SystemClock.now()).await.unwrap()
        };
        assert_eq!(store.clicks.flush_mark(&flush(1)).await.unwrap(), Nothing);
        for _ in 0..2 {
            assert_eq!(apply(Nothing, 0..2, UpTo(links[1])).await, UpTo(links[1]));
        }
        assert_eq!(store.clicks.flush_mark(&flush(1)).await.unwrap(), UpTo(links[1]));
        // Another instance, which writes larger parts, learns where to go on.
        assert_eq!(apply(Nothing, 0..4, Whole).await, UpTo(links[1]));
        assert_eq!(apply(UpTo(links[1]), 2..4, Whole).await, Whole);
        // A late part changes nothing.
        assert_eq!(apply(UpTo(links[0]), 1..2, UpTo(links[1])).await, Whole);
        assert_eq!(apply(UpTo(links[1]), 2..3, UpTo(links[2])).await, Whole);
        for id in &links {
            assert_eq!(count(&store, *id).await, 2);
        }
    }

    async fn a_flush_that_the_database_lost_starts_again(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        // Its writer has written it up to `one`; after a crash the database knows nothing of it.
        let now = SystemClock.now();
        assert_eq!(store.clicks.apply_flush(&flush(1), UpTo(one), &[(two, 1)], Whole, now).await.unwrap(), Nothing);
        assert_eq!((count(&store, one).await, count(&store, two).await), (0, 0));
    }

    async fn a_reader_learns_of_the_flushes_that_it_saw_and_of_newer_ones(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        for number in 1..=4 {
            store.clicks.apply_flush(&flush(number), Nothing, &[(id, 1)], Whole, SystemClock.now()).await.unwrap();
        }
        let seen = FlushesSeen { epoch: "epoch", under_way: &[2], newest: 3 };
        let mut flushes = store.clicks.counts(&[id], Some(seen)).await.unwrap().flushes;
        flushes.sort_unstable_by_key(|(number, _)| *number);
        assert_eq!(flushes, [(2, Whole), (4, Whole)]);
        let other = FlushesSeen { epoch: "other", under_way: &[2], newest: 3 };
        assert!(store.clicks.counts(&[id], Some(other)).await.unwrap().flushes.is_empty());
    }

    async fn old_whole_flushes_are_pruned_and_no_others(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let (old, new) = (moment(1_000_000), SystemClock.now());
        store.clicks.apply_flush(&flush(1), Nothing, &[(id, 1)], Whole, old).await.unwrap();
        store.clicks.apply_flush(&flush(2), Nothing, &[(id, 1)], UpTo(id), old).await.unwrap();
        store.clicks.apply_flush(&flush(3), Nothing, &[(id, 1)], Whole, new).await.unwrap();
        assert_eq!(store.clicks.prune(moment(2_000_000), 10).await.unwrap(), 1);
        assert_eq!(store.clicks.flush_mark(&flush(1)).await.unwrap(), Superseded);
        assert_eq!(store.clicks.flush_mark(&flush(2)).await.unwrap(), UpTo(id));
        assert_eq!(store.clicks.flush_mark(&flush(3)).await.unwrap(), Whole);
    }

    async fn a_flush_that_is_in_even_in_part_reveals_a_redis_that_was_rolled_back(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let fence = async |number| store.clicks.fence(&flush(number), REPLICATION_ID).await.unwrap();
        store.clicks.apply_flush(&flush(1), Nothing, &[(id, 1)], Whole, SystemClock.now()).await.unwrap();
        assert_eq!(fence(0).await, Fence::Ahead);
        store.clicks.apply_flush(&flush(2), Nothing, &[(id, 1)], UpTo(id), SystemClock.now()).await.unwrap();
        assert_eq!((fence(0).await, fence(1).await), (Fence::Ahead, Fence::Ahead));
        assert!(matches!(fence(2).await, Fence::Below { newest_is_over: false, .. }));
    }

    async fn a_flush_that_was_started_before_a_fence_goes_on_and_none_is_started_below_it(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let write = async |number, from, clicks: &[(LinkId, u64)], up_to| {
            store.clicks.apply_flush(&flush(number), from, clicks, up_to, SystemClock.now()).await.unwrap()
        };
        assert_eq!(write(1, Nothing, &[(one, 1)], UpTo(one)).await, UpTo(one));
        let Fence::Below { number, newest_is_over: false } = store.clicks.fence(&flush(1), REPLICATION_ID).await.unwrap() else {
            panic!("the newest flush was started, and none after it");
        };
        for late in [2, 3, number - 1] {
            assert_eq!(write(late, Nothing, &[(one, 10)], Whole).await, Superseded);
            assert_eq!(store.clicks.flush_mark(&flush(late)).await.unwrap(), Superseded);
        }
        assert_eq!(write(1, UpTo(one), &[(two, 1)], Whole).await, Whole);
        assert_eq!(write(number + 1, Nothing, &[(one, 1)], Whole).await, Whole);
        assert_eq!((count(&store, one).await, count(&store, two).await), (2, 1));
        // A reader that saw it learns of no later flush: a fence is none.
        let seen = FlushesSeen { epoch: &flush(1).epoch, under_way: &[], newest: number + 1 };
        store.clicks.fence(&flush(number + 1), REPLICATION_ID).await.unwrap();
        assert_eq!(store.clicks.counts(&[one], Some(seen)).await.unwrap().flushes, []);
        // Flushes under a replication ID that comes later are refused, too.
        let later = store.clicks.fence(&flush(number + 1), REPLICATION_ID).await.unwrap();
        assert!(matches!(later, Fence::Below { number: above, .. } if above > number + 1));
    }

    async fn a_newest_flush_that_is_not_in_is_superseded_and_a_fence_can_be_lifted(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let Fence::Below { number, newest_is_over: true } = store.clicks.fence(&flush(7), REPLICATION_ID).await.unwrap() else {
            panic!("nothing of it is in the database");
        };
        let write = async |number| {
            store.clicks.apply_flush(&flush(number), Nothing, &[(id, 1)], Whole, SystemClock.now()).await.unwrap()
        };
        assert_eq!(write(7).await, Superseded);
        assert_eq!(write(number + 1).await, Whole);
        let Fence::Below { number: other, .. } = store.clicks.fence(&flush(number + 1), REPLICATION_ID).await.unwrap() else {
            panic!("there is no later one");
        };
        assert_eq!(write(number + 3).await, Superseded);
        for (replication_id, elsewhere) in [(REPLICATION_ID, false), ("another", true)] {
            let superseded = store.clicks.is_superseded_elsewhere(&flush(number + 3), replication_id).await.unwrap();
            assert_eq!(superseded, elsewhere, "{replication_id}");
        }
        store.clicks.lift_fence(&flush(other)).await.unwrap();
        assert_eq!(write(number + 3).await, Whole);
        assert_eq!(count(&store, id).await, 2);
    }

    async fn a_flush_whose_mark_was_pruned_is_not_started_again(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let old = moment(1_000_000);
        let write = async |number, from, clicks: &[(LinkId, u64)], up_to| {
            store.clicks.apply_flush(&flush(number), from, clicks, up_to, old).await.unwrap()
        };
        // One instance hangs after the first part; another one goes on and starts the next flush.
        write(1, Nothing, &[(one, 1)], UpTo(one)).await;
        write(1, UpTo(one), &[(two, 1)], Whole).await;
        write(2, Nothing, &[(one, 1)], Whole).await;
        store.clicks.prune(moment(2_000_000), 10).await.unwrap();
        assert_eq!(write(1, UpTo(one), &[(two, 1)], Whole).await, Superseded);
        assert_eq!(write(1, Nothing, &[(one, 1)], UpTo(one)).await, Superseded);
        assert_eq!((count(&store, one).await, count(&store, two).await), (2, 1));
    }

    async fn fences_are_pruned_and_the_flushes_before_them_are_not(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let old = moment(1_000_000);
        store.clicks.apply_flush(&flush(1), Nothing, &[(id, 1)], Whole, old).await.unwrap();
        store.clicks.fence(&flush(1), REPLICATION_ID).await.unwrap();
        store.clicks.prune(moment(2_000_000), 10).await.unwrap();
        assert_eq!(store.clicks.fence(&flush(0), REPLICATION_ID).await.unwrap(), Fence::Ahead);
    }

    async fn the_newest_flush_of_an_epoch_is_never_pruned(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let old = moment(1_000_000);
        store.clicks.apply_flush(&flush(1), Nothing, &[(id, 1)], Whole, old).await.unwrap();
        store.clicks.apply_flush(&flush(2), Nothing, &[(id, 1)], Whole, old).await.unwrap();
        store.clicks.prune(moment(2_000_000), 10).await.unwrap();
        assert_eq!(store.clicks.fence(&flush(1), REPLICATION_ID).await.unwrap(), Fence::Ahead);
        assert_eq!(store.clicks.flush_mark(&flush(1)).await.unwrap(), Superseded);
    }

    async fn with_everything_at_once_no_click_is_lost_or_counted_twice_and_no_count_falls(store) {
        const RECORDERS: u64 = 4;
        const BATCHES: u64 = 40;
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..10 {
            links.push(link(&store, owner).await.1);
        }
        let all: Vec<_> = links.iter().map(|id| (*id, 1)).collect();
        let done = AtomicBool::new(false);
        let recorder = async |number: u64| {
            for batch_number in 1..=BATCHES {
                let batch = batch(number, batch_number, &all);
                store.clicks.append(&batch, None).await.unwrap();
                store.clicks.append(&batch, None).await.unwrap();
            }
        };
        let compactor = async || {
            while !done.load(Ordering::SeqCst) {
                store.clicks.compact().await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let flusher = async || {
            for number in 1..=20 {
                let mut mark = Nothing;
                while mark != Whole {
                    let rest = &all[all.partition_point(|(id, _)| mark.includes(*id))..];
                    let part = &rest[..rest.len().min(3)];
                    let up_to = if part.len() == rest.len() { Whole } else { UpTo(part.last().unwrap().0) };
                    mark = store.clicks.apply_flush(&flush(number), mark, part, up_to, SystemClock.now()).await.unwrap();
                }
            }
        };
        let reader = async || {
            let mut last = 0;
            while !done.load(Ordering::SeqCst) {
                let now = count(&store, links[3]).await;
                assert!(now >= last, "fell from {last} to {now}");
                last = now;
            }
        };
        let work = async {
            tokio::join!(recorder(1), recorder(2), recorder(3), recorder(4), flusher(), flusher());
            done.store(true, Ordering::SeqCst);
        };
        tokio::join!(work, compactor(), compactor(), reader());
        // First the compaction that was under way, then later batches.
        compact_all(&store).await;
        compact_all(&store).await;
        for id in links {
            assert_eq!(count(&store, id).await, RECORDERS * BATCHES + 20);
        }
    }
}
