//! A link that ends after a number of clicks, under faults: its visitors get exactly so many redirects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::{Client, Method, redirect};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::faults::load::Address;
use crate::faults::postgres::Postgres;
use crate::faults::redis::{FSYNC_ALWAYS, is_used_again};
use crate::faults::{WITHOUT_REDIS, quick_or_long, redirects_go_on, under_load, warm_links};
use crate::support::{App, Mode, RedisServer, Response, Server, eventually};

const LIMIT: u64 = 1_000;
const CLIENTS: usize = 200;

/// The longest pause of a client between two visits: all together take some seconds.
const MAX_PAUSE: u64 = 1_500;

/// How often a client is told that the link is used up before it stops.
const REFUSALS: usize = 3;

/// Clients of several instances, which follow a link until it is used up.
struct Visitors {
    seen: Arc<Seen>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    redirected: AtomicU64,
    /// Responses 503.
    unavailable: AtomicU64,
    /// Requests without a response.
    lost: AtomicU64,
}

impl Visitors {
    fn start(instances: &[Address], code: &str) -> Self {
        let seen = Arc::<Seen>::default();
        let client = Client::builder().redirect(redirect::Policy::none());
        let client = client.build().unwrap();
        let visit = |number: usize| {
            let (address, seen) = (
                instances[number % instances.len()].clone(),
                Arc::clone(&seen),
            );
            tokio::spawn(visit(client.clone(), address, code.to_owned(), seen))
        };
        Self {
            clients: (0..CLIENTS).map(visit).collect(),
            seen,
        }
    }

    fn redirected(&self) -> u64 {
        self.seen.redirected.load(Ordering::SeqCst)
    }

    /// Waits until so many were redirected.
    async fn reach(&self, count: u64) {
        eventually("visitors are redirected", async || {
            self.redirected() >= count
        })
        .await;
    }

    /// The numbers of redirects, of responses 503, and of requests without a response, once the link is used up.
    async fn end(self) -> (u64, u64, u64) {
        for client in self.clients {
            client.await.unwrap();
        }
        let Seen {
            redirected,
            unavailable,
            lost,
        } = &*self.seen;
        let seen = [redirected, unavailable, lost].map(|count| count.load(Ordering::SeqCst));
        println!(
            "{} redirected, {} unavailable, {} lost",
            seen[0], seen[1], seen[2]
        );
        seen.into()
    }
}

async fn visit(client: Client, address: Address, code: String, seen: Arc<Seen>) {
    let mut refusals = 0;
    while refusals < REFUSALS {
        sleep(Duration::from_millis(getrandom::u64().unwrap() % MAX_PAUSE)).await;
        let request = client.get(format!("http://{}/{code}", address.current()));
        let Ok(response) = request.send().await else {
            seen.lost.fetch_add(1, Ordering::SeqCst);
            continue;
        };
        match response.status().as_u16() {
            302 => {
                seen.redirected.fetch_add(1, Ordering::SeqCst);
            }
            404 => refusals += 1,
            503 => {
                assert!(response.headers().contains_key("retry-after"));
                seen.unavailable.fetch_add(1, Ordering::SeqCst);
            }
            other => panic!("{other}"),
        }
    }
}

/// The code of a fresh link with the limit.
async fn limited(app: &App) -> String {
    let request = app.request(Method::POST, "/urls/shorten");
    let limit = LIMIT.to_string();
    let query = [
        ("target_url", "https://example.org/"),
        ("max_clicks", &limit),
    ];
    let made = request.bearer_auth(app.register().await).query(&query);
    let made = Response::of(made).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()["short_code"].as_str().unwrap().to_owned()
}

/// Three instances with these settings, and their addresses.
async fn three(settings: &[(&str, &str)]) -> (App, [Server; 2], Vec<Address>) {
    let app = App::start_with(Mode::Production, settings).await;
    let others = [app.another(settings).await, app.another(settings).await];
    let bases = [&app.server.base, &others[0].base, &others[1].base];
    let addresses = bases.map(|base| Address::of(base)).to_vec();
    (app, others, addresses)
}

/// Each visitor got an answer, so exactly as many were redirected as the limit says, and the count is the same.
async fn is_exact(app: &App, code: &str, visitors: Visitors) {
    let (redirected, _, lost) = visitors.end().await;
    assert_eq!((redirected, lost), (LIMIT, 0));
    let path = format!("/urls/{code}/stats");
    eventually("the count is available", async || {
        app.get(&path).await.status == 200
    })
    .await;
    assert_eq!(app.clicks(code).await, LIMIT);
}

