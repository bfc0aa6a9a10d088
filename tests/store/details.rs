//! What is kept of visitors: each counted click is in the sums once, and they are bounded.

use std::sync::Arc;

use shunt::domain::{ClickClass, Dimension, Interval, LinkGroup, LinkId, SearchTag, UserId};
use shunt::store::FlushMark::{Nothing, UpTo, Whole};
use shunt::store::{
    BreakdownQuery, ClickBatch, ClickDetails, ClicksOf, DetailedClicks, FlushId,
    MAX_REFERRERS_OF_LINK, MergeRound, Store,
};

use crate::store::backend::{began, both_stores, delete_link, link, user};
use crate::store::click_limits::limited;
use crate::support::clicks::of_links;

/// The first quarter of an hour of a day.
pub(crate) const DAY: i64 = 96 * 20_000;
pub(crate) const NOON: i64 = DAY + 48;

pub(crate) fn class(referrer: &str, country: &str, is_bot: bool) -> Arc<ClickClass> {
    let class = ClickClass::unknown()
        .with(Dimension::Referrer, Some(referrer))
        .with(Dimension::Country, Some(country))
        .with(Dimension::Bot, Some(if is_bot { "true" } else { "false" }));
    Arc::new(class)
}

fn details(parts: &[(LinkId, &Arc<ClickClass>, u64)]) -> ClickDetails {
    let part = |(link, class, clicks): &(LinkId, &Arc<ClickClass>, u64)| DetailedClicks {
        link: *link,
        class: Arc::clone(class),
        clicks: *clicks,
    };
    ClickDetails::new(parts.iter().map(part).collect())
}

/// A batch of just these clicks.
pub(crate) fn batch(
    number: u64,
    interval: i64,
    parts: &[(LinkId, &Arc<ClickClass>, u64)],
) -> ClickBatch {
    let details = details(parts);
    let mut clicks = Vec::<(LinkId, u64)>::new();
    for part in details.of_links() {
        match clicks.last_mut() {
            Some((link, sum)) if *link == part.link => *sum += part.clicks,
            _ => clicks.push((part.link, part.clicks)),
        }
    }
    ClickBatch {
        recorder: 7,
        number,
        interval: Interval::from_number(interval),
        clicks: of_links(clicks),
        details,
    }
}

pub(crate) async fn count(store: &Store, batch: &ClickBatch) {
    store.clicks.append(batch, None).await.unwrap();
    while !store
        .clicks
        .compact(&mut MergeRound::default())
        .await
        .unwrap()
        .done
    {}
}

pub(crate) async fn sum(store: &Store) {
    sum_within(store, u64::MAX).await;
}

pub(crate) async fn sum_within(store: &Store, rows_per_day: u64) {
    while store.details.sum_details(rows_per_day).await.unwrap() {}
}

pub(crate) fn query(of: ClicksOf, by: Dimension) -> BreakdownQuery {
    BreakdownQuery {
        of,
        range: Interval::FIRST..Interval::LAST,
        by,
        filters: Vec::new(),
        limit: 10,
    }
}

/// The values with their clicks and those of people; `-` is the value that is not known, `+` all others.
pub(crate) async fn breakdown(store: &Store, query: &BreakdownQuery) -> Vec<(String, u64, u64)> {
    let found = store.details.breakdown(query).await.unwrap();
    let rows = found.rows.into_iter();
    let mut rows: Vec<_> = rows
        .map(|(value, sum)| (value.unwrap_or("-".into()), sum.clicks, sum.people))
        .collect();
    if found.other.clicks > 0 {
        rows.push(("+".into(), found.other.clicks, found.other.people));
    }
    let clicks: u64 = rows.iter().map(|(_, clicks, _)| clicks).sum();
    assert_eq!(clicks, found.total.clicks);
    rows
}

pub(crate) fn row(value: &str, clicks: u64, people: u64) -> (String, u64, u64) {
    (value.into(), clicks, people)
}

