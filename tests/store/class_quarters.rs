//! Quarters of an hour with many classes leave the row of their day, and count as before.

use std::sync::Arc;

use shunt::domain::{
    ClickClass, Clock, Dimension, Interval, LinkGroup, LinkId, Principal, SystemClock, TokenKey,
};
use shunt::store::{ClicksOf, MAX_REFERRERS_OF_OWNER, OwnerSeries, Store};

use crate::store::backend::{both_stores, delete_link, link, user};
use crate::store::class_sums::remove_deleted;
use crate::store::details::{DAY, batch, breakdown, class, count, query, row, sum};

/// Many classes, and so a long row: a tenth of them are bots, and half of them come from each country.
fn agents() -> Vec<Arc<ClickClass>> {
    let agent = |number: u32| {
        let class = ClickClass::unknown()
            .with(Dimension::Browser, Some(&format!("agent{number}")))
            .with(
                Dimension::Country,
                Some(if number.is_multiple_of(2) { "DE" } else { "FR" }),
            );
        let is_bot = if number.is_multiple_of(10) {
            "true"
        } else {
            "false"
        };
        Arc::new(class.with(Dimension::Bot, Some(is_bot)))
    };
    (0..500).map(agent).collect()
}

/// Has each class click each of these links once in each of these quarters of a day, and all clicks summed.
async fn click(store: &Store, links: &[LinkId], quarters: &[i64], first: u64) {
    let agents = agents();
    for (number, quarter) in (first..).zip(quarters) {
        let of_link = |link| agents.iter().map(move |class| (link, class, 1));
        let clicks: Vec<_> = links.iter().copied().flat_map(of_link).collect();
        count(store, &batch(number, DAY + quarter, &clicks)).await;
        sum(store).await;
    }
}

/// The clicks from each country in some quarters of the day.
async fn clicks_in(store: &Store, of: ClicksOf, start: i64, end: i64) -> Vec<(String, u64, u64)> {
    let mut asked = query(of, Dimension::Country);
    asked.range = Interval::from_number(DAY + start)..Interval::from_number(DAY + end);
    breakdown(store, &asked).await
}

fn of_quarters(quarters: u64) -> [(String, u64, u64); 2] {
    [
        row("DE", 250 * quarters, 200 * quarters),
        row("FR", 250 * quarters, 250 * quarters),
    ]
}

