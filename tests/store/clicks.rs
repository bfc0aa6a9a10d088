//! Clicks: each counts once, also when it is repeated, late, concurrent or out of order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use shunt::domain::{Interval, LinkId, Timestamp};
use shunt::store::FlushMark::{Nothing, Superseded, UpTo, Whole};
use shunt::store::{
    ClickBatch, ClickDetails, DataSet, FlushId, FlushMark, FlushesSeen, MergeRound, ParkedBatch,
    Raise, Store,
};

use crate::store::backend::{both_stores, delete_link, link, user};
use crate::support::clicks::of_links;

fn batch(recorder: u64, number: u64, clicks: &[(LinkId, u64)]) -> ClickBatch {
    let mut clicks = clicks.to_vec();
    clicks.sort_unstable();
    ClickBatch {
        recorder,
        number,
        interval: interval(number),
        clicks: of_links(clicks),
        details: ClickDetails::default(),
    }
}

/// Of a batch or flush: later ones are not always of a later interval.
fn interval(number: u64) -> Interval {
    Interval::from_number(2_000_000 + [0, 1, 1, 0, 2][(number % 5) as usize])
}

/// A flush of this data set, in its term.
fn flush(data_set: &DataSet, number: i64) -> FlushId {
    FlushId {
        name: format!("flush {number}"),
        epoch: data_set.epoch.clone(),
        term: data_set.term,
        number,
        interval: interval(number.unsigned_abs()),
    }
}

/// Of the keys of Redis.
const TAG: &str = "{tag}";

fn raise(from: i64, replication_id: &str) -> Raise<'_> {
    Raise {
        tag: TAG,
        from,
        above: 0,
        replication_id,
    }
}

/// A data set that begins on an empty server.
async fn began(store: &Store) -> DataSet {
    store
        .begin_data_set(raise(0, "first"), "")
        .await
        .unwrap()
        .unwrap()
}

async fn count(store: &Store, link: LinkId) -> u64 {
    let all = Interval::FIRST..Interval::LAST;
    let series = store.clicks.series(link, all, None).await.unwrap();
    let count = series.counts.clicks[0].1;
    assert_eq!(
        series.points.iter().map(|(_, clicks)| clicks).sum::<u64>(),
        count
    );
    count
}

