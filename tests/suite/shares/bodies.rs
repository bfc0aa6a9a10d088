//! Bodies that are announced and do not come.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use shunt::http::paths::{Class, PAGES, ROUTES};
use tokio::io::AsyncWriteExt;

use crate::suite::abuse::admin;
use crate::suite::busy::DatabaseLock;
use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, both_modes, eventually};

use super::{BY_ADDRESS, announce, connect_from};

/// Permits for requests of the API.
const MAX_REQUESTS: usize = 4;

const METHODS: [&str; 4] = ["POST", "PATCH", "PUT", "DELETE"];

/// Announced by its length, or in chunks; and the first byte of each.
const KINDS: [(&str, &str); 2] = [
    ("Content-Length: 100", "{"),
    ("Transfer-Encoding: chunked", "1\r\n{\r\n"),
];

/// An administrator by token and by session.
struct Caller {
    token: String,
    headers: String,
}

impl Caller {
    async fn new(app: &App) -> Self {
        let token = admin(app).await;
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        app.backend
            .execute(crate::suite::abuse::GRANT, &email)
            .await;
        let session = &browser.cookies["shunt_session"];
        let headers =
            format!("Authorization: Bearer {token}\r\nCookie: shunt_session={session}\r\n");
        Self { token, headers }
    }
}

/// The operations that the document says to have a body, without redirects, which need no permit.
async fn with_a_body(app: &App) -> BTreeSet<String> {
    let document = app.get("/openapi.json").await.json();
    let mut with_a_body = BTreeSet::new();
    let is_redirect = |path: &str| {
        let route = ROUTES.iter().find(|route| route.template == path);
        route.is_some_and(|route| route.class == Class::Redirect)
    };
    let paths = document["paths"].as_object().unwrap().iter();
    for (path, operations) in paths.filter(|(path, _)| !is_redirect(path)) {
        for (method, operation) in operations.as_object().unwrap() {
            if operation.get("requestBody").is_some() {
                with_a_body.insert(format!("{} {path}", method.to_uppercase()));
            }
        }
    }
    with_a_body
}

both_modes! {
    with &[("MAX_REQUESTS", "4")];

    async fn bodies_that_do_not_come_take_no_permit_on_any_route(app) {
        let mut caller = Caller::new(app).await;
        let mut awaited = BTreeSet::new();
        for route in ROUTES.iter().chain(&PAGES).filter(|route| route.class != Class::Redirect) {
            for (method, (kind, byte)) in METHODS.iter().flat_map(|method| KINDS.map(|kind| (method, kind))) {
                let path = route.template.replace("{short_code}", "some-code").replace("{id}", "1").replace("{file}", "file");
                let (line, headers) = (format!("{method} {path}"), format!("{}{kind}\r\n", caller.headers));
                let mut streams = Vec::new();
                for _ in 0..=MAX_REQUESTS {
                    let mut stream = connect_from(app, "127.0.0.1").await;
                    if announce(&mut stream, &line, &headers).await == 100 {
                        stream.write_all(byte.as_bytes()).await.unwrap();
                        streams.push(stream);
                    } else if streams.is_empty() {
                        break;
                    }
                }
                let me = app.get_as(&caller.token, "/auth/me").await;
                if !streams.is_empty() {
                    assert_eq!(me.status, 200, "{} of {line}, {kind}: {me:?}", streams.len());
                    awaited.insert(format!("{method} {}", route.template));
                } else if me.status == 401 {
                    // The route has ended all tokens.
                    caller = Caller::new(app).await;
                }
            }
        }
        let missing: Vec<_> = with_a_body(app).await.into_iter().filter(|operation| !awaited.contains(operation)).collect();
        assert!(missing.is_empty(), "they were to await a body: {missing:?}");
        let pages = awaited.iter().filter(|route| route.contains(" /app/")).count();
        assert!(pages >= 20, "{awaited:?}");
    }
}

#[tokio::test]
async fn an_address_has_a_quarter_of_the_requests_in_unfinished_bodies() {
    let app = App::start_with(Mode::Embedded, &[BY_ADDRESS, ("MAX_REQUESTS", "64")]).await;
    let report = async |address: &str| {
        let mut stream = connect_from(&app, address).await;
        let status = announce(&mut stream, "POST /report", "Content-Length: 9\r\n").await;
        (status, stream)
    };
    let mut open = Vec::new();
    for _ in 0..16 {
        let (status, stream) = report("127.0.9.1").await;
        assert_eq!(status, 100);
        open.push(stream);
    }
    assert_eq!(report("127.0.9.1").await.0, 429);
    assert_eq!(report("127.0.9.2").await.0, 100);
    assert_eq!(app.limit_hits("bodies_of_client").await, 1);
    open.pop();
    eventually("a body that has ended makes room", async || {
        report("127.0.9.1").await.0 == 100
    })
    .await;
    drop(open);
    app.finish().await;
}

/// Makes a link however often the service is busy.
async fn shorten_at_last(app: &App, token: &str) {
    eventually("a link is made", async || {
        app.try_shorten(token, "https://example.org/").await.status == 200
    })
    .await;
}

async fn an_account_leaves_permits_to_others(mode: Mode) {
    let app = App::start_with(mode, &[("MAX_REQUESTS", "32")]).await;
    let (owner, other) = (app.register().await, app.register().await);
    let lock = DatabaseLock::on_writes(&app, "links").await;
    let links = (0..20).map(|_| shorten_at_last(&app, &owner));
    let others = async {
        eventually("sixteen wait, and the next one is refused", async || {
            let refused = app.get_as(&owner, "/auth/me").await;
            refused.status == 503 && refused.detail() == "The service is busy; try again"
        })
        .await;
        assert_eq!(app.get_as(&other, "/auth/me").await.status, 200);
        drop(lock);
    };
    tokio::join!(join_all(links), others);
    assert!(app.limit_hits("requests_of_client").await >= 4);
    assert_eq!(app.limit_hits("requests").await, 0);
    assert_eq!(app.get_as(&owner, "/auth/me").await.status, 200);
    app.finish().await;
}

#[tokio::test]
async fn an_embedded_account_leaves_permits_to_others() {
    an_account_leaves_permits_to_others(Mode::Embedded).await;
}

#[tokio::test]
async fn a_production_account_leaves_permits_to_others() {
    an_account_leaves_permits_to_others(Mode::Production).await;
}

#[tokio::test]
async fn an_address_has_its_part_of_the_permits_whatever_the_accounts() {
    let settings = [BY_ADDRESS, ("MAX_REQUESTS", "16")];
    let app = App::start_with(Mode::Production, &settings).await;
    let mut tokens = Vec::new();
    for _ in 0..5 {
        tokens.push(app.register().await);
    }
    let lock = DatabaseLock::on_writes(&app, "links").await;
    let twice = tokens.iter().chain(&tokens);
    let made = twice.map(|token| shorten_at_last(&app, token));
    let others = async {
        eventually("two are one too many", async || {
            app.limit_hits("requests_of_client").await >= 2
        })
        .await;
        let mut other = connect_from(&app, "127.0.9.3").await;
        // It needs a permit, and no database.
        let request = "GET /auth/me HTTP/1.1\r\nHost: test\r\n\r\n";
        other.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(super::status(&mut other).await, 401);
        drop(lock);
    };
    tokio::join!(join_all(made), others);
    assert_eq!(app.limit_hits("requests").await, 0);
    app.finish().await;
}
