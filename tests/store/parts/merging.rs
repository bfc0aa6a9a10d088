//! What must not stop a merge, and clicks that are not merged yet.

use shunt::domain::{Interval, LinkGroup, LinkId, Principal, SearchTag};
use shunt::store::FlushMark::{Nothing, Whole};
use shunt::store::{ClickBatch, ClickDetails, Grant, LinkClicks, MergeRound, OwnerSeries, Store};
use sqlx::{Connection, PgConnection};

use super::{NOON, PARTS, clicks_of_owner, count, flush_of, merge, number, series, whole};
use crate::store::backend::{began, delete_link, link, user, with_primary};
use crate::support::clicks::of_owner;

#[tokio::test]
async fn links_whose_row_is_locked_keep_no_others_from_being_merged() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let mut links = Vec::new();
        for _ in 0..2 {
            links.push(link(&store, owner).await.1);
        }
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let data_set = began(&store).await;
        for (number, id) in (1..).zip(&links) {
            whole(&store, &flush_of(&data_set, number, NOON), owner, &[(*id, 1)]).await;
        }
        merge(&store).await;
        let mut holder = PgConnection::connect(&url).await.unwrap();
        let mut holding = holder.begin().await.unwrap();
        let lock = sqlx::query("SELECT FROM link_clicks WHERE link_id = $1 FOR UPDATE");
        lock.bind(links[0].number()).execute(&mut *holding).await.unwrap();
        // Parts of eighty bands: a step has sixty-four.
        let filled = "INSERT INTO click_parts SELECT (n << 12) + 7, '', 0, 2000000, '{1}', '{1}', '{1}' FROM generate_series(1000, 1079) n";
        sqlx::raw_sql(filled).execute(&mut by_hand).await.unwrap();
        whole(&store, &flush_of(&data_set, 3, NOON), owner, &[(links[0], 1)]).await;
        let mut round = MergeRound::default();
        let failed = store.clicks.compact(&mut round).await;
        assert!(failed.is_err() && round.has_begun());
        while !store.clicks.compact(&mut round).await.unwrap().done {}
        assert!(number(&mut by_hand, PARTS).await < 80);
        holding.rollback().await.unwrap();
        merge(&store).await;
        assert_eq!(number(&mut by_hand, PARTS).await, 0);
        assert_eq!(count(&store, links[0]).await, 2);
    })
    .await;
}

#[tokio::test]
async fn sums_that_no_click_makes_stop_no_writer() {
    with_primary(async |primary, _| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, other) = link(&store, owner).await;
        let data_set = began(&store).await;
        for number in 1..4 {
            let nonsense = [(one, u64::MAX), (other, u64::MAX)];
            whole(&store, &flush_of(&data_set, number, NOON), owner, &nonsense).await;
            merge(&store).await;
            while store.details.sum_details(0).await.unwrap() {}
        }
        let (_, third) = link(&store, owner).await;
        whole(
            &store,
            &flush_of(&data_set, 4, NOON + 1),
            owner,
            &[(third, 1)],
        )
        .await;
        merge(&store).await;
        assert_eq!(count(&store, third).await, 1);
        assert_eq!(count(&store, one).await, i64::MAX.unsigned_abs());
    })
    .await;
}

#[tokio::test]
async fn intervals_whose_clicks_come_late_again_and_again_are_one_point_each() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        for number in 1..=100 {
            whole(
                &store,
                &flush_of(&data_set, number, NOON + number % 2),
                owner,
                &[(id, 1)],
            )
            .await;
            merge(&store).await;
        }
        assert_eq!(series(&store, id).await, [(NOON, 50), (NOON + 1, 50)]);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        assert_eq!(
            number(&mut by_hand, "SELECT count(*) FROM link_series").await,
            0
        );
    })
    .await;
}

