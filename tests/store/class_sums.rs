//! Breakdowns of random ranges are the sums of just the clicks in them, however the databases read them.

use std::collections::BTreeMap;
use std::sync::Arc;

use shunt::domain::{ClickClass, Dimension, Interval, LinkId};
use shunt::store::{ClicksOf, Store};

use crate::store::backend::{TestStore, both_stores, delete_link, link, user};
use crate::store::details::{DAY, batch, breakdown, count, query, row, sum};

const DAYS: u64 = 12;

/// A sequence of numbers that look random, the same in each run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn interval(&mut self) -> i64 {
        DAY + i64::try_from(self.below(DAYS * 96)).unwrap()
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()]
    }
}

/// Every click: the link, its interval, its country.
type Clicks = Vec<(LinkId, i64, String, u64)>;

/// Counts clicks of both links in random intervals, which are in no order: all but the first come late.
async fn click(store: &Store, numbers: &mut Numbers, links: [LinkId; 2], first: u64) -> Clicks {
    let mut clicks = Clicks::new();
    for number in first..first + 40 {
        let link = numbers.one_of(&links);
        let interval = numbers.interval();
        let country = numbers.one_of(&["DE", "FR", "IN", "US"]);
        let class = ClickClass::unknown()
            .with(Dimension::Country, Some(country))
            .with(Dimension::Bot, Some("false"));
        let times = 1 + numbers.below(9);
        count(
            store,
            &batch(number, interval, &[(link, &Arc::new(class), times)]),
        )
        .await;
        clicks.push((link, interval, country.into(), times));
    }
    sum(store).await;
    clicks
}

/// Compares breakdowns of random ranges, of whole days and of today's kind, which ends after the newest click.
async fn compare(store: &Store, numbers: &mut Numbers, of: ClicksOf, clicks: &Clicks) {
    for case in 0..60 {
        let (one, other) = (numbers.interval(), numbers.interval() + 1);
        let (mut start, mut end) = (one.min(other), one.max(other));
        match case % 3 {
            0 => (start, end) = (start - start % 96, end - end % 96),
            1 => {
                let newest = clicks.iter().map(|(_, interval, ..)| *interval).max();
                end = newest.unwrap() + 1;
            }
            _ => (),
        }
        let mut expected = BTreeMap::<&str, u64>::new();
        for (_, interval, country, times) in clicks {
            if (start..end).contains(interval) {
                *expected.entry(country).or_default() += times;
            }
        }
        let mut asked = query(of.clone(), Dimension::Country);
        asked.range = Interval::from_number(start)..Interval::from_number(end.max(start));
        let mut found = breakdown(store, &asked).await;
        found.sort();
        let expected = expected
            .into_iter()
            .map(|(country, times)| row(country, times, times));
        assert_eq!(
            found,
            expected.collect::<Vec<_>>(),
            "{of:?} from {start} to {end}"
        );
    }
}

pub(crate) async fn remove_deleted(store: &TestStore) {
    if !store.is_sqlite() {
        store
            .by_hand("UPDATE deleted_details SET deleted_at = now_micros() - 2 * 60000000")
            .await;
    }
    while store.details.remove_details_of_deleted(7).await.unwrap() {}
}

both_stores! {
    async fn breakdowns_of_any_range_have_just_its_clicks(store) {
        let mut numbers = Numbers(28);
        let owner = user(&store).await;
        let (code, gone) = link(&store, owner).await;
        let (_, stays) = link(&store, owner).await;
        let of_owner = ClicksOf::Owner(owner.user);
        let mut clicks = Clicks::new();
        for first in [1, 41, 81] {
            clicks.extend(click(&store, &mut numbers, [gone, stays], first).await);
            compare(&store, &mut numbers, of_owner.clone(), &clicks).await;
            for id in [gone, stays] {
                let of_link = clicks.iter().filter(|(link, ..)| *link == id).cloned().collect();
                compare(&store, &mut numbers, ClicksOf::Link(id), &of_link).await;
            }
        }
        delete_link(&store, owner, &code).await;
        remove_deleted(&store).await;
        clicks.retain(|(link, ..)| *link == stays);
        compare(&store, &mut numbers, of_owner, &clicks).await;
        assert_eq!(breakdown(&store, &query(ClicksOf::Link(gone), Dimension::Country)).await, []);
    }

    async fn a_breakdown_may_end_at_the_last_moment_there_is(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let known = Arc::new(ClickClass::unknown().with(Dimension::Country, Some("DE")));
        count(&store, &batch(1, DAY, &[(id, &known, 3)])).await;
        sum(&store).await;
        for of in [ClicksOf::Link(id), ClicksOf::Owner(owner.user)] {
            let mut asked = query(of, Dimension::Country);
            for start in [Interval::FIRST.number(), i32::try_from(DAY).unwrap()] {
                asked.range = Interval::from_number(i64::from(start))..Interval::LAST;
                assert_eq!(breakdown(&store, &asked).await, [row("DE", 3, 3)]);
            }
            asked.range = Interval::from_number(i64::from(i32::MAX) - 1)..Interval::LAST;
            assert_eq!(breakdown(&store, &asked).await, []);
        }
    }
}
