//! A request to each route, made ready while everything is there.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{groups, pages, rooms};
use crate::suite::statements::old_link;
use crate::suite::web::browser::Browser;
use crate::support::{App, Response, unique};

pub(super) const PASSWORD: &str = "correct horse";

/// Gives the account with an e-mail address the role.
pub(super) const GRANT: &str = "INSERT INTO user_roles (user_id, role, granted_at) SELECT id, 'admin', created_at FROM users WHERE email = $1";

/// Links that each account of the requests has before them.
#[derive(Clone, Copy, Default)]
pub(super) struct LinksBefore {
    pub(super) links: usize,
    /// The length of each target's path.
    pub(super) letters: usize,
}

/// Requests to routes.
pub(super) struct Requests<'a> {
    pub(super) app: &'a App,
    before: LinksBefore,
    /// Method and template of the route, what is said of the request, and the request.
    all: Vec<(String, &'static str, RequestBuilder)>,
}

/// A fresh account.
pub(super) struct Account {
    pub(super) email: String,
    pub(super) token: String,
}

impl Account {
    pub(super) async fn new(app: &App) -> Self {
        let email = format!("{}@example.org", unique());
        let made = app.account("/auth/register", &email, PASSWORD).await;
        let token = made.json()["access_token"].as_str().unwrap().to_owned();
        Self { email, token }
    }
}

impl Requests<'_> {
    /// Gives an account its links.
    pub(super) async fn fill(&self, token: &str) {
        let target = format!("https://example.org/{}", "a".repeat(self.before.letters));
        for _ in 0..self.before.links / 500 {
            let links: Vec<_> = (0..500).map(|_| json!({ "target_url": target })).collect();
            let request = self
                .app
                .request(Method::POST, "/urls/bulk")
                .bearer_auth(token);
            let made = Response::of(request.json(&links)).await;
            assert_eq!(made.status, 200, "{made:?}");
        }
    }

    pub(super) fn add(&mut self, route: &str, note: &'static str, request: RequestBuilder) {
        self.all.push((route.to_owned(), note, request));
    }

    /// A request to a route, whose parameters are filled in.
    pub(super) fn plain(&self, route: &str, filled: &[(&str, &str)]) -> RequestBuilder {
        let (method, template) = route.split_once(' ').unwrap();
        let path = filled
            .iter()
            .fold(template.to_owned(), |path, (name, value)| {
                path.replace(&format!("{{{name}}}"), value)
            });
        assert!(!path.contains('{'), "{path}");
        self.app.request(method.parse().unwrap(), &path)
    }

    pub(super) fn api(
        &mut self,
        token: &str,
        route: &str,
        filled: &[(&str, &str)],
        query: &str,
        body: &Value,
    ) {
        let mut request = self.plain(route, filled).bearer_auth(token);
        if !query.is_empty() {
            request = request.query(&[query.split_once('=').unwrap()]);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        self.add(route, "", request);
    }

    pub(super) fn page(
        &mut self,
        browser: &Browser<'_>,
        route: &str,
        filled: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) {
        let path = self
            .plain(route, filled)
            .build()
            .unwrap()
            .url()
            .path()
            .to_owned();
        let method: Method = route.split_once(' ').unwrap().0.parse().unwrap();
        let mut request = browser.request(method.clone(), &path);
        if method == Method::POST {
            let csrf = [("csrf", browser.cookies["csrf"].as_str())];
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(csrf).extend_pairs(fields);
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(form.finish());
        }
        self.add(route, "", request);
    }
}

/// The part of a page between two texts.
pub(super) fn between(page: &str, before: &str, after: &str) -> String {
    let at = page.find(before).expect(page) + before.len();
    page[at..].split(after).next().unwrap().to_owned()
}

/// A request to each route, which is answered with success while everything is there.
pub(super) async fn requests(app: &App) -> Vec<(String, &'static str, RequestBuilder)> {
    requests_with(app, LinksBefore::default()).await
}