#[tokio::test]
async fn points_of_a_link_count_once_when_they_become_a_row_of_the_series() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        let mut written = 0;
        let mut sum = 0;
        let mut add = async |interval, clicks| {
            written += 1;
            sum += clicks;
            whole(
                &store,
                &flush_of(&data_set, written, interval),
                owner,
                &[(id, clicks)],
            )
            .await;
            merge(&store).await;
            let of_link: u64 = series(&store, id)
                .await
                .iter()
                .map(|(_, clicks)| clicks)
                .sum();
            assert_eq!((of_link, clicks_of_owner(&store, owner).await), (sum, sum));
        };
        for interval in NOON..NOON + 40 {
            add(interval, 1).await;
            add(interval, 2).await;
            // The second time they are the sixteenth point, and then the first one.
            if interval % 16 == (NOON + 15) % 16 {
                add(NOON, 3).await;
                add(NOON, 4).await;
            }
        }
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        assert_eq!(
            number(&mut by_hand, "SELECT count(*) FROM link_series").await,
            2
        );
        delete_link(&store, owner, &code).await;
        assert_eq!(clicks_of_owner(&store, owner).await, 0);
    })
    .await;
}

#[tokio::test]
async fn clicks_in_parts_are_in_the_sums_of_owners_of_few_links_and_of_many() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let (few, many) = (user(&store).await, user(&store).await);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let made = "INSERT INTO links (short_code, target_url, owner_id, created_at, tags)
            SELECT 'l' || n, 'https://example.com', CASE WHEN n % 200 = 0 THEN $1 ELSE $2 END, 0, CASE WHEN n % 400 = 0 THEN '[\"one\"]' ELSE '[]' END
            FROM generate_series(1, 2400) n RETURNING id";
        let made = sqlx::query_scalar(made).bind(few.user.0).bind(many.user.0);
        let ids: Vec<i64> = made.fetch_all(&mut by_hand).await.unwrap();
        let ids: Vec<_> = ids.into_iter().map(|id| LinkId::parse(id).unwrap()).collect();
        let data_set = began(&store).await;
        // Parts of both owners, and parts of one owner.
        let of = |owner: Principal, n: usize| LinkClicks { link: ids[n - 1], owner: owner.user, clicks: 1 };
        let both: Vec<_> = (1..=2_400).map(|n| of(if n % 200 == 0 { few } else { many }, n)).collect();
        let one: Vec<_> = (1..=6).map(|n| of(few, 400 * n)).collect();
        for (number, clicks) in [(1, both), (2, one)] {
            let flush = flush_of(&data_set, number, NOON + number);
            let none = ClickDetails::default();
            let applied = store.apply_flush(&flush, Nothing, &clicks, &none, Whole);
            assert_eq!(applied.await.unwrap(), Whole);
        }
        // A deleted link is in no sum.
        let deleted = sqlx::query("DELETE FROM links WHERE id = $1").bind(ids[199].number());
        deleted.execute(&mut by_hand).await.unwrap();
        let tagged = OwnerSeries { owner: few, links: &LinkGroup { tag: Some(SearchTag::parse("one").unwrap()), domain: None }, range: Interval::FIRST..Interval::LAST };
        for is_merged in [false, true] {
            if is_merged {
                merge(&store).await;
            }
            assert_eq!(clicks_of_owner(&store, few).await, 17);
            assert_eq!(clicks_of_owner(&store, many).await, 2_388);
            let snapshot = store.clicks.owner_series(&tagged, &[]).await.unwrap();
            assert_eq!(snapshot.points.iter().map(|(_, clicks)| clicks).sum::<u64>(), 12);
        }
    })
    .await;
}

#[tokio::test]
async fn clicks_in_parts_count_for_a_limit() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        link(&store, owner).await;
        let made = "INSERT INTO links (short_code, target_url, owner_id, created_at, max_clicks)
            SELECT 'limited', target_url, owner_id, created_at, 10 FROM links RETURNING id";
        let id = number(&mut PgConnection::connect(&url).await.unwrap(), made).await;
        let id = LinkId::parse(id).unwrap();
        let data_set = began(&store).await;
        whole(&store, &flush_of(&data_set, 1, NOON), owner, &[(id, 6)]).await;
        let asked = ClickBatch {
            recorder: 1,
            number: 1,
            interval: Interval::from_number(NOON),
            clicks: of_owner(owner.user, [(id, 9)]),
            details: ClickDetails::default(),
        };
        let granted = Grant::Granted { clicks: 4, left: 0 };
        assert_eq!(store.clicks.grant(&asked).await.unwrap(), [(id, granted)]);
        assert_eq!(count(&store, id).await, 10);
    })
    .await;
}
