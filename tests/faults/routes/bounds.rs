//! Who may ask for a route, what that costs at most, and what bounds it: `SECURITY.md` has the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Request};
use serde_json::json;
use shunt::http::paths::COMPAT;

use super::requests::{Account, LinksBefore, requests, requests_with};
use super::{all_routes, place};
use crate::suite::web::browser::{Browser, token};
use crate::support::{App, Backend, Mode, Response, Server};

/// The first line of the table; the rows begin two lines below it.
const HEAD: &str = "| route | who | bytes in | bytes kept | rows read | CPU | by address | by account | in all | test |\n";

/// The columns of the route, of who may ask for it, and of the CPU time.
const ROUTE: usize = 0;
const WHO: usize = 1;
const CPU: usize = 5;

/// Links of the accounts whose requests are measured, and the length of each target.
const MEASURED: LinksBefore = LinksBefore {
    links: 2_000,
    letters: 2_000,
};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("SECURITY.md")
}

/// The page before the rows, the cells of each row, and the page after them.
fn table() -> (String, Vec<Vec<String>>, String) {
    let text = fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(HEAD).expect("the table has its head");
    let (rule, rest) = rest.split_once('\n').unwrap();
    let end = rest.find("\n\n").unwrap() + 1;
    let cells = |line: &str| {
        let line = line.trim_start_matches('|').trim_end_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = rest[..end].lines().map(cells).collect();
    let before = format!("{before}{HEAD}{rule}\n");
    (before, rows, rest[end..].to_owned())
}

fn route_of(row: &[String]) -> String {
    row[ROUTE].trim_matches('`').to_owned()
}

fn client() -> Client {
    Client::builder().redirect(Policy::none()).build().unwrap()
}

/// A request without its credentials.
fn bare(request: &Request) -> Request {
    let mut request = request.try_clone().unwrap();
    request.headers_mut().remove(AUTHORIZATION);
    request.headers_mut().remove(COOKIE);
    request
}

async fn status_with(request: &Request, token: &str) -> u16 {
    let mut request = bare(request);
    let bearer = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert(AUTHORIZATION, bearer);
    client().execute(request).await.unwrap().status().as_u16()
}

/// How a page, or a form with the token of such a page, is answered to a browser; 401 if by the way to the log-in.
async fn status_in(browser: &mut Browser<'_>, page: &str, request: &Request) -> u16 {
    let csrf = token(&browser.get(page).await.text);
    let mut request = bare(request);
    let cookies = browser.request(Method::GET, page).build().unwrap();
    let cookies = cookies.headers()[COOKIE].clone();
    request.headers_mut().insert(COOKIE, cookies);
    if let Some(form) = request.body().and_then(reqwest::Body::as_bytes) {
        let form = form_urlencoded::parse(form).filter(|(name, _)| name != "csrf");
        let mut own = form_urlencoded::Serializer::new(String::new());
        own.append_pair("csrf", &csrf).extend_pairs(form);
        *request.body_mut() = Some(own.finish().into());
        request.headers_mut().remove(CONTENT_LENGTH);
    }
    let response = client().execute(request).await.unwrap();
    match response
        .headers()
        .get(LOCATION)
        .map(|to| to.to_str().unwrap())
    {
        Some(to) if to == "/app/login" || to.starts_with("/app/login?") => 401,
        _ => response.status().as_u16(),
    }
}

/// Who may ask for a page, found by asking as a visitor, and as the owner of an ordinary account.
async fn who_may_see(app: &App, request: &Request) -> &'static str {
    if status_in(&mut Browser::new(app), "/app/login", request).await != 401 {
        return "everybody";
    }
    let mut stranger = Browser::new(app);
    stranger.sign_up().await;
    match status_in(&mut stranger, "/app/account", request).await {
        403 => "administrator",
        _ => "session",
    }
}

/// Who may ask an API of another shortener, found by asking without the key.
async fn who_may_enter(request: &Request) -> &'static str {
    let mut request = bare(request);
    request.headers_mut().remove("x-api-key");
    request.url_mut().set_query(None);
    match client().execute(request).await.unwrap().status().as_u16() {
        200 => "everybody",
        401 | 403 => "key",
        other => panic!("{other}"),
    }
}

