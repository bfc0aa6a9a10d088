//! Several instances that flush at once, one of which hangs in the middle of a flush.

use std::time::Duration;

use tokio::time::sleep;

use crate::faults::load::{Address, Load};
use crate::faults::nginx::Nginx;
use crate::faults::readers::Readers;
use crate::faults::{CLIENTS, quick_or_long, redirects_go_on, warm_links};
use crate::support::{App, Mode, Server};

/// Longer than any lease.
const HANG: Duration = Duration::from_secs(11);

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
        // Each instance hangs for a while, so sooner or later the one with the lease does.
        hangs(&app.server).await;
        hangs(&others[0]).await;
    }
    let mut answered = 0;
    for load in loads {
        let tally = load.stop().await;
        assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
        answered += tally.answered();
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
    sleep(HANG).await;
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
    let nginx = Nginx::in_front_of(&[&app.server.base, &second.base]);
    let address = Address::of(&nginx.base());
    let load = Load::start(&address, &codes, CLIENTS);
    let readers = Readers::of_several(&[address], &codes).await;
    let bind = |server: &Server| Address::of(&server.base).current();
    let (first_bind, second_bind) = (bind(&app.server), bind(&second));
    for _ in 0..quick_or_long(3, 30) {
        redirects_go_on(&load).await;
        app.server.stop().await;
        redirects_go_on(&load).await;
        app.server = app.another(&[("BIND", &first_bind)]).await;
        redirects_go_on(&load).await;
        second.stop().await;
        redirects_go_on(&load).await;
        second = app.another(&[("BIND", &second_bind)]).await;
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    drop(second);
    app.finish().await;
}