#[tokio::test]
async fn redis_that_is_killed_and_comes_back_changes_no_number_of_redirects() {
    let mut redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let url = redis.url();
    let (app, others, addresses) = three(&[("REDIS_URL", &url)]).await;
    for _ in 0..quick_or_long(1, 10) {
        let code = limited(&app).await;
        let visitors = Visitors::start(&addresses, &code);
        for part in [5, 2] {
            visitors.reach(LIMIT / part).await;
            redis.kill();
            let before = visitors.redirected();
            sleep(Duration::from_millis(500)).await;
            assert!(
                visitors.redirected() > before,
                "visitors are redirected without Redis"
            );
            redis.start_again().await;
            is_used_again(&app).await;
        }
        is_exact(&app, &code, visitors).await;
    }
    drop(others);
    app.server_only().await;
}

#[tokio::test]
async fn redis_that_is_away_changes_no_number_of_redirects() {
    let mut redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let url = redis.url();
    let (app, others, addresses) = three(&[("REDIS_URL", &url)]).await;
    let code = limited(&app).await;
    redis.kill();
    let visitors = Visitors::start(&addresses, &code);
    visitors.reach(LIMIT).await;
    redis.start_again().await;
    is_used_again(&app).await;
    is_exact(&app, &code, visitors).await;
    drop(others);
    app.server_only().await;
}

mod visitors_get_exactly_as_many_redirects_as_the_limit_says {
    use super::{Address, App, Mode, Visitors, WITHOUT_REDIS, is_exact, limited, three};

    #[tokio::test]
    async fn embedded() {
        let app = App::start(Mode::Embedded).await;
        let code = limited(&app).await;
        let visitors = Visitors::start(&[Address::of(&app.server.base)], &code);
        is_exact(&app, &code, visitors).await;
        app.server_only().await;
    }

    #[tokio::test]
    async fn production() {
        let (app, others, addresses) = three(&[]).await;
        let code = limited(&app).await;
        is_exact(&app, &code, Visitors::start(&addresses, &code)).await;
        drop(others);
        app.server_only().await;
    }

    #[tokio::test]
    async fn postgres_alone() {
        let (app, others, addresses) = three(&[WITHOUT_REDIS]).await;
        let code = limited(&app).await;
        is_exact(&app, &code, Visitors::start(&addresses, &code)).await;
        drop(others);
        app.server_only().await;
    }
}

#[tokio::test]
async fn postgres_away_stops_only_redirects_with_a_limit_and_changes_no_number_of_them() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let (app, others, addresses) = three(&[("DATABASE_URL", &url)]).await;
    let codes = warm_links(&app).await;
    let (_, load) = under_load(&app, &codes).await;
    for _ in 0..quick_or_long(1, 10) {
        let code = limited(&app).await;
        let visitors = Visitors::start(&addresses, &code);
        visitors.reach(LIMIT / 4).await;
        postgres.stop();
        let refused = app.get(&format!("/{code}")).await;
        refused.is_error(503, "The service cannot answer this right now; try again");
        assert_eq!(refused.header("retry-after"), "1");
        redirects_go_on(&load).await;
        postgres.start_again();
        visitors.reach(LIMIT / 2).await;
        // It answers nothing and closes nothing.
        postgres.signal("STOP");
        redirects_go_on(&load).await;
        postgres.signal("CONT");
        is_exact(&app, &code, visitors).await;
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    tally.check_bounds(&app).await;
    drop(others);
    app.server_only().await;
}

#[tokio::test]
async fn an_instance_that_is_killed_takes_no_more_redirects_with_it_than_answers() {
    let (app, mut others, addresses) = three(&[]).await;
    for _ in 0..quick_or_long(2, 20) {
        let code = limited(&app).await;
        let visitors = Visitors::start(&addresses, &code);
        for part in [4, 2] {
            visitors.reach(LIMIT / part).await;
            others[0].kill();
            others[0] = app.another(&[]).await;
            addresses[1].set(&others[0].base);
        }
        let (redirected, _, lost) = visitors.end().await;
        assert!(redirected <= LIMIT, "{redirected} redirected");
        assert!(
            redirected + lost >= LIMIT,
            "{redirected} redirected, {lost} lost"
        );
        assert_eq!(app.clicks(&code).await, LIMIT);
    }
    drop(others);
    app.server_only().await;
}
