//! The series of all links of an owner, and the links that end soon.

use std::collections::BTreeMap;

use shunt::domain::{
    Clock, Interval, LinkGroup, LinkId, LinkProperties, Principal, SearchTag, ShortCode,
    SystemClock, Tags, TokenKey,
};
use shunt::store::FlushMark::{Nothing, Whole};
use shunt::store::{
    ClickBatch, ClickDetails, DataSet, FlushId, LinkClicks, MergeRound, NewLink, OwnerSeries,
    Raise, Store,
};

use crate::store::backend::{
    began, both_stores, delete_link, link, moment, plain, user, with_sqlite,
};
use crate::support::clicks::{of_links, of_owner};

const NOON: i64 = 2_000_000;

fn all(owner: Principal) -> OwnerSeries<'static> {
    OwnerSeries {
        owner,
        links: &LinkGroup::ALL,
        range: Interval::FIRST..Interval::LAST,
    }
}

/// The points in order, each interval once.
async fn points(store: &Store, wanted: &OwnerSeries<'_>) -> Vec<(i64, u64)> {
    let snapshot = store.clicks.owner_series(wanted, &[]).await.unwrap();
    let mut points = BTreeMap::<i64, u64>::new();
    for (interval, clicks) in snapshot.points {
        *points.entry(interval.number().into()).or_default() += clicks;
    }
    points.retain(|_, clicks| *clicks > 0);
    points.into_iter().collect()
}

async fn made(store: &Store, owner: Principal, properties: LinkProperties, clicks: u64) -> LinkId {
    let (code, now) = (ShortCode::generate(7).unwrap(), SystemClock.now());
    let mut new = NewLink::new(&code, &properties, owner, now);
    new.clicks = clicks;
    store.create_link(new, 0).await.unwrap().link.id
}

async fn flush(store: &Store, data_set: &DataSet, number: i64, at: i64, clicks: &[LinkClicks]) {
    let flush = FlushId {
        epoch: data_set.epoch.clone(),
        term: data_set.term,
        number,
        interval: Interval::from_number(at),
        name: format!("flush {number}"),
    };
    let none = ClickDetails::default();
    let apply = async || {
        store
            .apply_flush(&flush, Nothing, clicks, &none, Whole)
            .await
    };
    // It waits while many flushes are to be merged.
    while apply().await.unwrap() == Nothing {
        let mut round = MergeRound::default();
        store.clicks.compact(&mut round).await.unwrap();
    }
    assert_eq!(store.flush_mark(&flush).await.unwrap(), Whole);
}

/// The sum of the series of links, in order.
async fn points_of(store: &Store, links: &[LinkId]) -> Vec<(i64, u64)> {
    let mut points = BTreeMap::<i64, u64>::new();
    for link in links {
        let all = Interval::FIRST..Interval::LAST;
        let snapshot = store.clicks.series(*link, all, None).await.unwrap();
        for (interval, clicks) in snapshot.points {
            *points.entry(interval.number().into()).or_default() += clicks;
        }
    }
    points.retain(|_, clicks| *clicks > 0);
    points.into_iter().collect()
}

