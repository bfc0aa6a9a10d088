//! The version before this one beside it, on one Postgres and one Redis: a rolling update, one that is halted, and the way
//! back. `tests/upgrade/run` builds that version from a tag and names its program; it waits for the first one.

use std::path::PathBuf;

use reqwest::Client;
use serde_json::{Value, json};

use crate::faults::load::{Address, Load};
use crate::faults::readers::Readers;
use crate::faults::{WITHOUT_REDIS, quick_or_long, redirects_go_on, warm_links};
use crate::support::{App, Backend, Mode, Server, unique};

/// Makes instances write back all the time, so that both versions do.
const OFTEN: (&str, &str) = ("FLUSH_INTERVAL_MS", "20");

/// Redis is not taken for away on a busy machine: an instance may follow a deleted link then.
const LONG_DEADLINE: (&str, &str) = ("CLICK_DEADLINE_MS", "10000");

/// Clients of each instance.
const EACH: usize = 6;

struct Versions {
    before: PathBuf,
    settings: Vec<(String, String)>,
}

impl Versions {
    async fn before(&self) -> Server {
        Server::start_program(&self.before, &self.settings).await
    }

    async fn this(&self) -> Server {
        Server::start(&self.settings).await
    }
}

/// Both under load at once, each reader reads from both, and the counts are exact.
async fn side_by_side(app: &App, before: &Server, this: &Server, deletes: bool) {
    let codes = warm_links(app).await;
    let both = [before, this].map(|server| Address::of(&server.base));
    let readers = Readers::of_several(&both, &codes).await;
    let loads = both
        .each_ref()
        .map(|address| Load::start(address, &codes, EACH));
    for load in &loads {
        redirects_go_on(load).await;
    }
    if deletes {
        for _ in 0..quick_or_long(5, 50) {
            deleted_through(before, this, app).await;
            deleted_through(this, before, app).await;
        }
    }
    let mut answered = vec![0; codes.len()];
    for load in loads {
        redirects_go_on(&load).await;
        let tally = load.stop().await;
        assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
        for (link, answered) in answered.iter_mut().enumerate() {
            *answered += tally.answered_to(link);
        }
    }
    let counted = async {
        let mut counts = Vec::new();
        for code in &codes {
            counts.push(app.clicks(code).await);
        }
        assert_eq!(counts, answered);
        counts
    };
    readers.end_with(counted).await;
    for (code, answered) in codes.iter().zip(&answered) {
        let series = series(this, code).await;
        assert_eq!(series["clicks"], *answered, "{code}");
    }
    visited_through(before, this, app).await;
}

async fn series(server: &Server, code: &str) -> Value {
    let url = format!("{}/urls/{code}/stats/series", server.base);
    reqwest::get(url).await.unwrap().json().await.unwrap()
}

/// A link that both follow has a series with all of its clicks, and no class twice: what the version before writes back has none.
async fn visited_through(before: &Server, this: &Server, app: &App) {
    let (account, code) = link_of_an_account(app).await;
    for _ in 0..20 {
        for server in [before, this] {
            assert_eq!(server.follow(&code).await, 302);
        }
    }
    assert_eq!(app.clicks(&code).await, 40);
    assert_eq!(series(this, &code).await["clicks"], 40);
    let token = logged_in(this, &account).await;
    let url = format!("{}/urls/{code}/stats/breakdown", this.base);
    let found = Client::new().get(url).bearer_auth(token).send().await;
    let found: Value = found.unwrap().json().await.unwrap();
    let classified = found["clicks"].as_u64().unwrap();
    assert!(classified <= 40, "{found}");
    assert_eq!(app.clicks(&code).await, 40);
}

/// An account with a link.
async fn link_of_an_account(app: &App) -> (Value, String) {
    let account =
        json!({ "email": format!("{}@example.org", unique()), "password": "correct horse" });
    let registered = app.post("/auth/register", account.to_string()).await.json();
    let token = registered["access_token"].as_str().unwrap();
    (account, app.shorten(token, "https://example.org/").await)
}

/// A token of this instance, as it may refuse the tokens of another version.
async fn logged_in(server: &Server, account: &Value) -> String {
    let url = format!("{}/auth/login", server.base);
    let logged_in = Client::new().post(url).json(account).send().await.unwrap();
    let logged_in: Value = logged_in.json().await.unwrap();
    logged_in["access_token"].as_str().unwrap().to_owned()
}

/// A link that both follow is deleted through one, and the other does not follow it any more.
async fn deleted_through(one: &Server, other: &Server, app: &App) {
    let (account, code) = link_of_an_account(app).await;
    for server in [one, other] {
        assert_eq!(server.follow(&code).await, 302);
    }
    let token = logged_in(one, &account).await;
    let url = format!("{}/urls/{code}", one.base);
    let deleted = Client::new().delete(url).bearer_auth(token).send().await;
    assert_eq!(deleted.unwrap().status(), 204);
    for server in [other, one] {
        assert_eq!(server.follow(&code).await, 404);
    }
}

