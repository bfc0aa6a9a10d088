//! Searches whose texts and links are made to cost much, and many searches at once.

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use reqwest::Method;
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::suite::abuse::admin;
use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, Response, both_modes, eventually, locked, waiting_for};

/// 4,999 copies of a link.
const COPIES: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
    SELECT short_code || '-' || i, target_url, owner_id, created_at FROM links, n WHERE short_code = $1";

/// What a search may cost at most, in plain pages.
const MAX_PAGES: u64 = 20;

/// Plain pages, and others, whose cost is compared: of plain ones more, as the processor's time is counted in hundredths.
const PLAIN_TURNS: u64 = 20;
const TURNS: u64 = 5;

/// Adds 4,999 links to this target to the account of a link to it.
async fn add_copies(app: &App, token: &str, target: &str) {
    let code = app.shorten(token, target).await;
    app.backend.execute(COPIES, &code).await;
}

fn target(letters: &str) -> String {
    let length = 1_980 / letters.len();
    format!("https://example.org/{}", letters.repeat(length))
}

/// The processor's time that the service has taken up to now, in hundredths of a second.
fn cpu(app: &App) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", app.server.pid())).unwrap();
    // After the name of the program, which may have spaces: its state is the third field.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let (user, system) = (14 - 3, 15 - 3);
    let field = |n| fields.split(' ').nth(n).unwrap().parse::<u64>().unwrap();
    field(user) + field(system)
}

/// The processor's time for so many such pages.
async fn cost(app: &App, token: &str, query: &[(&str, &str)], turns: u64) -> u64 {
    let before = cpu(app);
    for _ in 0..turns {
        let request = app.request(Method::GET, "/urls/my").bearer_auth(token);
        let response = Response::of(request.query(query)).await;
        assert_eq!(response.status, 200, "{response:?}");
    }
    cpu(app) - before
}

/// The numbers of links on all pages from this one on.
async fn pages(app: &App, token: &str, first: &str) -> Vec<usize> {
    let mut pages = Vec::new();
    let mut path = Some(first.to_owned());
    while let Some(page) = path {
        let response = app.get_as(token, &page).await;
        assert_eq!(response.status, 200, "{response:?}");
        pages.push(response.json().as_array().map_or(0, Vec::len));
        let link = response.header("link").strip_prefix('<');
        path = link.map(|link| {
            let (address, _) = link.split_once('>').unwrap();
            address.strip_prefix(&app.server.base).unwrap().to_owned()
        });
    }
    pages
}

/// The status of each of so many searches that are sent at once.
async fn searches(app: &App, token: &str, count: usize) -> Vec<Response> {
    let search = |_| app.get_as(token, "/urls/my?q=nowhere&limit=50");
    join_all((0..count).map(search)).await
}