/// The same from accounts that have links.
pub(super) async fn requests_with(
    app: &App,
    before: LinksBefore,
) -> Vec<(String, &'static str, RequestBuilder)> {
    let mut all = Requests {
        app,
        before,
        all: Vec::new(),
    };
    visits(&mut all).await;
    accounts(&mut all).await;
    groups::api(&mut all).await;
    groups::pages(&mut all).await;
    links(&mut all).await;
    administration(&mut all).await;
    domains(&mut all).await;
    pages::visitors(&mut all).await;
    pages::owners(&mut all).await;
    pages::accounts(&mut all).await;
    pages::administrators(&mut all).await;
    rooms::yourls(&mut all).await;
    rooms::kutt(&mut all).await;
    rooms::shlink(&mut all).await;
    for path in [
        "/health",
        "/ready",
        "/robots.txt",
        "/.well-known/security.txt",
        "/openapi.json",
        "/docs",
        "/docs/",
        "/metrics",
    ] {
        let route = format!("GET {path}");
        let request = all.plain(&route, &[]);
        all.add(&route, "", request);
    }
    let explorer = app.get("/docs/").await.text;
    let file = between(&explorer, " src=\"", "\"");
    let request = all.plain(
        "GET /docs/{file}",
        &[("file", file.rsplit('/').next().unwrap())],
    );
    all.add("GET /docs/{file}", "", request);
    all.all
}

async fn visits(all: &mut Requests<'_>) {
    let app = all.app;
    let token = app.register().await;
    let known = app.shorten(&token, "https://example.org/known").await;
    assert_eq!(app.visit(&format!("/{known}")).await.status, 302);
    let limited = app.shorten(&token, "https://example.org/limited").await;
    let limit = app
        .request(Method::PATCH, &format!("/urls/{limited}"))
        .bearer_auth(&token);
    let limit = Response::of(limit.json(&json!({ "max_clicks": 100 }))).await;
    assert_eq!(limit.status, 200, "{limit:?}");
    assert_eq!(app.get(&format!("/{limited}")).await.status, 302);
    let locked = app.shorten(&token, "https://example.org/locked").await;
    let lock = app
        .request(Method::PATCH, &format!("/urls/{locked}"))
        .bearer_auth(&token);
    let lock = Response::of(lock.json(&json!({ "password": PASSWORD }))).await;
    assert_eq!(lock.status, 200, "{lock:?}");
    for template in ["/{short_code}", "/urls/r/{short_code}"] {
        let route = format!("POST {template}");
        let form = format!("password={}", PASSWORD.replace(' ', "+"));
        let request = all.plain(&route, &[("short_code", &locked)]);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        all.add(&route, "with its password", request.body(form));
        for method in ["GET", "HEAD"] {
            let route = format!("{method} {template}");
            let fresh = app.shorten(&token, "https://example.org/fresh").await;
            for (note, code) in [
                ("known code", &known),
                ("code that this instance has not met", &fresh),
            ] {
                let request = all.plain(&route, &[("short_code", code)]);
                all.add(&route, note, request);
            }
            if method == "GET" {
                let request = all.plain(&route, &[("short_code", &limited)]);
                all.add(&route, "known code with `max_clicks`", request);
            }
        }
    }
}

async fn accounts(all: &mut Requests<'_>) {
    let app = all.app;
    let owner = Account::new(app).await;
    let none = Value::Null;
    let fresh = format!("{}@example.org", unique());
    for (route, email) in [
        ("POST /auth/register", &fresh),
        ("POST /auth/login", &owner.email),
    ] {
        let body = json!({ "email": email, "password": PASSWORD });
        let request = all.plain(route, &[]).json(&body);
        all.add(route, "", request);
    }
    let key = json!({ "name": "a key", "scope": "read" });
    let made = app
        .request(Method::POST, "/auth/keys")
        .bearer_auth(&owner.token);
    let made = Response::of(made.json(&key)).await.json();
    all.api(&owner.token, "GET /auth/me", &[], "", &none);
    all.api(&owner.token, "GET /auth/keys", &[], "", &none);
    all.api(&owner.token, "POST /auth/keys", &[], "", &key);
    let id = made["id"].to_string();
    all.api(
        &owner.token,
        "DELETE /auth/keys/{id}",
        &[("id", &id)],
        "",
        &none,
    );
    let changed = Account::new(app).await.token;
    let passwords = json!({ "old_password": PASSWORD, "new_password": "another horse" });
    all.api(&changed, "POST /auth/password", &[], "", &passwords);
    let moved = Account::new(app).await.token;
    let email = format!("{}@example.org", unique());
    let email = json!({ "email": email, "password": PASSWORD });
    all.api(&moved, "PATCH /auth/me", &[], "", &email);
    let ended = Account::new(app).await.token;
    all.api(&ended, "POST /auth/logout-everywhere", &[], "", &none);
    let deleted = Account::new(app).await.token;
    all.api(
        &deleted,
        "DELETE /auth/me",
        &[],
        "",
        &json!({ "password": PASSWORD }),
    );
}