/// Has all that waits to be summed summed.
async fn sum_all(store: &Store) {
    while store.details.sum_details(u64::MAX).await.unwrap() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_series_of_an_owner_in_sqlite_is_read_from_sums_and_not_by_link() {
    with_sqlite(async |store| {
        let owner = user(&store).await;
        let link = link(&store, owner).await.1;
        let data_set = began(&store).await;
        flush(
            &store,
            &data_set,
            1,
            NOON,
            &of_owner(owner.user, [(link, 1)]),
        )
        .await;
        store
            .by_hand("UPDATE owner_series SET clicks = clicks + 1000")
            .await;
        assert_eq!(points(&store, &all(owner)).await, [(NOON, 1001)]);
    })
    .await;
}

both_stores! {
    async fn the_series_of_an_owner_is_exact_while_all_writers_work_and_links_are_deleted(store) {
        let owner = user(&store).await;
        let (mut kept, mut deleted) = (Vec::new(), Vec::new());
        for number in 0..8 {
            let link = link(&store, owner).await;
            if number % 2 == 0 { kept.push(link.1) } else { deleted.push(link) }
        }
        let mut clicks: Vec<_> = kept.iter().map(|link| (*link, 1)).collect();
        clicks.extend(deleted.iter().map(|(_, link)| (*link, 1)));
        clicks.sort_unstable();
        let clicks = of_owner(owner.user, clicks);
        let data_set = began(&store).await;
        let appends = async {
            for number in 1..=40_u64 {
                let batch = ClickBatch {
                    recorder: 7, number, interval: Interval::from_number(NOON + (number % 4).cast_signed()), clicks: clicks.clone(),
                    details: ClickDetails::default(),
                };
                store.clicks.append(&batch, None).await.unwrap();
            }
        };
        let flushes = async {
            for number in 1..=40 {
                flush(&store, &data_set, number, NOON + number * 3 % 5, &clicks).await;
            }
        };
        let compactions = async {
            for _ in 0..40 {
                store.clicks.compact(&mut MergeRound::default()).await.unwrap();
                store.details.sum_details(u64::MAX).await.unwrap();
            }
        };
        let deletions = async {
            for (code, _) in &deleted {
                points(&store, &all(owner)).await;
                delete_link(&store, owner, code).await;
                store.uncount_deleted(None, 10).await.unwrap();
            }
        };
        tokio::join!(appends, flushes, compactions, deletions);
        while !store.clicks.compact(&mut MergeRound::default()).await.unwrap().done {}
        let expected = points_of(&store, &kept).await;
        assert_eq!(expected.iter().map(|(_, clicks)| clicks).sum::<u64>(), 4 * 80);
        assert_eq!(points(&store, &all(owner)).await, expected);
        sum_all(&store).await;
        assert_eq!(points(&store, &all(owner)).await, expected);
    }

    async fn the_series_of_an_owner_is_the_sum_of_those_of_the_links(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let (_, one) = link(&store, ada).await;
        let tagged = LinkProperties { tags: Tags::parse(["spring"]).unwrap(), ..plain() };
        let two = made(&store, ada, tagged, 0).await;
        let (_, foreign) = link(&store, bob).await;
        let raise = Raise { tag: "{tag}", from: 0, above: 0, replication_id: "server" };
        let data_set = store.begin_data_set(raise, "").await.unwrap().unwrap();
        for (number, interval, clicks) in [(1, NOON, 1), (2, NOON + 2, 10), (3, NOON + 1, 100)] {
            let flush = FlushId {
                epoch: data_set.epoch.clone(), term: data_set.term, number, interval: Interval::from_number(interval),
                name: format!("flush {number}"),
            };
            let mut increments = of_owner(ada.user, [(one, clicks), (two, clicks * 2)]);
            increments.extend(of_owner(bob.user, [(foreign, 7)]));
            assert_eq!(store.apply_flush(&flush, Nothing, &increments, &ClickDetails::default(), Whole).await.unwrap(), Whole);
        }
        let mut clicks = of_owner(ada.user, [(one, 5)]);
        clicks.extend(of_owner(bob.user, [(foreign, 5)]));
        let batch = ClickBatch {
            recorder: 7, number: 1, interval: Interval::from_number(NOON), clicks, details: ClickDetails::default(),
        };
        store.clicks.append(&batch, None).await.unwrap();
        assert_eq!(points(&store, &all(ada)).await, [(NOON, 8), (NOON + 1, 300), (NOON + 2, 30)]);
        let tag = SearchTag::parse("spring").unwrap();
        let tagged = LinkGroup { tag: Some(tag), domain: None };
        let spring = OwnerSeries { links: &tagged, ..all(ada) };
        assert_eq!(points(&store, &spring).await, [(NOON, 2), (NOON + 1, 200), (NOON + 2, 20)]);
        let part = OwnerSeries { range: Interval::from_number(NOON + 1)..Interval::from_number(NOON + 2), ..all(ada) };
        assert_eq!(points(&store, &part).await, [(NOON + 1, 300)]);
        let asked = store.clicks.owner_series(&spring, &[one, two, foreign]).await.unwrap();
        assert_eq!(asked.owned.into_iter().collect::<Vec<_>>(), [two]);
        let [written] = asked.data_sets.try_into().unwrap();
        assert_eq!((written.flush, written.up_to, written.is_newest, written.is_draining), (3, Whole, true, false));
        let stranger = Principal { key: TokenKey::generate().unwrap(), ..ada };
        assert_eq!(points(&store, &all(stranger)).await, []);
    }

    async fn a_count_with_which_a_link_was_made_is_in_the_series_of_its_owner(store) {
        let owner = user(&store).await;
        let before = Interval::of(SystemClock.now()).number();
        made(&store, owner, plain(), 40).await;
        let [(at, clicks)] = points(&store, &all(owner)).await.try_into().unwrap();
        assert!((before.into()..=i64::from(before) + 1).contains(&at), "{at}");
        assert_eq!(clicks, 40);
    }

    async fn parked_batches_are_named_with_the_series_of_an_owner(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let batch = ClickBatch { recorder: 7, number: 1, interval: Interval::from_number(NOON), clicks: of_links([(id, 1)]), details: ClickDetails::default() };
        store.clicks.append(&batch, Some("epoch")).await.unwrap();
        let snapshot = store.clicks.owner_series(&all(owner), &[]).await.unwrap();
        assert!(snapshot.points.is_empty() && snapshot.parked_in.contains("epoch"), "{snapshot:?}");
    }

    async fn links_that_end_come_in_the_order_of_their_ends(store) {
        let owner = user(&store).await;
        let ending = |micros| LinkProperties { expires_at: Some(moment(micros)), ..plain() };
        let later = made(&store, owner, ending(3_000_000), 0).await;
        let sooner = made(&store, owner, ending(2_000_000), 0).await;
        made(&store, owner, ending(1_000_000), 0).await;
        made(&store, owner, LinkProperties { is_active: false, ..ending(2_500_000) }, 0).await;
        made(&store, owner, plain(), 0).await;
        let found = async |limit| {
            let read = store.ending_links(owner, moment(1_000_000), limit).await.unwrap();
            read.value.iter().map(|link| link.id).collect::<Vec<_>>()
        };
        assert_eq!(found(10).await, [sooner, later]);
        assert_eq!(found(1).await, [sooner]);
    }

    async fn a_link_says_when_it_was_made(store) {
        let owner = user(&store).await;
        let (code, properties) = (ShortCode::generate(7).unwrap(), plain());
        let new = NewLink::new(&code, &properties, owner, moment(1_234_567));
        store.create_link(new, 0).await.unwrap();
        let made = store.link_made(&code).await.unwrap().unwrap();
        assert_eq!((made.at, made.max_clicks), (moment(1_234_567), None));
        let other = ShortCode::generate(7).unwrap();
        assert_eq!(store.link_made(&other).await.unwrap(), None);
    }
}