/// The instance that `app` asks is stopped under load, and `next` takes its place.
async fn replaced(app: &mut App, next: impl AsyncFnOnce() -> Server) {
    let codes = warm_links(app).await;
    let address = Address::of(&app.server.base);
    let load = Load::start(&address, &codes, EACH);
    let readers = Readers::through_restarts(&address, &load.tally).await;
    redirects_go_on(&load).await;
    app.server.stop().await;
    app.server = next().await;
    address.set(&app.server.base);
    redirects_go_on(&load).await;
    let tally = load.stop().await;
    assert_eq!((tally.truncated(), tally.refused()), (0, 0));
    readers.end_with(tally.check_bounds(app)).await;
}

fn versions(backend: &Backend, extra: &[(&str, &str)]) -> Versions {
    let before = std::env::var_os("SHUNT_VERSION_BEFORE")
        .expect("SHUNT_VERSION_BEFORE names the program; tests/run --upgrade sets it");
    let mut settings = backend.settings();
    for (name, value) in [&[OFTEN, LONG_DEADLINE], extra].concat() {
        settings.push((name.to_owned(), value.to_owned()));
    }
    Versions {
        before: before.into(),
        settings,
    }
}

async fn update_and_way_back(extra: &[(&str, &str)], deletes: bool) {
    let backend = Backend::new(Mode::Production).await;
    let versions = versions(&backend, extra);
    // The version before makes the schema, and has links and clicks of its own.
    let mut app = App::of(backend, versions.before().await);
    let early = app
        .shorten(&app.register().await, "https://example.org/early")
        .await;
    assert_eq!(app.visit(&format!("/{early}")).await.status, 302);

    // This one migrates it, beside the other at work.
    let this = versions.this().await;
    side_by_side(&app, &app.server, &this, deletes).await;

    // A halted update: the version before starts again on the newest schema.
    replaced(&mut app, async || versions.before().await).await;
    side_by_side(&app, &app.server, &this, deletes).await;

    // The rest of the update; then the way back of both.
    replaced(&mut app, async || versions.this().await).await;
    replaced(&mut app, async || versions.before().await).await;
    drop(this);
    let other = versions.before().await;
    assert_eq!(app.visit(&format!("/{early}")).await.status, 302);
    assert_eq!(app.clicks(&early).await, 2);
    drop(other);
    app.finish().await;
}

#[tokio::test]
#[ignore = "needs the program of the version before: tests/run --upgrade"]
async fn the_version_before_runs_beside_this_one_and_after_it_and_every_click_counts_once() {
    // Redis is away for neither, however busy the machine is: a deleted link may be followed meanwhile.
    update_and_way_back(&[], true).await;
}

/// A database of the version before with a million links, a part of which has clicks.
async fn with_a_million_links(app: &App) {
    app.shorten(&app.register().await, "https://example.org/first")
        .await;
    for sql in [
        "INSERT INTO links (short_code, target_url, owner_id, created_at)
         SELECT 'many' || n || $1, 'https://example.org/many/' || n, (SELECT max(id) FROM users), now_micros() - n * 1000000
         FROM generate_series(1, 1000000) n",
        "SELECT count_clicks(array_agg(id ORDER BY id), array_agg(1 + id % 1000 ORDER BY id), 1900000)
         FROM links WHERE short_code LIKE 'many%' || $1 AND id % 4 = 0",
    ] {
        app.backend.execute(sql, "x").await;
    }
}

#[tokio::test]
#[ignore = "needs the program of the version before: tests/run --upgrade"]
async fn a_million_links_are_migrated_under_load_and_every_click_counts_once() {
    let backend = Backend::new(Mode::Production).await;
    let versions = versions(&backend, &[]);
    let app = App::of(backend, versions.before().await);
    with_a_million_links(&app).await;
    let codes = warm_links(&app).await;
    let address = Address::of(&app.server.base);
    let load = Load::start(&address, &codes, EACH);
    let readers = Readers::of_several(&[address], &codes).await;
    redirects_go_on(&load).await;
    // Its first start migrates the database, and ends with the line that it listens.
    let this = versions.this().await;
    redirects_go_on(&load).await;
    let old = "many1000000x";
    assert_eq!(
        [this.follow(old).await, app.server.follow(old).await],
        [302, 302]
    );
    let tally = load.stop().await;
    assert_eq!((tally.truncated(), tally.refused()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    drop(this);
    app.finish().await;
}

#[tokio::test]
#[ignore = "needs the program of the version before: tests/run --upgrade"]
async fn the_version_before_runs_beside_this_one_on_postgres_alone() {
    // A deletion takes effect on other instances only after CACHE_TTL_SECONDS there.
    update_and_way_back(&[WITHOUT_REDIS], false).await;
}
