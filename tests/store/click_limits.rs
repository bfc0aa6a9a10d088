//! Limits of clicks: as many clicks are granted as a limit leaves, however they are asked for.

use std::time::Duration;

use futures_util::future::join_all;
use shunt::domain::{Clock, Interval, LinkId, ShortCode, SystemClock};
use shunt::store::{ClickBatch, ClickDetails, Grant, MergeRound};

use crate::store::backend::{TestStore, both_stores, delete_link, link, user};
use crate::support::clicks::of_links;

/// A link with a limit of ten clicks beside the newest one.
const MADE_WITH_LIMIT: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at, max_clicks)
    SELECT 'limit-' || short_code, target_url, owner_id, created_at, 10 FROM links ORDER BY id DESC LIMIT 1";

const LIMIT: &str = "UPDATE links SET max_clicks = 10";
const RAISED: &str = "UPDATE links SET max_clicks = 12";
const THREE_MORE: &str = "UPDATE links SET max_clicks = max_clicks + 3";
const LOWERED: &str = "UPDATE links SET max_clicks = 4";
const NO_LIMIT: &str = "UPDATE links SET max_clicks = NULL";

/// A link that was made with a limit of ten clicks.
pub(crate) async fn limited(store: &TestStore) -> (ShortCode, LinkId) {
    let (code, _) = link(store, user(store).await).await;
    store.by_hand(MADE_WITH_LIMIT).await;
    let code = ShortCode::parse(&format!("limit-{}", code.as_str())).unwrap();
    let found = store.link_target(&code).await.unwrap().unwrap();
    (code, found.id)
}

fn batch(recorder: u64, number: u64, clicks: &[(LinkId, u64)]) -> ClickBatch {
    let mut clicks = clicks.to_vec();
    clicks.sort_unstable();
    ClickBatch {
        recorder,
        number,
        interval: Interval::from_number(2_000_000 + number.cast_signed() % 2),
        clicks: of_links(clicks),
        details: ClickDetails::default(),
    }
}

/// Asks for clicks of one link.
async fn ask(store: &TestStore, number: u64, link: LinkId, clicks: u64) -> Grant {
    let batch = batch(7, number, &[(link, clicks)]);
    let granted = store.clicks.grant(&batch).await.unwrap();
    assert_eq!((granted.len(), granted[0].0), (1, link));
    granted[0].1
}

async fn count(store: &TestStore, link: LinkId) -> u64 {
    let all = Interval::FIRST..Interval::LAST;
    let series = store.clicks.series(link, all, None).await.unwrap();
    let count = series.counts.clicks[0].1;
    assert_eq!(
        series.points.iter().map(|(_, clicks)| clicks).sum::<u64>(),
        count
    );
    count
}

fn granted(clicks: u64, left: i64) -> Grant {
    Grant::Granted { clicks, left }
}

