//! Every route while Redis, Postgres or both are away. `deploy/guarantees.md` has the table of the answers.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::json;
use shunt::http::paths::{COMPAT, PAGES, ROUTES};

use crate::faults::nothing_is_in_memory_alone;
use crate::faults::proxy::{Fault, Proxy};
use crate::suite::statements;
use crate::support::{App, Backend, Mode, Response, Server, eventually};

mod bounds;
mod groups;
mod pages;
mod requests;
mod rooms;

use requests::requests;

/// The head of the table, which begins with the line after it.
const HEAD: &str =
    "| route | Redis away | Postgres away | both away |\n| --- | --- | --- | --- |\n";

/// Which of Redis and Postgres are away.
const STATES: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// Every route that the service has: those in its document, and the methods that its pages and the APIs of other shorteners do not
/// refuse.
async fn all_routes(app: &App) -> BTreeSet<String> {
    let document = app.get("/openapi.json").await.json();
    let mut all = BTreeSet::new();
    for (template, methods) in document["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap().keys();
        let methods = methods.filter(|name| {
            ["get", "head", "post", "patch", "delete", "put"].contains(&name.as_str())
        });
        all.extend(methods.map(|method| format!("{} {template}", method.to_uppercase())));
    }
    for route in PAGES {
        let path = route
            .template
            .replace("{short_code}", "nowhere")
            .replace("{id}", "1");
        let path = path.replace("{file}", "none");
        for method in [Method::GET, Method::POST] {
            if Response::of(app.request(method.clone(), &path))
                .await
                .status
                != 405
            {
                all.insert(format!("{method} {}", route.template));
            }
        }
    }
    for route in COMPAT {
        let path = rooms::filled(route.template);
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let asked = app.request(method.parse().unwrap(), &path);
            if Response::of(asked).await.status != 405 {
                all.insert(format!("{method} {}", route.template));
            }
        }
    }
    all
}

/// The place of a route in the tables of paths.
fn place(route: &str) -> usize {
    let template = route.split(' ').nth(1).unwrap();
    let all = ROUTES.iter().chain(&PAGES).chain(&COMPAT);
    let mut templates = all.map(|route| route.template);
    templates.position(|known| known == template).unwrap()
}

async fn becomes(app: &App, (redis, postgres): (bool, bool)) {
    let state = |is_away| json!(if is_away { "away" } else { "up" });
    eventually("the state is known", async || {
        let ready = app.get("/ready").await.json();
        ready["redis"] == state(redis) && ready["database"] == state(postgres)
    })
    .await;
}

#[tokio::test]
async fn every_route_is_answered_as_the_table_says_while_redis_postgres_or_both_are_away() {
    let backend = Backend::new(Mode::Production).await;
    let settings = backend.settings();
    let url_of = |name: &str| &settings.iter().find(|(known, _)| known == name).unwrap().1;
    let postgres = Proxy::to(url_of("DATABASE_URL")).await;
    let redis = Proxy::to(url_of("REDIS_URL")).await;
    let mut through_proxies = settings.clone();
    through_proxies.extend([
        ("DATABASE_URL".to_owned(), postgres.url().to_owned()),
        ("REDIS_URL".to_owned(), redis.url().to_owned()),
        (
            "SECURITY_CONTACT".to_owned(),
            "mailto:security@example.org".to_owned(),
        ),
        ("CACHE_TTL_SECONDS".to_owned(), "600".to_owned()),
        // Browsers have no passkeys at an address without a name.
        ("BASE_URL".to_owned(), "http://localhost".to_owned()),
        // No mail server listens there: mails are given up, and requests do not wait for them.
        (
            "SMTP_URL".to_owned(),
            "smtp://127.0.0.1:1?tls=none".to_owned(),
        ),
        ("MAIL_FROM".to_owned(), "links@example.org".to_owned()),
        ("STATEMENT_KEY".to_owned(), statements::KEY.to_owned()),
    ]);
    let server = Server::start(&through_proxies).await;
    let app = App::of(backend, server);
    let mut expected = all_routes(&app).await;
    for route in rooms::ALWAYS_REFUSED {
        expected.remove(route);
    }
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for state in STATES {
        let requests = requests(&app).await;
        let asked: BTreeSet<_> = requests.iter().map(|(route, ..)| route.clone()).collect();
        assert_eq!(asked, expected, "this test asks every route");
        let fault = |is_away| if is_away { Fault::Down } else { Fault::None };
        redis.inject(fault(state.0));
        postgres.inject(fault(state.1));
        becomes(&app, state).await;
        for (route, note, request) in requests {
            let response = request.send().await.unwrap();
            let mut answer = response.status().as_u16().to_string();
            if response.status() == 503 {
                assert!(response.headers().contains_key("retry-after"), "{route}");
            }
            if response.headers().contains_key("clicks-as-of") {
                answer.push_str(", `Clicks-As-Of`");
            }
            if state == STATES[0] {
                assert!(response.status().as_u16() < 400, "{route}: {response:?}");
                assert!(!answer.contains("As-Of"), "{route}");
            }
            let note = if note.is_empty() {
                String::new()
            } else {
                format!(", {note}")
            };
            let name = format!("`{route}`{note}");
            match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, answers)) => answers.push(answer),
                None => rows.push((name, vec![answer])),
            }
        }
        redis.inject(Fault::None);
        postgres.inject(Fault::None);
        becomes(&app, STATES[0]).await;
        nothing_is_in_memory_alone(&app).await;
    }
    rows.sort_by_key(|(name, _)| place(name.split('`').nth(1).unwrap()));
    let mut table = String::new();
    for (name, answers) in rows {
        writeln!(table, "| {name} | {} |", answers[1..].join(" | ")).unwrap();
    }
    is_in_the_guarantees(&table);
    app.server_only().await;
}

fn is_in_the_guarantees(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/guarantees.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(HEAD).expect("the table has its head");
    let end = rest.find("\n\n").unwrap() + 1;
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{before}{HEAD}{table}{}", &rest[end..])).unwrap();
        return;
    }
    assert!(
        rest[..end] == *table,
        "deploy/guarantees.md is out of date: run `UPDATE=1 cargo test --test all every_route` and look at what changed\n{table}"
    );
}
