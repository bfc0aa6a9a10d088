//! Series: every click is in the interval in which it was recorded, and the sum is the count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use shunt::domain::{Clock, Interval, LinkId, ShortCode, SystemClock};
use shunt::store::FlushMark::{Nothing, Whole};
use shunt::store::{
    ClickBatch, ClickDetails, DataSet, FlushId, FlushesSeen, LastDays, MergeRound, NewLink, Store,
};

use crate::store::backend::{began, both_stores, delete_link, link, plain, user};
use crate::support::clicks::of_links;

const NOON: i64 = 2_000_000;

fn batch(number: u64, interval: i64, clicks: &[(LinkId, u64)]) -> ClickBatch {
    ClickBatch {
        recorder: 7,
        number,
        interval: Interval::from_number(interval),
        clicks: of_links(clicks.iter().copied()),
        details: ClickDetails::default(),
    }
}

async fn flush(
    store: &Store,
    data_set: &DataSet,
    number: i64,
    interval: i64,
    clicks: &[(LinkId, u64)],
) {
    let flush = FlushId {
        name: "flush".to_owned(),
        epoch: data_set.epoch.clone(),
        term: data_set.term,
        number,
        interval: Interval::from_number(interval),
    };
    let (clicks, none) = (of_links(clicks.iter().copied()), ClickDetails::default());
    let apply = async || {
        store
            .apply_flush(&flush, Nothing, &clicks, &none, Whole)
            .await
    };
    // It waits while many flushes are to be merged.
    while apply().await.unwrap() == Nothing {
        let mut round = MergeRound::default();
        store.clicks.compact(&mut round).await.unwrap();
    }
    assert_eq!(store.flush_mark(&flush).await.unwrap(), Whole);
}

/// The points of a link's whole series in order, each interval once; checks that their sum is the count.
async fn series(store: &Store, link: LinkId) -> Vec<(i64, u64)> {
    let all = Interval::FIRST..Interval::LAST;
    let snapshot = store.clicks.series(link, all, None).await.unwrap();
    let mut points = std::collections::BTreeMap::<i64, u64>::new();
    for (interval, clicks) in snapshot.points {
        *points.entry(interval.number().into()).or_default() += clicks;
    }
    points.retain(|_, clicks| *clicks > 0);
    assert_eq!(points.values().sum::<u64>(), snapshot.counts.clicks[0].1);
    points.into_iter().collect()
}

async fn compact_all(store: &Store) {
    while !store
        .clicks
        .compact(&mut MergeRound::default())
        .await
        .unwrap()
        .done
    {}
}