/// Compacts the whole journal; returns the clicks that were added.
async fn compact_all(store: &Store) -> u64 {
    let mut clicks = 0;
    loop {
        let compacted = store
            .clicks
            .compact(&mut MergeRound::default())
            .await
            .unwrap();
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

    async fn clicks_are_written_back_up_to_the_earliest_moment_of_the_data_sets_in_use(store) {
        let up_to = async |tags: &[&str]| store.written_back_up_to(tags).await.unwrap();
        let at = |second: i64| Timestamp::from_micros(4_000_000_000_000_000 + second * 1_000_000).unwrap();
        assert_eq!(up_to(&[TAG, "{other}"]).await, None);
        let first = began(&store).await;
        // Until a later moment is noted, it is the beginning.
        assert!(up_to(&[TAG]).await.unwrap() < at(0));
        assert_eq!(up_to(&["{other}"]).await, None);
        let note = async |data_set: &DataSet, term, second| {
            store.note_written_back(&data_set.epoch, term, at(second)).await.unwrap();
        };
        note(&first, first.term, 5).await;
        assert_eq!(up_to(&[TAG]).await, Some(at(5)));
        // Another term notes nothing.
        note(&first, first.term + 1, 9).await;
        assert_eq!(up_to(&[TAG]).await, Some(at(5)));
        let of_other = Raise { tag: "{other}", ..raise(0, "first") };
        let other = store.begin_data_set(of_other, "").await.unwrap().unwrap();
        note(&other, other.term, 3).await;
        assert_eq!(up_to(&[TAG, "{other}"]).await, Some(at(3)));
        // A data set that took its place does not hide the clicks that the former one may still have.
        let next = store.begin_data_set(raise(first.term, "second"), "").await.unwrap().unwrap();
        note(&next, next.term, 8).await;
        assert_eq!(up_to(&[TAG]).await, Some(at(5)));
    }

    async fn there_is_no_moment_before_a_flush_while_batches_are_parked(store) {
        let owner = user(&store).await;
        let (_, clicked) = link(&store, owner).await;
        let moment = async || store.moment_before_flush().await.unwrap();
        let first = moment().await.unwrap();
        store.clicks.append(&batch(7, 1, &[(clicked, 1)]), None).await.unwrap();
        assert!(moment().await.unwrap() > first);
        store.clicks.append(&batch(8, 1, &[(clicked, 1)]), Some("epoch")).await.unwrap();
        assert_eq!(moment().await, None);
        store.clicks.release_parked(8, 1).await.unwrap();
        assert!(moment().await.unwrap() > first);
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
        // In the order of coming it would be after them all.
        assert!(made_before < 200, "{made_before} links were made before it was written");
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

    async fn a_flush_is_not_taken_for_another_one_that_has_its_number(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        let first = flush(&data_set, 1);
        let other = FlushId { name: "another".to_owned(), ..first.clone() };
        let part = [(id, 3)];
        let apply = async |flush| {
            store.apply_flush(flush, FlushMark::Nothing, &of_links(part), &ClickDetails::default(), FlushMark::Whole).await.unwrap()
        };
        assert_eq!(apply(&first).await, FlushMark::Whole);
        assert_eq!(apply(&other).await, FlushMark::OfAnother);
        assert_eq!(store.flush_mark(&other).await.unwrap(), FlushMark::OfAnother);
        assert_eq!(store.flush_mark(&first).await.unwrap(), FlushMark::Whole);
        assert_eq!(count(&store, id).await, 3);
        assert_eq!(apply(&flush(&data_set, 2)).await, FlushMark::Whole);
        assert_eq!(count(&store, id).await, 6);
    }

    async fn compaction_reports_its_work_and_changes_no_count(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        for number in 1..=5 {
            store.clicks.append(&batch(7, number, &[(id, 10)]), None).await.unwrap();
        }
        store.clicks.compact(&mut MergeRound::default()).await.unwrap();
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
            let listed = store.links_of(owner, None, 10).await.unwrap();
            let found = store.link_to_count(&code).await.unwrap().unwrap();
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
        let listed = ParkedBatch { batch: parked.clone(), epoch: "epoch".into(), tag: None };
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
        delete_link(&store, owner, &code).await;
        store.clicks.append(&batch(7, 1, &[(gone, 5), (id, 1)]), None).await.unwrap();
        compact_all(&store).await;
        let data_set = began(&store).await;
        store.apply_flush(&flush(&data_set, 1), Nothing, &of_links([(gone, 5), (id, 1)]), &ClickDetails::default(), Whole).await.unwrap();
        assert_eq!(store.clicks.counts(&[gone, id], None).await.unwrap().clicks, [(id, 2)]);
    }

    async fn a_flush_counts_once_part_by_part_however_often_it_is_sent(store) {
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..4 {
            links.push(link(&store, owner).await.1);
        }
        let first = flush(&began(&store).await, 1);
        let part = |range: std::ops::Range<usize>| links[range].iter().map(|id| (*id, 2)).collect::<Vec<_>>();
        let apply = async |from, range, up_to| {
            store.apply_flush(&first, from, &of_links(part(range)), &ClickDetails::default(), up_to).await.unwrap()
        };
        assert_eq!(store.flush_mark(&first).await.unwrap(), Nothing);
        for _ in 0..2 {
            assert_eq!(apply(Nothing, 0..2, UpTo(links[1])).await, UpTo(links[1]));
        }
        assert_eq!(store.flush_mark(&first).await.unwrap(), UpTo(links[1]));
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

    async fn a_mark_is_made_durable_only_where_the_ledger_has_it_in_the_term_and_under_the_name_of_the_flush(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let data_set = began(&store).await;
        let first = flush(&data_set, 1);
        let clicks = of_links([(one, 1)]);
        assert!(!store.make_durable(&first, UpTo(one)).await.unwrap());
        store.apply_flush(&first, Nothing, &clicks, &ClickDetails::default(), UpTo(one)).await.unwrap();
        assert!(store.make_durable(&first, UpTo(one)).await.unwrap());
        assert!(!store.make_durable(&first, UpTo(two)).await.unwrap());
        let another = FlushId { name: "another".into(), ..first.clone() };
        assert!(!store.make_durable(&another, UpTo(one)).await.unwrap());
        assert_eq!(store.flush_mark(&first).await.unwrap(), UpTo(one));
        let raise = Raise { tag: &data_set.tag, from: data_set.term, above: 0, replication_id: "another" };
        store.raise_term(raise, &data_set.epoch).await.unwrap().unwrap();
        assert!(!store.make_durable(&first, UpTo(one)).await.unwrap());
    }

    async fn a_flush_that_the_database_lost_starts_again(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        // Its writer has written it up to `one`; after a crash the database knows nothing of it.
        let first = flush(&began(&store).await, 1);
        assert_eq!(store.apply_flush(&first, UpTo(one), &of_links([(two, 1)]), &ClickDetails::default(), Whole).await.unwrap(), Nothing);
        assert_eq!((count(&store, one).await, count(&store, two).await), (0, 0));
    }

    async fn a_reader_learns_of_a_flush_that_it_saw_and_of_newer_ones(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        for number in 1..=4 {
            store.apply_flush(&flush(&data_set, number), Nothing, &of_links([(id, 1)]), &ClickDetails::default(), Whole).await.unwrap();
        }
        for (newest, flushes) in [(3, vec![(3, Whole), (4, Whole)]), (4, vec![(4, Whole)]), (5, vec![])] {
            let seen = FlushesSeen { epoch: &data_set.epoch, term: data_set.term, under_way: &[newest], newest };
            let found = store.clicks.counts(&[id], Some(seen)).await.unwrap();
            assert_eq!((found.flushes, found.is_superseded), (flushes, false));
        }
    }

    async fn a_flush_is_written_in_the_term_of_its_data_set_alone(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let first = began(&store).await;
        let write = async |data_set: &DataSet, from, clicks: &[(LinkId, u64)], up_to| {
            store.apply_flush(&flush(data_set, 1), from, &of_links(clicks.iter().copied()), &ClickDetails::default(), up_to).await.unwrap()
        };
        assert_eq!(write(&first, Nothing, &[(one, 1)], UpTo(one)).await, UpTo(one));
        let second = store.raise_term(raise(first.term, "second"), &first.epoch).await.unwrap().unwrap();
        assert!(second.term > first.term);
        assert_eq!((&second.epoch, second.flush), (&first.epoch, 1));
        assert_eq!(write(&first, UpTo(one), &[(two, 1)], Whole).await, Superseded);
        assert_eq!(store.flush_mark(&flush(&first, 1)).await.unwrap(), Superseded);
        // The flush goes on where it was.
        assert_eq!(write(&second, UpTo(one), &[(two, 1)], Whole).await, Whole);
        assert_eq!((count(&store, one).await, count(&store, two).await), (1, 1));
        let seen = FlushesSeen { epoch: &first.epoch, term: first.term, under_way: &[], newest: 1 };
        assert!(store.clicks.counts(&[one], Some(seen)).await.unwrap().is_superseded);
    }

    async fn a_flush_of_which_a_later_one_was_written_is_not_started_again(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let data_set = began(&store).await;
        let write = async |number, from, clicks: &[(LinkId, u64)], up_to| {
            store.apply_flush(&flush(&data_set, number), from, &of_links(clicks.iter().copied()), &ClickDetails::default(), up_to).await.unwrap()
        };
        // One instance hangs after the first part; another one goes on and starts the next flush.
        write(1, Nothing, &[(one, 1)], UpTo(one)).await;
        write(1, UpTo(one), &[(two, 1)], Whole).await;
        write(2, Nothing, &[(one, 1)], Whole).await;
        assert_eq!(write(1, UpTo(one), &[(two, 1)], Whole).await, Superseded);
        assert_eq!(write(1, Nothing, &[(one, 1)], UpTo(one)).await, Superseded);
        assert_eq!((count(&store, one).await, count(&store, two).await), (2, 1));
    }

    async fn of_several_instances_that_raise_a_term_one_succeeds(store) {
        let first = began(&store).await;
        let raised = join_all(["a", "b", "c", "d"].map(async |server| {
            store.raise_term(raise(first.term, server), &first.epoch).await.unwrap()
        }));
        let raised: Vec<_> = raised.await.into_iter().flatten().collect();
        assert_eq!(raised.len(), 1);
        assert_eq!(store.data_sets_in_use().await.unwrap(), raised);
        let began = join_all(["", "", ""].map(async |prefix| {
            store.begin_data_set(raise(raised[0].term, "e"), prefix).await.unwrap()
        }));
        assert_eq!(began.await.into_iter().flatten().count(), 1);
    }

    async fn terms_of_all_data_sets_differ(store) {
        let first = began(&store).await;
        let other = Raise { tag: "{other}", from: 0, above: 0, replication_id: "first" };
        let other = store.begin_data_set(other, "3:").await.unwrap().unwrap();
        assert!(other.term > first.term);
        assert_eq!(other.epoch, format!("3:{}", other.term));
        assert_eq!(store.data_set(&other.epoch).await.unwrap(), Some(other));
        assert_eq!(store.data_sets_in_use().await.unwrap().len(), 2);
    }

    async fn a_new_term_is_above_that_of_a_redis_which_is_ahead_of_a_restored_database(store) {
        let first = began(&store).await;
        let ahead = Raise { above: first.term + 1_000, ..raise(first.term, "first") };
        let second = store.raise_term(ahead, "of-later").await.unwrap().unwrap();
        assert_eq!(second.term, first.term + 1_001);
        let third = store.begin_data_set(raise(second.term, "first"), "").await.unwrap().unwrap();
        assert!(third.term > second.term);
    }

    async fn a_data_set_that_was_replaced_by_another_server_drains_and_may_come_back(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let first = began(&store).await;
        let second = store.begin_data_set(raise(first.term, "second"), "").await.unwrap().unwrap();
        let seen = |data_set: &DataSet| {
            let epoch = data_set.epoch.clone();
            let (store, term) = (&store, data_set.term);
            async move {
                let seen = FlushesSeen { epoch: &epoch, term, under_way: &[], newest: 0 };
                let found = store.clicks.counts(&[id], Some(seen)).await.unwrap();
                (found.is_superseded, found.is_draining)
            }
        };
        assert_eq!(seen(&second).await, (false, true));
        assert!(seen(&first).await.0);
        // Its instances still write back what is pending in it.
        assert_eq!(store.apply_flush(&flush(&first, 1), Nothing, &of_links([(id, 1)]), &ClickDetails::default(), Whole).await.unwrap(), Whole);
        store.keep_draining(&first.epoch).await.unwrap();
        let third = store.raise_term(raise(second.term, "first"), &first.epoch).await.unwrap().unwrap();
        assert_eq!((&third.epoch, third.flush), (&first.epoch, 1));
        assert!(!seen(&third).await.0);
        // On the same server, what was there before is gone.
        let fourth = store.begin_data_set(raise(third.term, "first"), "").await.unwrap().unwrap();
        store.begin_data_set(raise(fourth.term, "first"), "").await.unwrap().unwrap();
    }

    async fn a_data_set_of_the_version_before_becomes_known_when_it_is_used(store) {
        let epoch = "0123456789abcdef-1700000000000000";
        assert_eq!(store.data_set(epoch).await.unwrap(), None);
        let adopted = store.raise_term(raise(0, "first"), epoch).await.unwrap().unwrap();
        assert_eq!((adopted.epoch.as_str(), adopted.flush), (epoch, 0));
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
                store.clicks.compact(&mut MergeRound::default()).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let data_set = began(&store).await;
        let flusher = async || {
            for number in 1..=20 {
                let mut mark = Nothing;
                while mark != Whole {
                    let rest = &all[all.partition_point(|(id, _)| mark.includes(*id))..];
                    let part = &rest[..rest.len().min(3)];
                    let up_to = if part.len() == rest.len() { Whole } else { UpTo(part.last().unwrap().0) };
                    mark = store.apply_flush(&flush(&data_set, number), mark, &of_links(part.iter().copied()), &ClickDetails::default(), up_to).await.unwrap();
                    if mark == Superseded {
                        break;
                    }
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
