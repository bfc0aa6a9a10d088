//! Parts in Postgres: clicks that are durable, and counted, before they are merged into the counts of their links.

mod merging;

use shunt::domain::{Interval, LinkGroup, LinkId, Principal};
use shunt::store::FlushMark::{self, Nothing, UpTo, Whole};
use shunt::store::{ClickDetails, DataSet, FlushId, MergeRound, OwnerSeries, Store};
use sqlx::{Connection, PgConnection};

use crate::store::backend::{began, delete_link, link, user, with_primary};
use crate::store::recorders::until_a_session_waits;
use crate::support::clicks::of_owner;

/// An interval of the flushes.
const NOON: i64 = 2_000_000;

fn flush_of(data_set: &DataSet, number: i64, interval: i64) -> FlushId {
    FlushId {
        name: format!("flush {number}"),
        epoch: data_set.epoch.clone(),
        term: data_set.term,
        number,
        interval: Interval::from_number(interval),
    }
}

/// Writes links of a flush, each with these clicks, from a mark on up to another one.
async fn apply(
    store: &Store,
    flush: &FlushId,
    (from, up_to): (FlushMark, FlushMark),
    owner: Principal,
    clicks: &[(LinkId, u64)],
) -> FlushMark {
    let (clicks, none) = (
        of_owner(owner.user, clicks.iter().copied()),
        ClickDetails::default(),
    );
    let applied = store.apply_flush(flush, from, &clicks, &none, up_to);
    applied.await.unwrap()
}

async fn whole(store: &Store, flush: &FlushId, owner: Principal, clicks: &[(LinkId, u64)]) {
    assert_eq!(
        apply(store, flush, (Nothing, Whole), owner, clicks).await,
        Whole
    );
}

async fn merge(store: &Store) {
    let mut round = MergeRound::default();
    while !store.clicks.compact(&mut round).await.unwrap().done {}
}

async fn count(store: &Store, link: LinkId) -> u64 {
    store.clicks.counts(&[link], None).await.unwrap().clicks[0].1
}

/// The points of a link's series, each interval once.
async fn series(store: &Store, link: LinkId) -> Vec<(i64, u64)> {
    let all = Interval::FIRST..Interval::LAST;
    let snapshot = store.clicks.series(link, all, None).await.unwrap();
    let mut points = std::collections::BTreeMap::<i64, u64>::new();
    for (interval, clicks) in snapshot.points {
        *points.entry(interval.number().into()).or_default() += clicks;
    }
    points
        .into_iter()
        .filter(|(_, clicks)| *clicks > 0)
        .collect()
}

async fn clicks_of_owner(store: &Store, owner: Principal) -> u64 {
    let wanted = OwnerSeries {
        owner,
        links: &LinkGroup::ALL,
        range: Interval::FIRST..Interval::LAST,
    };
    let snapshot = store.clicks.owner_series(&wanted, &[]).await.unwrap();
    snapshot.points.iter().map(|(_, clicks)| clicks).sum()
}

async fn number(connection: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

const PARTS: &str = "SELECT count(*) FROM click_parts WHERE band >= 0";

/// Merges all parts, in a transaction of the caller.
const MERGE: &str = "SELECT merge_parts(array_agg(band)) FROM click_parts WHERE band >= 0";

#[tokio::test]
async fn a_ninth_flush_waits_until_earlier_ones_are_merged() {
    with_primary(async |primary, _| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, other) = link(&store, owner).await;
        let data_set = began(&store).await;
        for number in 1..8 {
            whole(
                &store,
                &flush_of(&data_set, number, NOON),
                owner,
                &[(one, 1)],
            )
            .await;
        }
        let eighth = flush_of(&data_set, 8, NOON);
        let first_half = (Nothing, UpTo(one));
        assert_eq!(
            apply(&store, &eighth, first_half, owner, &[(one, 1)]).await,
            UpTo(one)
        );
        // One that is under way is finished.
        let second_half = (UpTo(one), Whole);
        assert_eq!(
            apply(&store, &eighth, second_half, owner, &[(other, 1)]).await,
            Whole
        );
        let ninth = flush_of(&data_set, 9, NOON);
        let all = (Nothing, Whole);
        assert_eq!(
            apply(&store, &ninth, all, owner, &[(one, 1)]).await,
            Nothing
        );
        assert_eq!(
            (count(&store, one).await, count(&store, other).await),
            (8, 1)
        );
        merge(&store).await;
        assert_eq!(
            (count(&store, one).await, count(&store, other).await),
            (8, 1)
        );
        assert_eq!(apply(&store, &ninth, all, owner, &[(one, 1)]).await, Whole);
        assert_eq!(count(&store, one).await, 9);
    })
    .await;
}