both_stores! {
    async fn as_many_clicks_are_granted_and_counted_as_are_left(store) {
        let (_, id) = limited(&store).await;
        assert_eq!(ask(&store, 1, id, 0).await, granted(0, 10));
        assert_eq!(ask(&store, 2, id, 7).await, granted(7, 3));
        assert_eq!(count(&store, id).await, 7);
        assert_eq!(ask(&store, 3, id, 7).await, granted(3, 0));
        assert_eq!(ask(&store, 4, id, 1).await, granted(0, 0));
        assert_eq!(count(&store, id).await, 10);
    }

    async fn a_batch_is_granted_link_by_link(store) {
        let (_, one) = limited(&store).await;
        let (_, other) = limited(&store).await;
        let asked = batch(7, 1, &[(one, 4), (other, 11)]);
        let answer = store.clicks.grant(&asked).await.unwrap();
        assert_eq!(answer, [(one, granted(4, 6)), (other, granted(10, 0))]);
    }

    async fn a_repeated_batch_gets_the_same_answer_and_counts_once(store) {
        let (_, id) = limited(&store).await;
        for _ in 0..3 {
            assert_eq!(ask(&store, 1, id, 4).await, granted(4, 6));
        }
        let asked = batch(8, 1, &[(id, 4)]);
        assert_eq!(store.clicks.grant(&asked).await.unwrap(), [(id, granted(4, 2))]);
        assert_eq!(ask(&store, 1, id, 4).await, granted(4, 6));
        assert_eq!(ask(&store, 2, id, 4).await, granted(2, 0));
        assert_eq!(count(&store, id).await, 10);
    }

    async fn exactly_as_many_are_granted_to_recorders_that_ask_at_the_same_time(store) {
        let links = [limited(&store).await.1, limited(&store).await.1];
        // At the end of each round the clicks of both links are used up.
        for round in 0..30_u64 {
            let asking = (1..=10).map(async |recorder| {
                let asked = batch(recorder, round + 1, &links.map(|link| (link, 2)));
                let (first, repeated) = tokio::join!(store.clicks.grant(&asked), store.clicks.grant(&asked));
                let answer = first.unwrap();
                assert_eq!(repeated.unwrap(), answer);
                answer.into_iter().map(|(_, grant)| match grant {
                    Grant::Granted { clicks, .. } => clicks,
                    other => panic!("{other:?}"),
                }).sum::<u64>()
            });
            let left = if round == 0 { 10 } else { 3 };
            assert_eq!(join_all(asking).await.into_iter().sum::<u64>(), 2 * left);
            for link in links {
                assert_eq!(count(&store, link).await, 10 + 3 * round);
            }
            store.by_hand(THREE_MORE).await;
        }
    }

    async fn a_deleted_link_has_no_clicks_left_and_delays_no_other(store) {
        let owner = user(&store).await;
        link(&store, owner).await;
        store.by_hand(MADE_WITH_LIMIT).await;
        let (_, kept) = limited(&store).await;
        let listed = store.links_of(owner, None, 10).await.unwrap().value;
        let gone = listed.iter().find(|link| link.code.as_str().starts_with("limit-")).unwrap();
        delete_link(&store, owner, &gone.code).await.unwrap();
        let answer = store.clicks.grant(&batch(7, 1, &[(gone.id, 1), (kept, 1)])).await.unwrap();
        assert_eq!(answer, [(gone.id, granted(0, 0)), (kept, granted(1, 9))]);
    }

    async fn clicks_that_a_link_brings_with_it_count_for_its_limit(store) {
        let (_, id) = limited(&store).await;
        store.clicks.append(&batch(9, 1, &[(id, 6)]), None).await.unwrap();
        while !store.clicks.compact(&mut MergeRound::default()).await.unwrap().done {}
        assert_eq!(ask(&store, 1, id, 9).await, granted(4, 0));
        assert_eq!(count(&store, id).await, 10);
    }

    async fn a_limit_that_is_raised_leaves_more_and_one_that_is_lowered_fewer(store) {
        let (_, id) = limited(&store).await;
        assert_eq!(ask(&store, 1, id, 20).await, granted(10, 0));
        store.by_hand(RAISED).await;
        assert_eq!(ask(&store, 2, id, 1).await, granted(1, 1));
        store.by_hand(LOWERED).await;
        assert_eq!(ask(&store, 3, id, 1).await, granted(0, -7));
        assert_eq!(count(&store, id).await, 11);
    }

    async fn a_limit_takes_effect_once_the_clicks_before_it_are_counted(store) {
        let (_, id) = link(&store, user(&store).await).await;
        store.by_hand(LIMIT).await;
        assert_eq!(ask(&store, 1, id, 3).await, Grant::Uncounted);
        assert_eq!(store.clicks.begin_counting(id, 5).await.unwrap(), Some(5));
        assert_eq!(ask(&store, 2, id, 3).await, Grant::Uncounted);
        assert!(store.clicks.set_clicks_before(id, 5, 8).await.unwrap());
        assert_eq!(ask(&store, 3, id, 3).await, granted(2, 0));
        assert_eq!(store.clicks.begin_counting(id, 6).await.unwrap(), None, "they are counted");
        assert_eq!(count(&store, id).await, 2, "the others are still in Redis");
    }

    async fn countings_of_two_instances_at_once_do_not_undo_each_other(store) {
        let (_, id) = link(&store, user(&store).await).await;
        store.by_hand(LIMIT).await;
        let one = store.clicks.begin_counting(id, 5).await.unwrap();
        let other = store.clicks.begin_counting(id, 6).await.unwrap();
        assert_eq!((one, other), (Some(5), Some(5)));
        assert_eq!(ask(&store, 1, id, 1).await, Grant::Uncounted);
        assert!(store.clicks.set_clicks_before(id, 5, 9).await.unwrap());
        assert!(!store.clicks.set_clicks_before(id, 5, 0).await.unwrap(), "they are counted");
        assert_eq!(ask(&store, 2, id, 3).await, granted(1, 0));
    }

    async fn a_counting_that_missed_a_click_is_joined_by_none(store) {
        let (_, id) = link(&store, user(&store).await).await;
        store.by_hand(LIMIT).await;
        assert_eq!(store.clicks.begin_counting(id, 5).await.unwrap(), Some(5));
        assert!(store.clicks.admit(id).await.unwrap());
        assert_eq!(store.clicks.begin_counting(id, 6).await.unwrap(), Some(6));
        assert!(!store.clicks.set_clicks_before(id, 5, 9).await.unwrap(), "it may lack that click");
        assert!(store.clicks.set_clicks_before(id, 6, 9).await.unwrap());
    }

    async fn a_limit_that_was_taken_away_grants_nothing_and_counts_anew_when_it_comes_back(store) {
        let (_, id) = limited(&store).await;
        assert_eq!(ask(&store, 1, id, 4).await, granted(4, 6));
        store.by_hand(NO_LIMIT).await;
        assert_eq!(ask(&store, 2, id, 4).await, Grant::Unlimited);
        assert_eq!(store.clicks.begin_counting(id, 5).await.unwrap(), None, "there is nothing to count");
        assert!(store.clicks.admit(id).await.unwrap());
        store.by_hand(LIMIT).await;
        assert_eq!(ask(&store, 3, id, 4).await, Grant::Uncounted);
        assert_eq!(store.clicks.begin_counting(id, 5).await.unwrap(), Some(5));
        store.by_hand(NO_LIMIT).await;
        store.by_hand(LIMIT).await;
        assert!(!store.clicks.set_clicks_before(id, 5, 0).await.unwrap(), "clicks came meanwhile");
        assert_eq!(ask(&store, 4, id, 4).await, Grant::Uncounted);
    }

    async fn a_click_without_a_grant_is_one_of_those_before_the_limit_until_they_are_counted(store) {
        let (_, id) = link(&store, user(&store).await).await;
        store.by_hand(LIMIT).await;
        assert!(store.clicks.admit(id).await.unwrap());
        assert_eq!(store.clicks.begin_counting(id, 5).await.unwrap(), Some(5));
        assert!(store.clicks.admit(id).await.unwrap());
        assert!(!store.clicks.set_clicks_before(id, 5, 9).await.unwrap(), "it may lack that click");
        assert_eq!(store.clicks.begin_counting(id, 6).await.unwrap(), Some(6));
        assert!(store.clicks.set_clicks_before(id, 6, 9).await.unwrap());
        assert!(store.clicks.admit(id).await.unwrap(), "one is left");
        assert!(!store.clicks.admit(id).await.unwrap());
        assert_eq!(ask(&store, 1, id, 1).await, granted(0, 0));
        assert_eq!(count(&store, id).await, 0, "where the click was counted, it stays");
    }

    async fn answers_are_kept_while_they_may_be_asked_for_again(store) {
        let (_, id) = limited(&store).await;
        for number in 1..=3 {
            ask(&store, number, id, 1).await;
        }
        assert_eq!(store.clicks.prune(SystemClock.now(), 100).await.unwrap(), 2);
        assert_eq!(ask(&store, 3, id, 1).await, granted(1, 7));
        let late = batch(7, 1, &[(id, 1)]);
        assert!(store.clicks.grant(&late).await.unwrap().is_empty(), "a newer one was asked for");
        assert_eq!(count(&store, id).await, 3);
        let month = Duration::from_hours(30 * 24);
        assert_eq!(store.clicks.prune(SystemClock.now().before(month), 100).await.unwrap(), 0);
    }
}