/// Who may ask, found by asking as everybody, by a key that may write, and by the log-in of an ordinary account.
async fn who_may_ask(app: &App, route: &str, request: &Request) -> &'static str {
    if route.contains(" /app") {
        return who_may_see(app, request).await;
    }
    if COMPAT.iter().any(|known| route.ends_with(known.template)) {
        return who_may_enter(request).await;
    }
    if client().execute(bare(request)).await.unwrap().status() != 401 {
        return "everybody";
    }
    let stranger = Account::new(app).await;
    let key = app
        .request(Method::POST, "/auth/keys")
        .bearer_auth(&stranger.token);
    let key = key.json(&json!({ "name": "a key", "scope": "write" }));
    let key = Response::of(key).await.json()["key"]
        .as_str()
        .unwrap()
        .to_owned();
    if ![401, 403].contains(&status_with(request, &key).await) {
        return "key";
    }
    match status_with(request, &stranger.token).await {
        403 => "administrator",
        401 => panic!("{route}: no log-in is good"),
        _ => "log-in",
    }
}

#[tokio::test]
async fn every_route_has_a_row_that_says_who_may_ask_for_it_and_what_bounds_it() {
    // Browsers have no passkeys at an address without a name.
    let app = App::start_with(Mode::Embedded, &[("BASE_URL", "http://localhost")]).await;
    let (_, rows, _) = table();
    let routes: BTreeSet<_> = rows.iter().map(|row| route_of(row)).collect();
    assert_eq!(routes, all_routes(&app).await, "the table has every route");
    assert_eq!(routes.len(), rows.len(), "each route has one row");
    assert!(rows.is_sorted_by_key(|row| place(&route_of(row))));
    for row in &rows {
        assert_eq!(row.len(), HEAD.matches('|').count() - 1, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert!(
            row.last().unwrap().contains('`'),
            "a test is named: {row:?}"
        );
    }
    let who: BTreeMap<_, _> = rows
        .iter()
        .map(|row| (route_of(row), row[WHO].clone()))
        .collect();
    let mut wrong = BTreeMap::new();
    for (route, _, request) in requests(&app).await {
        let request = request.build().unwrap();
        let may_ask = who_may_ask(&app, &route, &request).await;
        if who[&route] != may_ask {
            wrong.insert(route, may_ask);
        }
    }
    assert!(wrong.is_empty(), "who may ask: {wrong:?}");
    // Visits here and there follow links that the check of counts does not know.
    app.server_only().await;
}

/// CPU time of a process: of its threads to the nanosecond, or of all that it ever had, in ticks.
#[derive(Clone, Copy)]
struct CpuTime {
    threads: Duration,
    process: Duration,
}

impl CpuTime {
    fn of(pid: u32) -> Self {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let of_task = |task: fs::DirEntry| {
            let times = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            times.split(' ').next().unwrap().parse().unwrap_or(0)
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<_> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks = |field: &str| field.parse::<u64>().unwrap();
        Self {
            threads: Duration::from_nanos(tasks.flatten().map(of_task).sum()),
            process: Duration::from_millis(10 * (ticks(fields[11]) + ticks(fields[12]))),
        }
    }

    /// The time since then. A thread that ended meanwhile, as one that hashes passwords does, is seen by ticks only.
    fn since(self, before: Self) -> Duration {
        let threads = self.threads.saturating_sub(before.threads);
        let process = self.process.saturating_sub(before.process);
        if process > threads + Duration::from_millis(20) {
            process
        } else {
            threads
        }
    }
}

/// The dearest questions that are known for a route.
fn dearest(route: &str) -> Vec<String> {
    let (letters, hostile) = ("a".repeat(199), format!("b{}", "a".repeat(199)));
    let searches = |path: &str| vec![format!("{path}q={hostile}"), format!("{path}q={letters}")];
    match route {
        "GET /urls/my" => {
            let mut all = searches("?limit=1000&view=full&");
            all.extend(searches("?limit=1000&sort=-clicks&"));
            all.extend(["?view=full".to_owned(), "?limit=1000&tag=none".to_owned()]);
            all
        }
        "GET /admin/links" | "GET /admin/users" => searches("?limit=200&"),
        "GET /app" | "GET /app/links" | "GET /app/admin/links" | "GET /app/admin/accounts" => {
            searches("?")
        }
        "GET /urls/{short_code}/qr" => {
            vec![
                "?format=png&size=2048&ecc=H".to_owned(),
                "?size=2048&ecc=H".to_owned(),
            ]
        }
        "GET /urls/my/series" | "GET /urls/{short_code}/stats/series" => {
            vec!["?interval=hour&from=2026-08-15&to=2026-11-26&tz=Asia/Kathmandu".to_owned()]
        }
        _ => Vec::new(),
    }
}

/// CPU time of a request, without that of the process when it idles.
async fn cost(app: &App, client: &Client, idle: f64, times: usize, request: &Request) -> Duration {
    let (before, start) = (CpuTime::of(app.server.pid()), Instant::now());
    for _ in 0..times {
        let response = client.execute(request.try_clone().unwrap()).await.unwrap();
        if !request.url().path().ends_with("/live") {
            response.bytes().await.unwrap();
        }
    }
    let idle = start.elapsed().mul_f64(idle);
    let used = CpuTime::of(app.server.pid())
        .since(before)
        .saturating_sub(idle);
    used / u32::try_from(times).unwrap()
}

/// A number of two digits at most that say something.
fn rounded(number: f64) -> String {
    let unit = 10_f64.powf(number.max(1.0).log10().floor() - 1.0).max(1.0);
    let number = (number.max(1.0) / unit).round() * unit;
    format!("{number:.0}")
}

/// Measures the column of the table, and writes it if `UPDATE` is set.
#[tokio::test]
#[ignore = "it measures: `UPDATE=1 cargo test --test all cost_of_every_route -- --ignored --nocapture`"]
async fn cost_of_every_route_against_a_redirect() {
    let backend = Backend::new(Mode::Embedded).await;
    let mut settings = backend.settings();
    settings.push(("BASE_URL".to_owned(), "http://localhost".to_owned()));
    let server = match std::env::var_os("SHUNT_TEST_PROGRAM") {
        Some(program) => Server::start_program(Path::new(&program), &settings).await,
        None => Server::start(&settings).await,
    };
    let app = App::of(backend, server);
    let client = client();
    let measured = requests_with(&app, MEASURED).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (before, start) = (CpuTime::of(app.server.pid()), Instant::now());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let used = CpuTime::of(app.server.pid()).since(before);
    let idle = used.as_secs_f64() / start.elapsed().as_secs_f64();
    let is_redirect =
        |route: &str, note: &str| route == "GET /{short_code}" && note == "known code";
    let redirect = measured
        .iter()
        .find(|(route, note, _)| is_redirect(route, note))
        .unwrap();
    let redirect = redirect.2.try_clone().unwrap().build().unwrap();
    cost(&app, &client, idle, 200, &redirect).await;
    let before = CpuTime::of(app.server.pid());
    let visits = || cost(&app, &client, idle, 1_000, &redirect);
    join_all((0..32).map(|_| visits())).await;
    let redirect = CpuTime::of(app.server.pid()).since(before) / 32_000;
    println!(
        "a redirect: {redirect:?}; idle: {:.2} % of a core",
        idle * 100.0
    );
    let mut costs = BTreeMap::<String, f64>::new();
    for (route, note, request) in measured {
        let request = request.build().unwrap();
        let times = if request.method() == Method::GET {
            20
        } else {
            1
        };
        let mut asked = vec![request.try_clone().unwrap()];
        for query in dearest(&route) {
            let mut request = request.try_clone().unwrap();
            request.url_mut().set_query(query.strip_prefix('?'));
            asked.push(request);
        }
        for request in asked {
            let cost = cost(&app, &client, idle, times, &request)
                .await
                .as_secs_f64()
                / redirect.as_secs_f64();
            let query: String = request
                .url()
                .query()
                .unwrap_or_default()
                .chars()
                .take(60)
                .collect();
            println!("{cost:8.1}  {route} {note} {query}");
            let most = costs.entry(route.clone()).or_default();
            *most = most.max(cost);
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        let (before, mut rows, after) = table();
        for row in &mut rows {
            row[CPU] = rounded(costs[&route_of(row)]);
        }
        let rows = rows.iter().map(|row| format!("| {} |\n", row.join(" | ")));
        fs::write(
            page(),
            format!("{before}{}{after}", rows.collect::<String>()),
        )
        .unwrap();
    }
    app.server_only().await;
}