both_modes! {
    async fn a_search_of_any_text_costs_no_more_than_20_plain_pages(app) {
        let token = app.register().await;
        add_copies(app, &token, &target("a")).await;
        let a = "a".repeat(199);
        let words = ('b'..='z').map(|letter| format!("aaa{letter}")).collect::<Vec<_>>().join(" ");
        let plain = cost(app, &token, &[("limit", "50")], PLAIN_TURNS).await;
        for q in [format!("b{a}"), format!("{a}b"), "ab".repeat(100), words, format!("{}ü", "a".repeat(198))] {
            for sort in ["-created_at", "created_at", "-clicks", "clicks"] {
                let search = cost(app, &token, &[("limit", "50"), ("q", &q), ("sort", sort)], TURNS).await;
                let is_bounded = search * PLAIN_TURNS < plain * MAX_PAGES * TURNS;
                assert!(is_bounded, "{sort}: {TURNS} take {search}, {PLAIN_TURNS} plain pages {plain}: {q}");
            }
        }
    }

    async fn letters_beyond_ascii_cost_no_more_than_others(app) {
        let (ascii, other) = (app.register().await, app.register().await);
        add_copies(app, &ascii, &target("a")).await;
        add_copies(app, &other, &target("ü")).await;
        let plain = cost(app, &ascii, &[("limit", "50"), ("q", "nowhere")], TURNS).await;
        let q = format!("ö{}", "Ü".repeat(99));
        let search = cost(app, &other, &[("limit", "50"), ("q", &q)], TURNS).await;
        assert!(search < plain * MAX_PAGES, "{search}, others {plain}");
    }

    async fn a_page_of_a_search_reads_a_bounded_part_of_the_links_and_the_next_one_goes_on(app) {
        let token = app.register().await;
        let first = app.shorten(&token, "https://example.org/needle").await;
        add_copies(app, &token, &target("a")).await;
        for sort in ["-created_at", "-clicks"] {
            // 10 MB of targets, by about 2 MiB a page.
            let pages = pages(app, &token, &format!("/urls/my?q=NEEDLE&sort={sort}&limit=50")).await;
            assert_eq!(pages.iter().sum::<usize>(), 1, "{first}");
            assert!((3..=6).contains(&pages.len()), "{sort}: {pages:?}");
            assert_eq!(pages.last(), Some(&1));
        }
        let whole = app.get_as(&token, "/urls/my?q=needle").await.json();
        assert_eq!((whole.as_array().unwrap().len(), &whole[0]["short_code"]), (1, &Value::from(first)));
    }

    async fn a_status_that_few_links_have_is_looked_for_in_a_bounded_part_of_them_too(app) {
        let token = app.register().await;
        for _ in 0..3 {
            add_copies(app, &token, "https://example.org/").await;
        }
        let end = "UPDATE links SET expires_at = created_at WHERE CAST(owner_id AS text) = $1";
        let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
        app.backend.execute(end, &me).await;
        assert_eq!(pages(app, &token, "/urls/my?status=active&limit=50").await, [0, 0]);
        let tag = "INSERT INTO link_tags (link_id, tag, owner_id, created_at)
            SELECT id, 'spring', owner_id, created_at FROM links WHERE CAST(owner_id AS text) = $1";
        app.backend.execute(tag, &me).await;
        for status in ["active", "inactive", "scheduled", "used_up", "removed"] {
            let tagged = format!("/urls/my?tag=spring&status={status}&limit=50");
            assert_eq!(pages(app, &token, &tagged).await, [0, 0], "{status}: one look at all links of the tag would be one page");
        }
        assert_eq!(app.get_as(&token, "/urls/my?status=active").await.text, "[]\n");
    }

    async fn a_search_of_an_administrator_reads_a_bounded_part_of_all_links_too(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        app.shorten(&token, "https://example.org/needle").await;
        add_copies(app, &token, &target("a")).await;
        let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
        for owner in [String::new(), format!("&owner={me}")] {
            let (mut pages, mut before) = (Vec::new(), String::new());
            loop {
                let page = app.get_as(&admin, &format!("/admin/links?q=org%20NEEDLE{owner}{before}")).await.json();
                pages.push(page["links"].as_array().unwrap().len());
                let Some(next) = page["next"].as_i64() else { break };
                before = format!("&before={next}");
            }
            assert_eq!(pages.iter().sum::<usize>(), 1, "{owner}");
            assert!((3..=6).contains(&pages.len()), "{owner}: {pages:?}");
        }
        let long = "x".repeat(201);
        for list in ["links", "users"] {
            app.get_as(&admin, &format!("/admin/{list}?q={long}")).await
                .is_error(422, "q: must be at most 200 bytes long, without control characters");
        }
    }

    async fn a_page_says_how_far_it_has_searched_and_leads_on(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let link = [("target_url", "https://example.org/needle")];
        assert_eq!(browser.send("/app", "/app/links", &link).await.status, 303);
        let page = browser.get("/app?q=needle").await.text;
        let code = page.split("name=\"code\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert!(!page.contains("Searched as far as"));
        let older = "INSERT INTO links (short_code, target_url, owner_id, created_at)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10999)
            SELECT short_code || '-' || i, 'https://example.org/', owner_id, created_at FROM links, n WHERE short_code = $1";
        app.backend.execute(older, &code).await;
        let page = browser.get("/app?q=needle").await.text;
        assert!(page.contains("No link matches yet") && page.contains("Searched as far as links created at 2"), "{page}");
        let next = page.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
        let page = browser.get(&next.replace("&amp;", "&").replace("&#38;", "&")).await.text;
        assert!(page.contains(&format!("value=\"{code}\"")) && !page.contains("Searched as far as"), "{page}");
    }

    async fn a_page_refuses_a_long_text_in_a_sentence_and_keeps_it(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let long = "x".repeat(201);
        let refused = browser.get(&format!("/app?q={long}")).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("This search is too long") && refused.text.contains(&long), "{}", refused.text);
    }
}

/// 10 connections: a quarter are 2.
const CONNECTIONS: (&str, &str) = ("DATABASE_MAX_CONNECTIONS", "10");

