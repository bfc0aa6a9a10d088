//! The room that classes of clicks have in the database: a stranger's clicks are counted, and do not fill it.

use std::sync::Arc;

use shunt::domain::{ClickClass, Dimension};
use shunt::store::{ClicksOf, MAX_CLASSES_OF_INTERVAL};

use crate::store::backend::{both_stores, link, user, with_sqlite};
use crate::store::details::{DAY, NOON, batch, breakdown, count, query, row, sum, sum_within};

/// Classes of so many agents that no two are the same, every tenth of them a bot's.
fn agents(name: &str, number: u64) -> Vec<Arc<ClickClass>> {
    let agent = |number: u64| {
        let class =
            ClickClass::unknown().with(Dimension::Browser, Some(&format!("{name}{number}")));
        let is_bot = if number.is_multiple_of(10) {
            "true"
        } else {
            "false"
        };
        Arc::new(class.with(Dimension::Bot, Some(is_bot)))
    };
    (0..number).map(agent).collect()
}

both_stores! {
    async fn a_link_has_room_for_so_many_classes_in_an_interval_and_bots_are_set_apart_from_people_past_it(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let (first, random) = (agents("first", 1), agents("random", 1_200));
        count(&store, &batch(1, NOON, &[(id, &first[0], 2)])).await;
        sum(&store).await;
        let parts: Vec<_> = random.iter().map(|class| (id, class, 1)).collect();
        count(&store, &batch(2, NOON, &parts)).await;
        count(&store, &batch(3, NOON, &[(id, &first[0], 2)])).await;
        sum(&store).await;
        let mut asked = query(ClicksOf::Link(id), Dimension::Browser);
        asked.limit = 10_000;
        let found = store.details.breakdown(&asked).await.unwrap();
        assert_eq!((found.total.clicks, found.total.people), (1_204, 1_080), "every click, and bots among them");
        // Those of which the browser is not known have a row of their own.
        assert_eq!(found.rows.len() as u64, MAX_CLASSES_OF_INTERVAL + 1);
        let of = |name: Option<&str>| found.rows.iter().find(|(value, _)| value.as_deref() == name).unwrap().1.clicks;
        assert_eq!((of(Some("first0")), of(None)), (4, 1_200 - (MAX_CLASSES_OF_INTERVAL - 1)));
        // The next interval has room again.
        count(&store, &batch(4, NOON + 1, &[(id, &random[0], 1), (id, &random[999], 1)])).await;
        sum(&store).await;
        assert_eq!(store.details.breakdown(&asked).await.unwrap().rows.len() as u64, MAX_CLASSES_OF_INTERVAL + 2);
    }

    async fn a_day_has_room_for_so_many_rows_over_all_links(store) {
        let owner = user(&store).await;
        let (_, one) = link(&store, owner).await;
        let (_, two) = link(&store, owner).await;
        let agents = agents("agent", 8);
        let of = |link, from: usize| (from..from + 4).map(|number| (link, &agents[number], 1)).collect::<Vec<_>>();
        count(&store, &batch(1, NOON, &of(one, 1))).await;
        sum_within(&store, 5).await;
        count(&store, &batch(2, NOON, &of(two, 1))).await;
        count(&store, &batch(3, NOON, &of(one, 1))).await;
        sum_within(&store, 5).await;
        let by_browser = |link| query(ClicksOf::Link(link), Dimension::Browser);
        let whole = [row("agent1", 2, 2), row("agent2", 2, 2), row("agent3", 2, 2), row("agent4", 2, 2)];
        let mut found = breakdown(&store, &by_browser(one)).await;
        found.sort();
        assert_eq!(found, whole, "what has a row needs no further room");
        let found = breakdown(&store, &by_browser(two)).await;
        assert_eq!(found, [row("-", 3, 3), row("agent1", 1, 1)]);
        // Another day has room of its own, and both days count for the owner.
        count(&store, &batch(4, DAY + 96, &of(two, 1))).await;
        sum_within(&store, 5).await;
        let found = store.details.breakdown(&by_browser(two)).await.unwrap();
        assert_eq!((found.total.clicks, found.rows.len()), (8, 5));
        let found = store.details.breakdown(&query(ClicksOf::Owner(owner.user), Dimension::Bot)).await.unwrap();
        assert_eq!((found.total.clicks, found.total.people), (16, 16));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn classes_that_wait_in_sqlite_have_bounded_room_and_their_clicks_are_counted() {
    with_sqlite(async |store| {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        let agents = agents("agent", 3);
        // As if so many had come since.
        store
            .by_hand(
                "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
                 INSERT INTO click_journal (recorder, number, parked, interval, clicks, details)
                 SELECT 1, n, 0, 1920048, '{}', x'' FROM numbers;
                 INSERT INTO click_recorders (recorder, last_batch, seen_at, counted) VALUES (1, 100000, 0, 100000)",
            )
            .await;
        count(&store, &batch(1, NOON, &[(id, &agents[1], 3)])).await;
        let by_browser = query(ClicksOf::Link(id), Dimension::Browser);
        sum(&store).await;
        assert_eq!(breakdown(&store, &by_browser).await, []);
        let counted = store.clicks.counts(&[id], None).await.unwrap();
        assert_eq!(counted.clicks, [(id, 3)]);
        // The journal is empty, whatever numbers were used meanwhile.
        for number in 2..4 {
            count(&store, &batch(number, NOON, &[(id, &agents[1], 1)])).await;
            sum(&store).await;
        }
        assert_eq!(
            breakdown(&store, &by_browser).await,
            [row("agent1", 2, 2)]
        );
    })
    .await;
}