both_stores! {
    async fn clicks_of_the_journal_are_broken_down_by_each_value(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let (known, bot) = (class("example.com", "DE", false), class("example.com", "FR", true));
        let unknown = Arc::new(ClickClass::unknown());
        count(&store, &batch(1, NOON, &[(one, &known, 3), (one, &unknown, 1), (two, &bot, 5)])).await;
        assert_eq!(breakdown(&store, &query(ClicksOf::Link(one), Dimension::Country)).await, []);
        sum(&store).await;
        count(&store, &batch(2, NOON + 1, &[(one, &bot, 2)])).await;
        sum(&store).await;
        let of_one = query(ClicksOf::Link(one), Dimension::Country);
        assert_eq!(breakdown(&store, &of_one).await, [row("DE", 3, 3), row("FR", 2, 0), row("-", 1, 1)]);
        let by_bot = query(ClicksOf::Link(one), Dimension::Bot);
        assert_eq!(breakdown(&store, &by_bot).await, [row("false", 3, 3), row("true", 2, 0), row("-", 1, 1)]);
        let of_all = query(ClicksOf::Owner(owner.user), Dimension::Referrer);
        assert_eq!(breakdown(&store, &of_all).await, [row("example.com", 10, 3), row("-", 1, 1)]);
        let mut filtered = of_all.clone();
        filtered.filters = vec![(Dimension::Country, Some("DE".into())), (Dimension::Bot, Some("false".into()))];
        assert_eq!(breakdown(&store, &filtered).await, [row("example.com", 3, 3)]);
        filtered.filters = vec![(Dimension::Country, None)];
        assert_eq!(breakdown(&store, &filtered).await, [row("-", 1, 1)]);
        let mut short = of_one;
        short.limit = 1;
        short.filters = vec![(Dimension::Referrer, Some("example.com".into()))];
        assert_eq!(breakdown(&store, &short).await, [row("DE", 3, 3), row("+", 2, 0)]);
    }

    async fn a_part_of_a_flush_that_is_written_again_is_in_the_sums_once(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let data_set = began(&store).await;
        let interval = Interval::from_number(NOON);
        let flush = FlushId { epoch: data_set.epoch, term: data_set.term, number: 1, name: "a".into(), interval };
        let known = class("example.com", "DE", false);
        for _ in 0..2 {
            let part = details(&[(one, &known, 3)]);
            store.apply_flush(&flush, Nothing, &of_links([(one, 3)]), &part, UpTo(one)).await.unwrap();
        }
        for _ in 0..2 {
            let part = details(&[(two, &known, 4)]);
            store.apply_flush(&flush, UpTo(one), &of_links([(two, 4)]), &part, Whole).await.unwrap();
        }
        sum(&store).await;
        let of_all = query(ClicksOf::Owner(owner.user), Dimension::Country);
        assert_eq!(breakdown(&store, &of_all).await, [row("DE", 7, 7)]);
    }

    async fn only_granted_clicks_are_in_the_sums_and_a_repetition_is_not(store) {
        let (_, id) = limited(&store).await;
        let asked = batch(1, NOON, &[(id, &class("example.com", "DE", false), 12)]);
        for _ in 0..2 {
            store.clicks.grant(&asked).await.unwrap();
        }
        sum(&store).await;
        let of_link = query(ClicksOf::Link(id), Dimension::Country);
        assert_eq!(breakdown(&store, &of_link).await, [row("DE", 10, 10)]);
    }

    async fn a_parked_batch_comes_back_with_its_classes_and_is_in_no_sum(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let parked = batch(1, NOON, &[(id, &class("example.com", "DE", false), 5)]);
        store.clicks.append(&parked, Some("epoch")).await.unwrap();
        assert_eq!(store.clicks.parked(None, 10).await.unwrap()[0].batch, parked);
        sum(&store).await;
        assert_eq!(breakdown(&store, &query(ClicksOf::Link(id), Dimension::Country)).await, []);
    }

    async fn a_breakdown_is_of_just_the_intervals_that_are_asked_for(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let known = class("example.com", "DE", false);
        let intervals = [DAY - 1, DAY, NOON, DAY + 95, DAY + 96, DAY + 2 * 96 + 5];
        for (number, interval) in (1..).zip(intervals) {
            count(&store, &batch(number, interval, &[(id, &known, 10_u64.pow(u32::try_from(number).unwrap() - 1))])).await;
        }
        sum(&store).await;
        for (start, end, clicks) in [
            (DAY, DAY + 96, 1_110),
            (DAY - 1, DAY + 96, 1_111),
            (DAY + 1, DAY + 97, 11_100),
            (NOON, NOON + 1, 100),
            (DAY - 90, DAY + 3 * 96, 111_111),
            (NOON, NOON, 0),
        ] {
            for of in [ClicksOf::Link(id), ClicksOf::Owner(owner.user)] {
                let mut asked = query(of, Dimension::Country);
                asked.range = Interval::from_number(start)..Interval::from_number(end);
                let found = store.details.breakdown(&asked).await.unwrap();
                assert_eq!(found.total.clicks, clicks, "{start} to {end}");
            }
        }
        let before = Interval::from_number(DAY + 96);
        assert_eq!(store.details.prune_details(before, 100).await.unwrap(), 4, "two days of the link and of its owner");
        let mut asked = query(ClicksOf::Link(id), Dimension::Country);
        assert_eq!(breakdown(&store, &asked).await, [row("DE", 111_111, 111_111)]);
        asked.range = Interval::from_number(DAY)..Interval::from_number(DAY + 96);
        assert_eq!(breakdown(&store, &asked).await, [row("DE", 1_110, 1_110)]);
    }

    async fn random_referrers_do_not_fill_the_database(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let known = class("example.com", "DE", false);
        count(&store, &batch(1, NOON, &[(id, &known, 5)])).await;
        sum(&store).await;
        for number in 2..12 {
            let random: Vec<_> = (0..100).map(|host| class(&format!("x{number}-{host}.example"), "DE", false)).collect();
            let parts: Vec<_> = random.iter().map(|class| (id, class, 1)).collect();
            count(&store, &batch(number, NOON, &parts)).await;
            sum(&store).await;
        }
        count(&store, &batch(12, NOON + 1, &[(id, &known, 5)])).await;
        sum(&store).await;
        let mut by_referrer = query(ClicksOf::Link(id), Dimension::Referrer);
        by_referrer.limit = 10_000;
        let found = store.details.breakdown(&by_referrer).await.unwrap();
        assert_eq!(found.rows.len(), MAX_REFERRERS_OF_LINK);
        assert_eq!(found.rows[0].0.as_deref(), Some("example.com"));
        assert_eq!((found.rows[0].1.clicks, found.total.clicks), (10, 1_010));
        assert_eq!(found.other.clicks, 1_010 - 10 - (MAX_REFERRERS_OF_LINK as u64 - 1));
    }

    async fn a_deleted_link_leaves_the_sums_of_its_owner(store) {
        let owner = user(&store).await;
        let (code, gone) = link(&store, owner).await;
        let (_, stays) = link(&store, owner).await;
        let known = class("example.com", "DE", false);
        count(&store, &batch(1, NOON, &[(gone, &known, 3), (stays, &known, 4)])).await;
        sum(&store).await;
        delete_link(&store, owner, &code).await;
        if !store.is_sqlite() {
            assert!(!store.details.remove_details_of_deleted(100).await.unwrap(), "a summing may be under way");
            store.by_hand("UPDATE deleted_details SET deleted_at = now_micros() - 2 * 60000000").await;
        }
        while store.details.remove_details_of_deleted(100).await.unwrap() {}
        assert_eq!(breakdown(&store, &query(ClicksOf::Link(gone), Dimension::Country)).await, []);
        assert_eq!(breakdown(&store, &query(ClicksOf::Owner(owner.user), Dimension::Country)).await, [row("DE", 4, 4)]);
        count(&store, &batch(2, NOON, &[(gone, &known, 3)])).await;
        sum(&store).await;
        assert_eq!(breakdown(&store, &query(ClicksOf::Link(gone), Dimension::Country)).await, []);
    }

    async fn nothing_of_a_deleted_account_is_left_in_the_sums(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        count(&store, &batch(1, NOON, &[(id, &class("example.com", "DE", true), 3)])).await;
        sum(&store).await;
        store.delete_user(owner, true, shunt::domain::Clock::now(&shunt::domain::SystemClock)).await.unwrap();
        while store.remove_deleted_users(100).await.unwrap() {}
        if !store.is_sqlite() {
            store.by_hand("UPDATE deleted_details SET deleted_at = now_micros() - 2 * 60000000").await;
        }
        while store.details.remove_details_of_deleted(100).await.unwrap() {}
        store
            .by_hand(
                "INSERT INTO deleted_details (link_id, owner_id) SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM class_days)
                 OR EXISTS (SELECT 1 FROM class_quarters)",
            )
            .await;
        assert!(!store.details.remove_details_of_deleted(100).await.unwrap());
    }

    async fn links_with_a_tag_are_broken_down_together(store) {
        let owner = user(&store).await;
        let (_, tagged) = link(&store, owner).await;
        let (_, other) = link(&store, owner).await;
        let known = class("example.com", "DE", false);
        count(&store, &batch(1, NOON, &[(tagged, &known, 3), (other, &known, 4)])).await;
        sum(&store).await;
        store.by_hand(if store.is_sqlite() {
            "INSERT INTO link_tags (link_id, tag, owner_id, created_at) SELECT min(id), 'spring', owner_id, 1 FROM links"
        } else {
            "INSERT INTO link_tags (link_id, tag, owner_id, created_at) SELECT id, 'spring', owner_id, now_micros() FROM links ORDER BY id LIMIT 1"
        }).await;
        let of_tag = |owner: UserId, tag: &str| query(ClicksOf::Group(owner, LinkGroup { tag: Some(SearchTag::parse(tag).unwrap()), domain: None }), Dimension::Country);
        assert_eq!(breakdown(&store, &of_tag(owner.user, "spring")).await, [row("DE", 3, 3)]);
        assert_eq!(breakdown(&store, &of_tag(owner.user, "autumn")).await, []);
    }

    async fn a_series_has_the_clicks_of_bots(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let (person, bot) = (class("example.com", "DE", false), class("", "DE", true));
        count(&store, &batch(1, NOON, &[(id, &person, 3), (id, &bot, 2)])).await;
        count(&store, &batch(2, NOON + 1, &[(id, &bot, 5)])).await;
        sum(&store).await;
        let range = Interval::FIRST..Interval::from_number(NOON + 1);
        let found = store.clicks.series(id, range, None).await.unwrap();
        assert_eq!(found.bots, [(Interval::from_number(NOON), 2)]);
    }
}