async fn links(all: &mut Requests<'_>) {
    let app = all.app;
    let token = app.register().await;
    all.fill(&token).await;
    let (code, gone) = (
        app.shorten(&token, "https://example.org/").await,
        app.shorten(&token, "https://example.org/gone").await,
    );
    let (token, none) = (token.as_str(), Value::Null);
    let filled = [("short_code", code.as_str())];
    all.api(
        token,
        "POST /urls/shorten",
        &[],
        "target_url=https://example.org/",
        &none,
    );
    all.api(
        token,
        "POST /urls/bulk",
        &[],
        "",
        &json!([{ "target_url": "https://example.org/" }]),
    );
    all.api(token, "GET /urls/my", &[], "", &none);
    all.api(token, "GET /urls/export", &[], "format=csv", &none);
    all.api(token, "GET /urls/my/events", &[], "", &none);
    all.api(token, "GET /urls/my/series", &[], "", &none);
    all.api(token, "GET /urls/my/breakdown", &[], "by=country", &none);
    all.api(token, "GET /urls/{short_code}", &filled, "", &none);
    all.api(
        token,
        "PATCH /urls/{short_code}",
        &filled,
        "",
        &json!({ "title": "new" }),
    );
    all.api(
        token,
        "DELETE /urls/{short_code}",
        &[("short_code", &gone)],
        "",
        &none,
    );
    for part in ["stats", "stats/series", "stats/export", "stats/live", "qr"] {
        all.api(
            token,
            &format!("GET /urls/{{short_code}}/{part}"),
            &filled,
            "",
            &none,
        );
    }
    all.api(
        token,
        "GET /urls/{short_code}/stats/breakdown",
        &filled,
        "by=country",
        &none,
    );
    pool(all, token).await;
    tags(all).await;
    bin(all, token).await;
    shares(all, token).await;
    hooks(all, token).await;
    statements(all, token).await;
    let report = json!({ "short_code": code, "reason": "phishing" });
    let request = all.plain("POST /report", &[]).json(&report);
    all.add("POST /report", "", request);
}

async fn tags(all: &mut Requests<'_>) {
    let app = all.app;
    let (token, none) = (app.register().await, Value::Null);
    all.fill(&token).await;
    let link = json!({ "target_url": "https://example.org/", "tags": ["old", "gone"] });
    let made = app
        .request(Method::POST, "/urls/shorten")
        .bearer_auth(&token);
    assert_eq!(Response::of(made.json(&link)).await.status, 200);
    all.api(&token, "GET /urls/tags", &[], "", &none);
    let (rename, new) = ("PATCH /urls/tags/{tag}", json!({ "tag": "new" }));
    all.api(&token, rename, &[("tag", "old")], "", &new);
    let delete = "DELETE /urls/tags/{tag}";
    all.api(&token, delete, &[("tag", "gone")], "", &none);
}

async fn pool(all: &mut Requests<'_>, token: &str) {
    let code = all.app.shorten(token, "https://example.org/pool").await;
    let filled = [("short_code", code.as_str())];
    let add = "POST /urls/{short_code}/pool";
    let request = all.plain(add, &filled).bearer_auth(token);
    all.add(add, "", request.body("https://example.org/1"));
    for method in ["GET", "DELETE"] {
        let route = format!("{method} /urls/{{short_code}}/pool");
        all.api(token, &route, &filled, "", &Value::Null);
    }
}