both_stores! {
    async fn the_days_of_links_are_sums_of_their_series(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let (_, none) = link(&store, owner).await;
        let data_set = began(&store).await;
        let mut number = 0;
        for (interval, clicks) in [(NOON, 1), (NOON + 95, 2), (NOON + 96, 4), (NOON + 96 * 3, 8), (NOON + 96 * 30 - 1, 16), (NOON + 96 * 30, 32), (NOON - 1, 64)] {
            number += 1;
            flush(&store, &data_set, number, interval, &[(one, clicks), (two, 100 * clicks)]).await;
        }
        store.clicks.append(&batch(1, NOON + 96 * 4, &[(two, 7)]), None).await.unwrap();
        let days = LastDays::until(Interval::from_number(NOON + 96 * 30 - 1), 30);
        assert_eq!(days.from, Interval::from_number(NOON));
        for _ in 0..2 {
            let asked = [one, two, none];
            let found = store.clicks.days(&asked, days, None).await.unwrap();
            for link in asked {
                let mut expected = vec![0; 30];
                for (interval, clicks) in series(&store, link).await {
                    if let Some(day) = days.day_of(Interval::from_number(interval)) {
                        expected[day] += clicks;
                    }
                }
                let mut summed = vec![0; 30];
                for (_, day, clicks) in found.days.iter().filter(|(of, ..)| *of == link) {
                    summed[*day] += clicks;
                }
                assert_eq!(summed, expected);
            }
            let mut counts = found.counts.clicks;
            counts.sort_unstable();
            assert_eq!(counts, [(one, 127), (two, 12_707), (none, 0)]);
            compact_all(&store).await;
        }
    }

    async fn a_click_stays_in_its_interval_while_it_is_written_back_late_or_early(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let data_set = began(&store).await;
        flush(&store, &data_set, 1, NOON, &[(one, 1), (two, 2)]).await;
        flush(&store, &data_set, 2, NOON, &[(one, 10)]).await;
        flush(&store, &data_set, 3, NOON + 2, &[(one, 100)]).await;
        flush(&store, &data_set, 4, NOON + 1, &[(one, 1_000)]).await;
        flush(&store, &data_set, 5, NOON, &[(one, 10_000), (two, 20)]).await;
        assert_eq!(series(&store, one).await, [(NOON, 10_011), (NOON + 1, 1_000), (NOON + 2, 100)]);
        assert_eq!(series(&store, two).await, [(NOON, 22)]);
        let part = Interval::from_number(NOON + 1)..Interval::from_number(NOON + 2);
        let read = store.clicks.series(one, part, None).await.unwrap();
        assert_eq!((read.points.len(), read.points[0].1), (1, 1_000));
        assert_eq!(read.counts.clicks, [(one, 11_111)]);
    }

    async fn the_journal_keeps_the_interval_of_each_batch(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        for (number, interval, clicks) in [(1, NOON + 1, 1), (2, NOON, 10), (3, NOON + 2, 100), (4, NOON + 1, 1_000)] {
            store.clicks.append(&batch(number, interval, &[(one, clicks), (two, 1)]), None).await.unwrap();
        }
        let expected = [(NOON, 10), (NOON + 1, 1_001), (NOON + 2, 100)];
        assert_eq!(series(&store, one).await, expected, "in the journal");
        store.clicks.compact(&mut MergeRound::default()).await.unwrap();
        assert_eq!(series(&store, one).await, expected, "on the way");
        compact_all(&store).await;
        assert_eq!(series(&store, one).await, expected, "in the counts");
        store.clicks.append(&batch(5, NOON, &[(one, 5)]), None).await.unwrap();
        store.clicks.append(&batch(6, NOON + 3, &[(one, 6)]), None).await.unwrap();
        compact_all(&store).await;
        let expected = [(NOON, 15), (NOON + 1, 1_001), (NOON + 2, 100), (NOON + 3, 6)];
        assert_eq!(series(&store, one).await, expected);
        assert_eq!(series(&store, two).await, [(NOON, 1), (NOON + 1, 2), (NOON + 2, 1)]);
    }

    async fn a_parked_batch_comes_back_with_its_interval_and_is_in_no_series(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let parked = batch(1, NOON, &[(id, 1)]);
        store.clicks.append(&parked, Some("epoch")).await.unwrap();
        assert_eq!(store.clicks.parked(None, 10).await.unwrap()[0].batch, parked);
        assert_eq!(series(&store, id).await, []);
    }

    async fn a_count_with_which_a_link_was_made_is_in_the_interval_in_which_it_was_made(store) {
        let owner = user(&store).await;
        let (code, properties, now) = (ShortCode::generate(7).unwrap(), plain(), SystemClock.now());
        let mut new = NewLink::new(&code, &properties, owner, now);
        new.clicks = 40;
        let id = store.create_link(new, 0).await.unwrap().link.id;
        let made = i64::from(Interval::of(now).number());
        assert_eq!(series(&store, id).await, [(made, 40)]);
        let data_set = began(&store).await;
        flush(&store, &data_set, 1, made + 5, &[(id, 2)]).await;
        assert_eq!(series(&store, id).await, [(made, 40), (made + 5, 2)]);
        flush(&store, &data_set, 2, made + 6, &[(id, 3)]).await;
        flush(&store, &data_set, 3, made, &[(id, 4)]).await;
        assert_eq!(series(&store, id).await, [(made, 44), (made + 5, 2), (made + 6, 3)]);
    }

    async fn a_flush_that_a_reader_saw_beside_a_later_one_is_whole_once_the_later_one_is_begun(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        flush(&store, &data_set, 3, NOON, &[(id, 1)]).await;
        flush(&store, &data_set, 4, NOON + 1, &[(id, 1)]).await;
        let seen = FlushesSeen { epoch: &data_set.epoch, term: data_set.term, under_way: &[3, 4, 5], newest: 5 };
        let mut snapshot = store.clicks.counts(&[id], Some(seen)).await.unwrap();
        snapshot.flushes.sort_unstable_by_key(|(number, _)| *number);
        assert_eq!(snapshot.flushes, [(3, Whole), (4, Whole)]);
    }

    async fn a_deleted_link_leaves_no_series(store) {
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        for number in 1..4 {
            flush(&store, &data_set, number, NOON + number, &[(id, 1)]).await;
        }
        delete_link(&store, owner, &code).await;
        store.uncount_deleted(None, 10).await.unwrap();
        flush(&store, &data_set, 4, NOON + 4, &[(id, 1)]).await;
        let all = Interval::FIRST..Interval::LAST;
        let snapshot = store.clicks.series(id, all, None).await.unwrap();
        assert_eq!((snapshot.points.len(), snapshot.counts.clicks.len()), (0, 0));
    }

    async fn the_sum_is_the_count_at_every_moment_while_all_writers_work(store) {
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..5 {
            links.push(link(&store, owner).await.1);
        }
        let (data_set, store) = (began(&store).await, Arc::new(store));
        let is_done = Arc::new(AtomicBool::new(false));
        let read = async {
            while !is_done.load(Ordering::Relaxed) {
                for link in &links {
                    series(&store, *link).await;
                }
            }
        };
        let clicks: Vec<_> = links.iter().map(|link| (*link, 1)).collect();
        let write = async {
            let appends = join_all((0..4_u64).map(async |recorder| {
                for number in 1..=20_u64 {
                    let mut batch = batch(number, NOON + (number * (recorder + 1) % 4).cast_signed(), &clicks);
                    batch.recorder = recorder;
                    store.clicks.append(&batch, None).await.unwrap();
                }
            }));
            let flushes = async {
                for number in 1..=20 {
                    flush(&store, &data_set, number, NOON + number * 3 % 5, &clicks).await;
                }
            };
            let compactions = async {
                for _ in 0..40 {
                    store.clicks.compact(&mut MergeRound::default()).await.unwrap();
                }
            };
            tokio::join!(appends, flushes, compactions);
            is_done.store(true, Ordering::Relaxed);
        };
        tokio::join!(read, write);
        compact_all(&store).await;
        let mut expected = [(NOON, 0), (NOON + 1, 0), (NOON + 2, 0), (NOON + 3, 0), (NOON + 4, 0)];
        for number in 1..=20_usize {
            for recorder in 0..4 {
                expected[number * (recorder + 1) % 4].1 += 1;
            }
            expected[number * 3 % 5].1 += 1;
        }
        for link in links {
            assert_eq!(series(&store, link).await, expected);
        }
    }
}