both_stores! {
    async fn quarters_that_have_left_their_row_are_in_the_whole_day_and_in_its_parts(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        click(&store, &[id], &[3, 40, 41, 41, 90], 1).await;
        let kinds = [ClicksOf::Link(id), ClicksOf::Owner(owner.user)];
        for of in &kinds {
            for (start, end, quarters) in [(0, 96, 5), (-96, 192, 5), (0, 41, 2), (41, 42, 2), (40, 91, 4), (4, 95, 4), (90, 91, 1)] {
                assert_eq!(clicks_in(&store, of.clone(), start, end).await, of_quarters(quarters), "{of:?} {start} {end}");
            }
            assert_eq!(clicks_in(&store, of.clone(), 42, 90).await, []);
        }
        let range = Interval::from_number(DAY)..Interval::from_number(DAY + 96);
        let bots = store.clicks.series(id, range, None).await.unwrap().bots;
        let expected = [(3, 50), (40, 50), (41, 100), (90, 50)];
        assert_eq!(bots, expected.map(|(quarter, clicks)| (Interval::from_number(DAY + quarter), clicks)));
        store.by_hand("DELETE FROM class_quarters").await;
        for of in kinds {
            assert_eq!(clicks_in(&store, of.clone(), 0, 41).await, [], "they had left");
            assert_eq!(clicks_in(&store, of.clone(), 0, 96).await, of_quarters(5));
            assert_eq!(clicks_in(&store, of, 90, 96).await, of_quarters(1), "the newest one had not");
        }
    }

    async fn a_day_whose_quarters_are_not_kept_any_more_counts_where_it_begins(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        click(&store, &[id], &[3, 40, 90, 100], 1).await;
        let before = Interval::from_number(DAY + 96);
        while store.details.prune_details(before, 100).await.unwrap() > 0 {}
        // One click comes late, after its quarter is not kept any more.
        click(&store, &[id], &[50], 5).await;
        while store.details.prune_details(before, 100).await.unwrap() > 0 {}
        for of in [ClicksOf::Link(id), ClicksOf::Owner(owner.user)] {
            assert_eq!(clicks_in(&store, of.clone(), 0, 96).await, of_quarters(4));
            assert_eq!(clicks_in(&store, of.clone(), -50, 20).await, of_quarters(4), "the day begins in it");
            assert_eq!(clicks_in(&store, of.clone(), 1, 96).await, []);
            assert_eq!(clicks_in(&store, of, 1, 101).await, of_quarters(1), "the next day is kept");
        }
        store.by_hand("DELETE FROM class_days WHERE octet_length(quarters) > 0").await;
        assert_eq!(clicks_in(&store, ClicksOf::Link(id), 0, 200).await, of_quarters(4), "only the next day has quarters");
        let range = Interval::from_number(DAY)..Interval::from_number(DAY + 96);
        let bots = store.clicks.series(id, range, None).await.unwrap().bots;
        let expected = [(3, 50), (40, 50), (50, 50), (90, 50)];
        assert_eq!(bots, expected.map(|(quarter, clicks)| (Interval::from_number(DAY + quarter), clicks)), "bots are kept by quarter");
    }

    async fn a_deleted_link_leaves_the_quarters_of_its_owner_whether_they_have_left_their_row_or_are_not_kept(store) {
        for is_pruned in [false, true] {
            let owner = user(&store).await;
            let (code, gone) = link(&store, owner).await;
            let (_, stays) = link(&store, owner).await;
            click(&store, &[gone, stays], &[3, 40, 90], if is_pruned { 4 } else { 1 }).await;
            if is_pruned {
                while store.details.prune_details(Interval::from_number(DAY + 96), 100).await.unwrap() > 0 {}
            }
            delete_link(&store, owner, &code).await;
            remove_deleted(&store).await;
            let of_owner = ClicksOf::Owner(owner.user);
            for of in [of_owner.clone(), ClicksOf::Link(stays)] {
                assert_eq!(clicks_in(&store, of.clone(), 0, 96).await, of_quarters(3));
                let first_two = if is_pruned { 3 } else { 2 };
                assert_eq!(clicks_in(&store, of, 0, 41).await, of_quarters(first_two));
            }
            assert_eq!(clicks_in(&store, ClicksOf::Link(gone), 0, 96).await, []);
        }
    }

    async fn links_whose_referrers_their_account_had_no_room_for_leave_its_sums_when_they_are_deleted(store) {
        let hosts: Vec<_> = (0..12 * 99).map(|host| class(&format!("h{host}.example"), "DE", false)).collect();
        let mut number = 0;
        let mut click_all = async |links: &[LinkId], hosts: &[Arc<ClickClass>]| {
            let of_links = links.iter().zip(hosts.chunks(99));
            let clicks: Vec<_> = of_links.flat_map(|(link, hosts)| hosts.iter().map(|class| (*link, class, 1))).collect();
            number += 1;
            count(&store, &batch(number, DAY, &clicks)).await;
            sum(&store).await;
        };
        // Two accounts make all classes known to the database.
        let mut owners = Vec::new();
        for half in hosts.chunks(6 * 99) {
            let owner = user(&store).await;
            let mut links = Vec::new();
            for _ in 0..6 {
                links.push(link(&store, owner).await.1);
            }
            click_all(&links, half).await;
            owners.push(owner);
        }
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..12 {
            links.push(link(&store, owner).await);
        }
        let ids: Vec<_> = links.iter().map(|(_, id)| *id).collect();
        click_all(&ids, &hosts).await;
        let mut by_referrer = query(ClicksOf::Owner(owner.user), Dimension::Referrer);
        by_referrer.limit = 10_000;
        let found = store.details.breakdown(&by_referrer).await.unwrap();
        assert_eq!((found.rows.len(), found.total.clicks), (MAX_REFERRERS_OF_OWNER, 12 * 99));
        let last = links.pop().unwrap();
        for (code, _) in links {
            delete_link(&store, owner, &code).await;
        }
        remove_deleted(&store).await;
        assert_eq!(store.details.breakdown(&by_referrer).await.unwrap().total.clicks, 99);
        delete_link(&store, owner, &last.0).await;
        remove_deleted(&store).await;
        assert_eq!(breakdown(&store, &by_referrer).await, []);
        owners.push(owner);
        for owner in owners {
            store.delete_user(owner, true, Clock::now(&SystemClock)).await.unwrap();
        }
        while store.remove_deleted_users(100).await.unwrap() {}
        remove_deleted(&store).await;
        store.by_hand("INSERT INTO deleted_details (link_id, owner_id) SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM class_days)").await;
        assert!(!store.details.remove_details_of_deleted(100).await.unwrap());
    }

    async fn a_day_that_is_invalid_begins_anew_and_keeps_no_other_from_being_merged(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        click(&store, &[id], &[3], 1).await;
        store.by_hand(if store.is_sqlite() {
            "UPDATE class_days SET ended = x'ff' WHERE whose > 0"
        } else {
            "UPDATE class_days SET ended = '\\xff' WHERE whose > 0"
        }).await;
        let (_, other) = link(&store, owner).await;
        click(&store, &[id, other], &[40, 41], 2).await;
        assert_eq!(clicks_in(&store, ClicksOf::Link(id), 0, 96).await, of_quarters(2), "since then");
        assert_eq!(clicks_in(&store, ClicksOf::Link(other), 0, 96).await, of_quarters(2));
        assert_eq!(clicks_in(&store, ClicksOf::Owner(owner.user), 0, 96).await, of_quarters(5));
    }

    async fn bots_of_a_deleted_link_are_not_in_the_series_of_its_owner_before_and_after_its_classes_are_removed(store) {
        let owner = user(&store).await;
        let (code, gone) = link(&store, owner).await;
        let (_, stays) = link(&store, owner).await;
        click(&store, &[gone, stays], &[3, 40], 1).await;
        let wanted = OwnerSeries { owner, links: &LinkGroup::ALL, range: Interval::FIRST..Interval::LAST };
        let bots = async |of_quarter| {
            let mut found = store.details.bots_of_owner(&wanted).await.unwrap();
            found.sort_unstable();
            assert_eq!(found, [(Interval::from_number(DAY + 3), of_quarter), (Interval::from_number(DAY + 40), of_quarter)]);
        };
        bots(100).await;
        delete_link(&store, owner, &code).await;
        bots(50).await;
        remove_deleted(&store).await;
        bots(50).await;
        let stranger = OwnerSeries { owner: Principal { key: TokenKey::generate().unwrap(), ..owner }, ..wanted.clone() };
        assert_eq!(store.details.bots_of_owner(&stranger).await.unwrap(), []);
    }

    async fn random_referrers_over_many_links_do_not_fill_the_database(store) {
        let owner = user(&store).await;
        let known = class("example.com", "DE", false);
        let mut links = Vec::new();
        for _ in 0..12 {
            links.push(link(&store, owner).await.1);
        }
        count(&store, &batch(1, DAY, &[(links[0], &known, 5)])).await;
        sum(&store).await;
        for (number, links) in (2..).zip(links.chunks(6)) {
            let mut hosts = Vec::new();
            for (index, link) in links.iter().enumerate() {
                for host in 0..99 {
                    hosts.push((*link, class(&format!("y{number}-{index}-{host}.example"), "DE", false)));
                }
            }
            let clicks: Vec<_> = hosts.iter().map(|(link, class)| (*link, class, 1)).collect();
            count(&store, &batch(number, DAY, &clicks)).await;
            sum(&store).await;
        }
        count(&store, &batch(4, DAY + 1, &[(links[11], &known, 5)])).await;
        sum(&store).await;
        let mut by_referrer = query(ClicksOf::Owner(owner.user), Dimension::Referrer);
        by_referrer.limit = 10_000;
        let found = store.details.breakdown(&by_referrer).await.unwrap();
        assert_eq!(found.rows.len(), MAX_REFERRERS_OF_OWNER);
        assert_eq!((found.rows[0].0.as_deref(), found.rows[0].1.clicks), (Some("example.com"), 10));
        assert_eq!(found.total.clicks, 10 + 12 * 99);
        let mut named = 0;
        for id in links {
            by_referrer.of = ClicksOf::Link(id);
            let found = store.details.breakdown(&by_referrer).await.unwrap();
            let rows = found.rows.iter();
            named += rows.filter(|(value, _)| value.as_deref() != Some("example.com")).count();
        }
        assert_eq!(named, MAX_REFERRERS_OF_OWNER - 1, "referrers that are new to the database");
    }
}