async fn hooks(all: &mut Requests<'_>, token: &str) {
    let body = json!({ "url": "https://example.org/in", "types": ["hook.off"] });
    let mut ids = Vec::new();
    for _ in 0..2 {
        let request = all.app.request(Method::POST, "/hooks").bearer_auth(token);
        let made = Response::of(request.json(&body)).await;
        assert_eq!(made.status, 200, "{made:?}");
        ids.push(made.json()["id"].to_string());
    }
    let events = all.app.get_as(token, "/urls/my/events?after=now").await;
    let cursor = events.header("shunt-cursor").to_owned();
    let kept = [("id", ids[0].as_str())];
    all.api(token, "GET /hooks", &[], "", &Value::Null);
    all.api(token, "POST /hooks", &[], "", &body);
    all.api(token, "GET /hooks/{id}", &kept, "", &Value::Null);
    let change = json!({ "is_active": true });
    all.api(token, "PATCH /hooks/{id}", &kept, "", &change);
    let route = "GET /hooks/{id}/deliveries";
    all.api(token, route, &kept, "", &Value::Null);
    let after = json!({ "after": cursor });
    all.api(token, "POST /hooks/{id}/replay", &kept, "", &after);
    let gone = [("id", ids[1].as_str())];
    all.api(token, "DELETE /hooks/{id}", &gone, "", &Value::Null);
}

async fn shares(all: &mut Requests<'_>, token: &str) {
    let code = all.app.shorten(token, "https://example.org/share").await;
    let id = shared(all.app, token, &code).await["id"].to_string();
    let filled = [("short_code", code.as_str()), ("id", &id)];
    for route in [
        "POST /urls/{short_code}/shares",
        "GET /urls/{short_code}/shares",
        "DELETE /urls/{short_code}/shares/{id}",
    ] {
        all.api(token, route, &filled, "", &Value::Null);
    }
}

async fn statements(all: &mut Requests<'_>, token: &str) {
    let route = "GET /urls/{short_code}/statement";
    for note in ["", "a month that was issued before"] {
        let code = old_link(all.app, token).await;
        let request = all.plain(route, &[("short_code", &code)]);
        let request = request.query(&[("month", "2026-10")]).bearer_auth(token);
        if !note.is_empty() {
            let issued = Response::of(request.try_clone().unwrap()).await;
            assert_eq!(issued.status, 200, "{issued:?}");
        }
        all.add(route, note, request);
    }
    let route = "GET /.well-known/shunt-keys.json";
    let request = all.plain(route, &[]);
    all.add(route, "", request);
}

/// Shares the statistics of a link.
pub(super) async fn shared(app: &App, token: &str, code: &str) -> Value {
    let path = format!("/urls/{code}/shares");
    Response::of(app.request(Method::POST, &path).bearer_auth(token))
        .await
        .json()
}

async fn bin(all: &mut Requests<'_>, token: &str) {
    let mut codes = Vec::new();
    for _ in 0..2 {
        let code = all.app.shorten(token, "https://example.org/bin").await;
        assert_eq!(all.app.delete(token, &code).await.status, 204);
        codes.push(code);
    }
    all.api(token, "GET /urls/trash", &[], "", &Value::Null);
    for (route, code) in [
        ("POST /urls/{short_code}/restore", &codes[0]),
        ("DELETE /urls/trash/{short_code}", &codes[1]),
    ] {
        all.api(token, route, &[("short_code", code)], "", &Value::Null);
    }
}

/// Invites somebody; returns the number of the invitation, and its token.
pub(super) async fn invited(app: &App, admin: &str) -> (String, String) {
    let body = json!({ "email": format!("{}@example.org", unique()) });
    let request = app.request(Method::POST, "/admin/invitations");
    let made = Response::of(request.bearer_auth(admin).json(&body)).await;
    assert_eq!(made.status, 200, "{made:?}");
    let made = made.json();
    let token = made["url"].as_str().unwrap().rsplit('/').next().unwrap();
    (made["id"].to_string(), token.to_owned())
}

