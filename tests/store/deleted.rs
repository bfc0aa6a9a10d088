//! Clicks of links that are gone, in Postgres: removed step by step, without a flush that waits.

use shunt::domain::{Interval, LinkId};
use shunt::store::{ClickDetails, FlushId, FlushMark, MergeRound, Store};
use sqlx::{Connection, PgConnection};

use crate::store::backend::{began, link, user, with_primary};
use crate::support::clicks::of_links;

async fn number(by_hand: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(by_hand).await.unwrap()
}

async fn run(by_hand: &mut PgConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(by_hand).await.unwrap();
}

const CLICKS: &str = "SELECT count(*) FROM link_clicks";
const LIMITS: &str = "SELECT count(*) FROM link_limits";
const LISTED: &str = "SELECT count(*) FROM deleted_links";
const A_MINUTE_LATER: &str = "UPDATE deleted_links SET rescan_at = now_micros() - 1000000";

/// Links with a click each, in the database.
async fn clicked(store: &Store, count: usize) -> Vec<LinkId> {
    let owner = user(store).await;
    let mut links = Vec::new();
    for _ in 0..count {
        links.push(link(store, owner).await.1);
    }
    flush(store, 1, &links).await;
    links
}

async fn flush(store: &Store, number: i64, links: &[LinkId]) {
    let known = store.data_sets_in_use().await.unwrap().pop();
    let data_set = if let Some(data_set) = known {
        data_set
    } else {
        began(store).await
    };
    let flush = FlushId {
        name: "flush".to_owned(),
        epoch: data_set.epoch,
        term: data_set.term,
        number,
        interval: Interval::from_number(number),
    };
    let clicks: Vec<_> = links.iter().map(|link| (*link, 1)).collect();
    let from = FlushMark::Nothing;
    let (clicks, none) = (of_links(clicks), ClickDetails::default());
    let applied = store.apply_flush(&flush, from, &clicks, &none, FlushMark::Whole);
    applied.await.unwrap();
    while !store
        .clicks
        .compact(&mut MergeRound::default())
        .await
        .unwrap()
        .done
    {}
}

/// Looks at all deleted links that are due, some at a time; returns the number of steps.
async fn uncount(store: &Store, limit: u32) -> u32 {
    let (mut after, mut steps) = (None, 0);
    loop {
        after = store.uncount_deleted(after, limit).await.unwrap();
        steps += 1;
        if after.is_none() {
            return steps;
        }
    }
}

#[tokio::test]
async fn a_deleted_link_leaves_no_clicks_behind_though_a_flush_saw_it_just_before() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let links = clicked(&store, 5).await;
        run(
            &mut by_hand,
            "DELETE FROM links WHERE id <> (SELECT max(id) FROM links)",
        )
        .await;
        assert_eq!(uncount(&store, 2).await, 3);
        assert_eq!(number(&mut by_hand, CLICKS).await, 1);
        // Late clicks land on no link.
        flush(&store, 2, &links).await;
        assert_eq!(number(&mut by_hand, CLICKS).await, 1);
        let counted = store.clicks.counts(&links, None).await.unwrap().clicks;
        assert_eq!(counted, [(links[4], 2)]);
        // As a flush does it whose statement began before the deletion.
        run(
            &mut by_hand,
            "INSERT INTO link_clicks (link_id, clicks, interval, in_interval) SELECT min(link_id), 1, 2000000, 1 FROM deleted_links",
        )
        .await;
        uncount(&store, 2).await;
        assert_eq!(number(&mut by_hand, CLICKS).await, 2, "it is not due yet");
        run(&mut by_hand, A_MINUTE_LATER).await;
        uncount(&store, 2).await;
        assert_eq!(number(&mut by_hand, CLICKS).await, 1);
        assert_eq!(number(&mut by_hand, LISTED).await, 1);
        run(&mut by_hand, A_MINUTE_LATER).await;
        uncount(&store, 2).await;
        assert_eq!(number(&mut by_hand, LISTED).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_link_leaves_no_limit_behind() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        clicked(&store, 2).await;
        let made = "INSERT INTO links (short_code, target_url, owner_id, created_at, max_clicks)
            SELECT 'limit-' || short_code, target_url, owner_id, created_at, 10 FROM links";
        run(&mut by_hand, made).await;
        let gone =
            "DELETE FROM links WHERE max_clicks IS NOT NULL AND id < (SELECT max(id) FROM links)";
        run(&mut by_hand, gone).await;
        assert_eq!(
            number(&mut by_hand, LIMITS).await,
            2,
            "a deletion waits for no grant"
        );
        uncount(&store, 10).await;
        assert_eq!(number(&mut by_hand, LIMITS).await, 1);
    })
    .await;
}

#[tokio::test]
async fn the_removal_of_clicks_waits_for_no_flush_and_comes_back_to_what_it_passed_over() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        let mut flushing = PgConnection::connect(&url).await.unwrap();
        clicked(&store, 3).await;
        run(&mut by_hand, "DELETE FROM links").await;
        let mut flush = flushing.begin().await.unwrap();
        let added = "UPDATE link_clicks SET clicks = clicks + 1 WHERE link_id = (SELECT max(link_id) FROM link_clicks)";
        sqlx::raw_sql(added).execute(&mut *flush).await.unwrap();
        // A statement that waits fails after some seconds.
        uncount(&store, 10).await;
        flush.commit().await.unwrap();
        assert_eq!(number(&mut by_hand, CLICKS).await, 1);
        run(&mut by_hand, A_MINUTE_LATER).await;
        uncount(&store, 10).await;
        assert_eq!(number(&mut by_hand, CLICKS).await, 0);
    })
    .await;
}