#[tokio::test]
async fn a_merge_that_is_cut_off_changes_no_count() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        whole(&store, &flush_of(&data_set, 1, NOON), owner, &[(id, 3)]).await;
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let mut merging = by_hand.begin().await.unwrap();
        let merged = sqlx::query(MERGE);
        merged.execute(&mut *merging).await.unwrap();
        assert_eq!(
            (
                count(&store, id).await,
                clicks_of_owner(&store, owner).await
            ),
            (3, 3)
        );
        merging.rollback().await.unwrap();
        assert_eq!(
            (
                count(&store, id).await,
                clicks_of_owner(&store, owner).await
            ),
            (3, 3)
        );
        assert_eq!(number(&mut by_hand, PARTS).await, 1);
        merge(&store).await;
        assert_eq!(
            (
                count(&store, id).await,
                clicks_of_owner(&store, owner).await
            ),
            (3, 3)
        );
        assert_eq!(number(&mut by_hand, PARTS).await, 0);
    })
    .await;
}

#[tokio::test]
async fn merges_of_two_instances_take_each_part_once() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        whole(&store, &flush_of(&data_set, 1, NOON), owner, &[(id, 3)]).await;
        let mut other = PgConnection::connect(&url).await.unwrap();
        let mut merging = other.begin().await.unwrap();
        let merged = sqlx::query(MERGE);
        merged.execute(&mut *merging).await.unwrap();
        whole(&store, &flush_of(&data_set, 2, NOON), owner, &[(id, 4)]).await;
        let ends = async {
            until_a_session_waits(&mut PgConnection::connect(&url).await.unwrap()).await;
            merging.commit().await.unwrap();
        };
        tokio::join!(merge(&store), ends);
        assert_eq!(series(&store, id).await, [(NOON, 7)]);
        assert_eq!(
            (
                count(&store, id).await,
                clicks_of_owner(&store, owner).await
            ),
            (7, 7)
        );
        assert_eq!(number(&mut other, PARTS).await, 0);
    })
    .await;
}

#[tokio::test]
async fn first_clicks_of_a_link_that_two_writers_add_at_once_are_all_counted() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        whole(&store, &flush_of(&data_set, 1, NOON), owner, &[(id, 3)]).await;
        let mut other = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        let mut granting = other.begin().await.unwrap();
        let counted = sqlx::query("SELECT count_clicks(ARRAY[$1], ARRAY[4::bigint], 2000001)");
        counted
            .bind(id.number())
            .execute(&mut *granting)
            .await
            .unwrap();
        let ends = async {
            until_a_session_waits(&mut observer).await;
            granting.commit().await.unwrap();
        };
        tokio::join!(merge(&store), ends);
        assert_eq!(series(&store, id).await, [(NOON, 3), (NOON + 1, 4)]);
        assert_eq!(
            (
                count(&store, id).await,
                clicks_of_owner(&store, owner).await
            ),
            (7, 7)
        );
        assert_eq!(number(&mut observer, PARTS).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_deletion_and_a_merge_of_the_link_at_once_leave_nothing_in_the_sums() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let data_set = began(&store).await;
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let mut observer = PgConnection::connect(&url).await.unwrap();
        // Of a link without counts, and of one that has some.
        for (number, merged_before) in [(1, false), (3, true)] {
            let (_, id) = link(&store, owner).await;
            if merged_before {
                whole(
                    &store,
                    &flush_of(&data_set, number - 1, NOON),
                    owner,
                    &[(id, 5)],
                )
                .await;
                merge(&store).await;
            }
            whole(
                &store,
                &flush_of(&data_set, number, NOON),
                owner,
                &[(id, 3)],
            )
            .await;
            let mut deleting = by_hand.begin().await.unwrap();
            let deleted = sqlx::query("DELETE FROM links WHERE id = $1").bind(id.number());
            deleted.execute(&mut *deleting).await.unwrap();
            let ends = async {
                until_a_session_waits(&mut observer).await;
                deleting.commit().await.unwrap();
            };
            tokio::join!(merge(&store), ends);
            assert_eq!(clicks_of_owner(&store, owner).await, 0);
        }
        // And the other way round.
        let (code, id) = link(&store, owner).await;
        whole(&store, &flush_of(&data_set, 4, NOON), owner, &[(id, 3)]).await;
        let mut merging = by_hand.begin().await.unwrap();
        let merged = sqlx::query(MERGE);
        merged.execute(&mut *merging).await.unwrap();
        let ends = async {
            until_a_session_waits(&mut observer).await;
            merging.commit().await.unwrap();
        };
        tokio::join!(delete_link(&store, owner, &code), ends);
        assert_eq!(clicks_of_owner(&store, owner).await, 0);
    })
    .await;
}

