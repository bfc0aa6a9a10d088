//! Several instances that flush at once, and one that stands still in the middle of it.

use std::time::Duration;

use tokio::time::sleep;

use crate::load::{Address, Load};
use crate::nginx::Nginx;
use crate::readers::Readers;
use crate::support::{App, Mode, Server};
use crate::{VISITORS, goes_on, quick_or_long, warm_links};

/// Longer than any lease.
const STANDSTILL: Duration = Duration::from_secs(11);

const OFTEN: (&str, &str) = ("FLUSH_INTERVAL_MS", "20");

async fn with_instances(count: usize) {
    let app = App::start_with(Mode::Production, &[OFTEN]).await;
    let codes = warm_links(&app).await;
    let mut others = Vec::new();
    for _ in 1..count {
        others.push(app.another(&[OFTEN]).await);
    }
    let all = std::iter::once(&app.server).chain(&others);
    let all: Vec<_> = all.map(|server| Address::of(&server.base)).collect();
    let readers = Readers::of_several(&all, &codes).await;
    let loads: Vec<_> = all[1..]
        .iter()
        .map(|address| Load::start(address, &codes, 4))
        .collect();
    for _ in 0..quick_or_long(1, 5) {
        // The one with the lease, sooner or later: each stands still for a while.
        hangs(&app.server).await;
        hangs(&others[0]).await;
    }
    let mut answered = 0;
    for load in loads {
        let books = load.stop().await;
        assert_eq!((books.refused(), books.cut_off()), (0, 0));
        answered += books.answered();
    }
    let counted = async {
        let mut counts = Vec::new();
        for code in &codes {
            counts.push(app.clicks(code).await);
        }
        assert_eq!(counts.iter().sum::<u64>(), answered);
        counts
    };
    readers.end_with(counted).await;
    drop(others);
    app.finish().await;
}

async fn hangs(server: &Server) {
    sleep(Duration::from_millis(200)).await;
    server.signal("STOP");
    sleep(STANDSTILL).await;
    server.signal("CONT");
    sleep(Duration::from_millis(500)).await;
}

mod a_flush_continued_after_its_lease_counts_nothing_twice {
    use super::with_instances;

    #[tokio::test]
    async fn by_two_instances() {
        with_instances(2).await;
    }

    #[tokio::test]
    async fn by_four_instances() {
        with_instances(4).await;
    }
}

#[tokio::test]
async fn a_rolling_restart_behind_a_proxy_that_retries_cuts_off_no_request() {
    let mut app = App::start(Mode::Production).await;
    let mut second = app.another(&[]).await;
    let codes = warm_links(&app).await;
    let nginx = Nginx::before(&[&app.server.base, &second.base]);
    let address = Address::of(&nginx.base());
    let load = Load::start(&address, &codes, VISITORS);
    let readers = Readers::of_several(&[address], &codes).await;
    let bind = |server: &Server| Address::of(&server.base).now();
    let (first_bind, second_bind) = (bind(&app.server), bind(&second));
    for _ in 0..quick_or_long(3, 30) {
        goes_on(&load).await;
        app.server.stop().await;
        goes_on(&load).await;
        app.server = app.another(&[("BIND", &first_bind)]).await;
        goes_on(&load).await;
        second.stop().await;
        goes_on(&load).await;
        second = app.another(&[("BIND", &second_bind)]).await;
    }
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    readers.end_with(books.are_right(&app)).await;
    drop(second);
    app.finish().await;
}
