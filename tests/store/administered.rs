//! What administrators see in numbers, the reports that stay, and the last role.

use shunt::domain::{
    Clock, Interval, NewestWanted, Principal, Reason, ReportState, ReportsWanted, ShortCode,
    SystemClock,
};
use shunt::store::{Actor, RoleTaken, Store};

use crate::store::backend::{both_stores, link, user};

const OPERATOR: Actor<'static> = Actor {
    user: None,
    address: "command line",
};

async fn report(store: &Store, code: &ShortCode, reason: &str, reporter: &str) {
    let reason = Reason::parse(reason).unwrap();
    let noted = store.report(code, &reason, reporter, SystemClock.now());
    assert!(noted.await.unwrap());
}

/// The number of the newest open report.
async fn newest(store: &Store) -> i64 {
    let wanted = NewestWanted {
        limit: 1,
        ..NewestWanted::default()
    };
    store.reports(&wanted).await.unwrap().entries[0].id
}

async fn close(store: &Store, report: i64) -> bool {
    let closed = store.close_report(report, true, OPERATOR, SystemClock.now());
    closed.await.unwrap()
}

both_stores! {
    async fn closed_reports_take_no_room_of_open_ones_and_the_newest_20_of_a_link_stay(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        for number in 0..25 {
            report(&store, &code, &format!("closed {number}"), "same address").await;
            let id = newest(&store).await;
            assert!(close(&store, id).await);
            assert!(!close(&store, id).await, "it is closed");
        }
        for number in 0..3 {
            report(&store, &code, &format!("open {number}"), "same address").await;
        }
        let wanted = |state| ReportsWanted { state, before: None, limit: 10 };
        let found = store.reported_links(&wanted(ReportState::Open)).await.unwrap();
        let [link] = &found.entries[..] else { panic!("{found:?}") };
        let (open, closed): (Vec<_>, Vec<_>) = link.reports.iter().partition(|report| report.closed_at.is_none());
        let reasons: Vec<_> = open.iter().map(|report| report.reason.as_str()).collect();
        assert_eq!(reasons, ["open 2", "open 1"], "two of an address, and the newest first");
        assert_eq!((closed.len(), closed[0].reason.as_str()), (20, "closed 24"));
        assert_eq!(link.newest, open[0].id);
        let closed = store.reported_links(&wanted(ReportState::Closed)).await.unwrap();
        assert_eq!(closed.entries.len(), 1);
        let totals = store.service_totals().await.unwrap();
        assert_eq!((totals.open_reports, totals.reported_links, totals.accounts, totals.links), (2, 1, 1, 1));
    }

    async fn links_with_reports_come_by_their_newest_report_in_parts(store) {
        let owner = user(&store).await;
        let mut codes = Vec::new();
        for _ in 0..5 {
            codes.push(link(&store, owner).await.0);
        }
        for code in codes.iter().chain(&codes[..1]) {
            report(&store, code, "spam", "an address").await;
        }
        let mut wanted = ReportsWanted { state: ReportState::Open, before: None, limit: 2 };
        let mut seen = Vec::new();
        loop {
            let found = store.reported_links(&wanted).await.unwrap();
            seen.extend(found.entries.iter().map(|link| link.code.clone()));
            if found.next.is_none() {
                break;
            }
            wanted.before = found.next;
        }
        let expected: Vec<_> = codes[..1].iter().chain(codes[1..].iter().rev()).cloned().collect();
        assert_eq!(seen, expected);
    }

    async fn the_last_role_is_not_taken(store) {
        let (first, second) = (user(&store).await, user(&store).await);
        let now = SystemClock.now();
        let take = async |principal: Principal| {
            store.take_role(principal.user, OPERATOR, now).await.unwrap()
        };
        assert_eq!(take(first).await, RoleTaken::NoAdmin);
        for principal in [first, second] {
            assert!(store.set_role(principal.user, OPERATOR, now).await.unwrap());
        }
        let (one, other) = tokio::join!(take(first), take(second));
        let both = [one, other];
        assert!(both.contains(&RoleTaken::Done) && both.contains(&RoleTaken::Last), "{both:?}");
    }

    async fn an_account_without_clicks_has_numbers(store) {
        let owner = user(&store).await;
        let numbers = store.account_numbers(&[owner.user.0], Interval::FIRST).await.unwrap();
        let numbers = numbers[&owner.user];
        assert_eq!((numbers.clicks, numbers.signed_in_at, numbers.removed_links), (0, None, 0));
        assert!(store.service_days(0).await.unwrap().is_empty());
        assert!(store.newest_addresses().await.unwrap().len() <= 1);
    }
}