#[tokio::test]
async fn links_with_any_ids_are_found_in_parts() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let ids = [1_i64, 2, 127, 128, 129, 1_023, 1_024, 65_535, 65_536, 1 << 31, (1 << 31) - 1, (1 << 40) + 5, LinkId::LAST.number()];
        let made = "INSERT INTO links (id, short_code, target_url, owner_id, created_at) OVERRIDING SYSTEM VALUE
            SELECT id, 'code-' || id, 'https://example.org/', $2, 0 FROM unnest($1::bigint[] || ARRAY(SELECT generate_series(2000, 2299))) AS id";
        sqlx::query(made).bind(ids).bind(owner.user.0).execute(&mut by_hand).await.unwrap();
        let dense = 2_000..2_300;
        let mut all: Vec<_> = ids.into_iter().chain(dense).map(|id| LinkId::parse(id).unwrap()).collect();
        all.sort_unstable();
        let clicks: Vec<_> = (1..).zip(&all).map(|(clicks, id)| (*id, clicks)).collect();
        let data_set = began(&store).await;
        whole(&store, &flush_of(&data_set, 1, NOON), owner, &clicks).await;
        let few: Vec<_> = clicks.iter().copied().step_by(7).collect();
        whole(&store, &flush_of(&data_set, 2, NOON + 1), owner, &few).await;
        let twice: Vec<_> = clicks.iter().enumerate().map(|(place, (id, clicks))| (*id, clicks * if place % 7 == 0 { 2 } else { 1 })).collect();
        let sum: u64 = twice.iter().map(|(_, clicks)| clicks).sum();
        for merged in [false, true] {
            if merged {
                merge(&store).await;
            }
            let mut found = store.clicks.counts(&all, None).await.unwrap().clicks;
            found.sort_unstable();
            assert_eq!(found, twice);
            assert_eq!(clicks_of_owner(&store, owner).await, sum);
        }
    })
    .await;
}

#[tokio::test]
async fn a_series_has_every_interval_and_clicks_of_any_number_that_come_late() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let data_set = began(&store).await;
        let mut expected = std::collections::BTreeMap::new();
        // Each fifth comes late.
        let intervals = (0..60).map(|at| {
            if at % 5 == 4 {
                NOON + at / 2
            } else {
                NOON + at
            }
        });
        for (number, at) in (1_i64..).zip(intervals) {
            // With all digits that a point may have.
            let clicks = match number % 20 {
                1 => (1_u64 << 31) + 1,
                2 => (1 << 31) - 1,
                3 => 1 << 57,
                clicks => clicks.unsigned_abs() + 1,
            };
            whole(
                &store,
                &flush_of(&data_set, number, at),
                owner,
                &[(id, clicks)],
            )
            .await;
            *expected.entry(at).or_insert(0) += clicks;
            merge(&store).await;
            let expected: Vec<_> = expected.iter().map(|(at, clicks)| (*at, *clicks)).collect();
            assert_eq!(series(&store, id).await, expected);
        }
        let sum: u64 = expected.values().sum();
        assert_eq!(
            (
                count(&store, id).await,
                clicks_of_owner(&store, owner).await
            ),
            (sum, sum)
        );
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        // Sixteen intervals are a row of the series.
        assert!((3..=5).contains(&number(&mut by_hand, "SELECT count(*) FROM link_series").await));
    })
    .await;
}