/// Removes something; returns the number of the removal.
pub(super) async fn removed(app: &App, admin: &str, kind: &str, value: &str) -> String {
    let body = json!({ "kind": kind, "value": value, "reason": "phishing" });
    let request = app
        .request(Method::POST, "/admin/removals")
        .bearer_auth(admin);
    let removal = Response::of(request.json(&body)).await;
    assert_eq!(removal.status, 200, "{removal:?}");
    removal.json()["id"].to_string()
}

/// Reports a link; returns the number of the report.
pub(super) async fn reported(app: &App, admin: &str, code: &str) -> String {
    let body = json!({ "short_code": code, "reason": "phishing" });
    let sent = Response::of(app.request(Method::POST, "/report").json(&body)).await;
    assert_eq!(sent.status, 202, "{sent:?}");
    let seen = app.get_as(admin, "/admin/reports?limit=1").await.json();
    seen["reports"][0]["id"].to_string()
}

async fn domains(all: &mut Requests<'_>) {
    let app = all.app;
    let admin = Account::new(app).await;
    app.backend.execute(GRANT, &admin.email).await;
    let (token, none) = (admin.token.as_str(), Value::Null);
    // The same service is asked in every weather.
    let label = admin
        .email
        .split('@')
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let named = |name: &str| format!("{name}-{label}.test");
    let (kept, gone, new) = (named("kept"), named("gone"), named("new"));
    let host = |host: &str| json!({ "host": host, "owners": "all", "assetlinks": "[]", "apple_app_site_association": "{}" });
    for made in [&kept, &gone] {
        let request = app.request(Method::POST, "/admin/domains");
        let request = request.bearer_auth(token).json(&host(made));
        let added = Response::of(request).await;
        assert_eq!(added.status, 200, "{added:?}");
    }
    all.api(token, "POST /admin/domains", &[], "", &host(&new));
    all.api(token, "GET /admin/domains", &[], "", &none);
    let (one, filled) = ("/admin/domains/{host}", [("host", kept.as_str())]);
    all.api(token, &format!("GET {one}"), &filled, "", &none);
    let body = json!({ "owners": "all" });
    all.api(token, &format!("PATCH {one}"), &filled, "", &body);
    let gone = [("host", gone.as_str())];
    all.api(token, &format!("DELETE {one}"), &gone, "", &none);
    all.api(token, "GET /domains", &[], "", &none);
    let ask = "GET /domains/ask";
    let request = all.plain(ask, &[]).query(&[("domain", &kept)]);
    all.add(ask, "", request);
    for file in ["assetlinks.json", "apple-app-site-association"] {
        let route = format!("GET /.well-known/{file}");
        let request = all.plain(&route, &[]).header("host", kept.as_str());
        all.add(&route, "", request);
    }
}

async fn administration(all: &mut Requests<'_>) {
    let app = all.app;
    let admin = Account::new(app).await;
    app.backend.execute(GRANT, &admin.email).await;
    let (token, none) = (admin.token.as_str(), Value::Null);
    for list in [
        "audit",
        "invitations",
        "links",
        "removals",
        "reports",
        "users",
    ] {
        all.api(token, &format!("GET /admin/{list}"), &[], "", &none);
    }
    let invitation = invited(app, token).await.0;
    let route = "DELETE /admin/invitations/{id}";
    all.api(token, route, &[("id", &invitation)], "", &none);
    let body = json!({ "email": format!("{}@example.org", unique()) });
    all.api(token, "POST /admin/invitations", &[], "", &body);
    let code = app.shorten(token, "https://example.org/").await;
    let id = removed(
        app,
        token,
        "link",
        &app.shorten(token, "https://example.org/2").await,
    )
    .await;
    let report = reported(app, token, &code).await;
    let route = "DELETE /admin/reports/{id}";
    all.api(token, route, &[("id", &report)], "", &none);
    let body = json!({ "kind": "link", "value": code, "reason": "phishing" });
    all.api(token, "POST /admin/removals", &[], "", &body);
    all.api(
        token,
        "DELETE /admin/removals/{id}",
        &[("id", &id)],
        "",
        &none,
    );
}