#[tokio::test]
async fn searches_use_at_most_a_quarter_of_the_connections_and_an_account_one() {
    let app = App::start_with(Mode::Production, &[CONNECTIONS]).await;
    let mut accounts = Vec::new();
    for _ in 0..4 {
        let token = app.register().await;
        app.shorten(&token, "https://example.org/").await;
        accounts.push(token);
    }
    let url = app.backend.database_url();
    let (mut holder, observer) = (
        PgConnection::connect(&url).await.unwrap(),
        PgConnection::connect(&url).await.unwrap(),
    );
    let observer = tokio::sync::Mutex::new(observer);
    let waiting = async || waiting_for(&mut *observer.lock().await, "string_agg").await;
    let lock = "LOCK TABLE links IN ACCESS EXCLUSIVE MODE";
    let one_account = async {
        let held = locked(&mut holder, lock).await;
        let watch = async {
            eventually("a search runs", async || waiting().await == 1).await;
            // What needs no links is answered beside them, so others have a connection.
            for _ in 0..5 {
                assert_eq!(app.get_as(&accounts[1], "/auth/me").await.status, 200);
                assert_eq!(waiting().await, 1, "one search of an account runs");
            }
            held.rollback().await.unwrap();
        };
        let (found, ()) = tokio::join!(searches(&app, &accounts[0], 8), watch);
        assert!(
            found.iter().all(|response| response.status == 200),
            "{found:?}"
        );
    };
    one_account.await;
    let held = locked(&mut holder, lock).await;
    let watch = async {
        eventually("searches run", async || waiting().await == 2).await;
        for _ in 0..5 {
            assert_eq!(app.get_as(&accounts[1], "/auth/me").await.status, 200);
            assert_eq!(
                waiting().await,
                2,
                "searches have a quarter of the connections"
            );
        }
        held.rollback().await.unwrap();
    };
    let all = join_all(accounts.iter().map(|token| searches(&app, token, 2)));
    let (found, ()) = tokio::join!(all, watch);
    assert!(
        found
            .iter()
            .flatten()
            .all(|response| response.status == 200)
    );
    app.finish().await;
}

#[tokio::test]
async fn searches_of_an_account_wait_in_turn_and_of_very_many_some_are_refused() {
    let app = App::start_with(Mode::Production, &[]).await;
    let token = app.register().await;
    app.shorten(&token, "https://example.org/").await;
    let mut holder = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    let held = locked(&mut holder, "LOCK TABLE links IN ACCESS EXCLUSIVE MODE").await;
    let search = |_| app.get_as(&token, "/urls/my?q=nowhere&limit=50");
    let mut searches: FuturesUnordered<_> = (0..100).map(search).collect();
    // One runs and 63 wait, so these are answered while the lock is held.
    for _ in 0..36 {
        let refused = searches.next().await.unwrap();
        refused.is_error(429, "Too many requests; try again in 1 s");
        assert_eq!(refused.header("retry-after"), "1");
    }
    held.rollback().await.unwrap();
    let found: Vec<_> = searches.collect().await;
    assert_eq!(found.len(), 64);
    assert!(
        found.iter().all(|response| response.status == 200),
        "{found:?}"
    );
    assert_eq!(app.limit_hits("searches").await, 36);
    app.finish().await;
}

#[tokio::test]
async fn pages_that_cost_what_plain_pages_cost_wait_for_no_search() {
    let app = App::start_with(Mode::Production, &[CONNECTIONS]).await;
    let token = app.register().await;
    app.shorten(&token, "https://example.org/").await;
    let url = app.backend.database_url();
    let (mut holder, observer) = (
        PgConnection::connect(&url).await.unwrap(),
        PgConnection::connect(&url).await.unwrap(),
    );
    let observer = tokio::sync::Mutex::new(observer);
    let held = locked(&mut holder, "LOCK TABLE link_tags IN ACCESS EXCLUSIVE MODE").await;
    let plain = async {
        eventually("a search runs", async || {
            waiting_for(&mut *observer.lock().await, "string_agg").await == 1
        })
        .await;
        let page = |_| app.get_as(&token, "/urls/my?sort=created_at&status=active&limit=50");
        let pages = join_all((0..5).map(page)).await;
        assert_eq!(
            waiting_for(&mut *observer.lock().await, "string_agg").await,
            1,
            "the search still runs"
        );
        held.rollback().await.unwrap();
        pages
    };
    let search = app.get_as(&token, "/urls/my?q=nowhere&tag=spring&limit=50");
    let (_, pages) = tokio::join!(search, plain);
    let is_whole = |page: &Response| page.status == 200 && page.json()[0]["is_active"] == true;
    assert!(pages.iter().all(is_whole), "{pages:?}");
    app.finish().await;
}
