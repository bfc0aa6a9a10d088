//! More codes of a link: each leads where the link leads, counts for it, and has a count of its own.

use futures_util::future::join_all;
use reqwest::{Method, redirect};
use serde_json::{Value, json};

use super::{make, patch, send, show};
use crate::suite::abuse::{admin, id_of, remove, revoke};
use crate::support::{
    App, Mode, RedisCluster, Response, both_modes, eventually, with_app_and_settings,
};

const TARGET: &str = "https://example.org/";

/// Makes a link with this code and these aliases.
pub(super) async fn with_aliases(app: &App, token: &str, code: &str, aliases: &[&str]) {
    let link = json!({"target_url": TARGET, "custom_code": code, "aliases": aliases});
    let made = make(app, token, &link).await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.json()["aliases"], json!(aliases));
}

async fn set(app: &App, token: &str, code: &str, aliases: &[&str]) -> Response {
    patch(app, token, code, &json!({ "aliases": aliases })).await
}

/// Follows a code at an instance so many times; every visit has to be answered with this status.
pub(super) async fn follow_at(base: &str, code: &str, times: usize, status: u16) {
    let client = reqwest::Client::builder().redirect(redirect::Policy::none());
    let client = client.build().unwrap();
    let visits = (0..times).map(|_| Response::of(client.get(format!("{base}/{code}"))));
    for visited in join_all(visits).await {
        assert_eq!(visited.status, status, "{code}: {visited:?}");
        if status == 302 {
            assert_eq!(visited.header("location"), TARGET);
        }
    }
}

pub(super) async fn follow(app: &App, code: &str, times: usize) {
    follow_at(&app.server.base, code, times, 302).await;
}

/// The statuses with which these codes are answered.
pub(super) async fn statuses(app: &App, codes: &[&str]) -> Vec<u16> {
    let visits = codes
        .iter()
        .map(async |code| app.get(&format!("/{code}")).await.status);
    join_all(visits)
        .await
        .into_iter()
        .map(|status| status.as_u16())
        .collect()
}

/// Clicks by code, most first.
async fn by_code(app: &App, token: &str, code: &str) -> Vec<(String, u64)> {
    let path = format!("/urls/{code}/stats/breakdown?by=code&limit=30");
    let found = app.get_as(token, &path).await;
    assert_eq!(found.status, 200, "{}", found.text);
    let found = found.json();
    let rows = found["rows"].as_array().unwrap().iter();
    let row = |row: &Value| {
        (
            row["value"].as_str().unwrap().to_owned(),
            row["clicks"].as_u64().unwrap(),
        )
    };
    let rows: Vec<_> = rows.map(row).collect();
    assert_eq!(
        found["clicks"],
        rows.iter().map(|(_, clicks)| clicks).sum::<u64>()
    );
    rows
}

fn rows(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected
        .iter()
        .map(|(code, clicks)| ((*code).to_owned(), *clicks))
        .collect()
}

both_modes! {
    async fn each_alias_leads_where_the_link_leads_and_counts_for_it(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &["first", "Second"]).await;
        follow(app, "own-code", 3).await;
        follow(app, "first", 2).await;
        follow(app, "Second", 4).await;
        assert_eq!(app.clicks("own-code").await, 9);
        assert_eq!(by_code(app, &token, "own-code").await, rows(&[("Second", 4), ("own-code", 3), ("first", 2)]));
        // The case of a code matters.
        assert_eq!(statuses(app, &["second", "First"]).await, [404; 2]);
        app.written_back("own-code", 9).await;
        app.written_back("first", 2).await;
        assert_eq!(by_code(app, &token, "Second").await, rows(&[("Second", 4), ("own-code", 3), ("first", 2)]));
        let owner = app.get_as(&token, "/urls/my/series").await.json();
        assert_eq!(owner["clicks"], 9, "a click by an alias is one click of the owner");
        let metrics = app.get("/metrics").await.text;
        let total = metrics.lines().find(|line| line.starts_with("shunt_redirects_total{result=\"process\"}"));
        assert!(total.is_some(), "{metrics}");
    }

    async fn every_route_takes_an_alias_and_speaks_of_the_link_under_its_own_code(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &["alias"]).await;
        follow(app, "alias", 1).await;
        for path in ["", "/stats", "/stats/series"] {
            let shown = app.get_as(&token, &format!("/urls/alias{path}")).await;
            assert_eq!(shown.json()["short_code"], "own-code", "{path}: {}", shown.text);
        }
        let stats = app.get("/urls/alias/stats").await;
        assert_eq!(stats.json()["clicks"], 1);
        assert!(stats.header("link").contains("/own-code>"), "{stats:?}");
        let edited = patch(app, &token, "alias", &json!({"title": "By alias"})).await;
        assert_eq!((&edited.json()["short_code"], &edited.json()["title"]), (&json!("own-code"), &json!("By alias")));
        let found = app.get_as(&token, "/urls/my?q=lia&view=full").await.json();
        assert_eq!(found[0]["short_code"], "own-code");
        let found = app.get_as(&token, "/urls/my?q=]").await.json();
        assert_eq!(found, json!([]));
        let report = app.post("/report", json!({"short_code": "alias", "reason": "spam"}).to_string()).await;
        assert_eq!(report.status, 202);
        assert_eq!(app.delete(&token, "alias").await.status, 204);
        assert_eq!(statuses(app, &["own-code", "alias"]).await, [404; 2]);
    }

    async fn the_qr_code_of_an_alias_has_the_alias(app) {
        let token = app.register().await;
        with_aliases(app, &token, "aaaa", &["bbbb"]).await;
        let of_alias = app.get("/urls/bbbb/qr").await;
        assert_eq!(of_alias.status, 200);
        assert_ne!(of_alias.text, app.get("/urls/aaaa/qr").await.text);
        // The same code as that of a link of this name.
        assert_eq!(set(app, &token, "aaaa", &[]).await.status, 200);
        with_aliases(app, &token, "bbbb", &[]).await;
        assert_eq!(of_alias.text, app.get("/urls/bbbb/qr").await.text);
    }

    async fn a_code_that_is_taken_is_no_alias_and_an_alias_is_taken(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        with_aliases(app, &ada, "a-link", &["an-alias"]).await;
        with_aliases(app, &bob, "of-bob", &["bobs"]).await;
        for taken in ["a-link", "an-alias"] {
            let detail = format!("aliases: {taken} is taken");
            for token in [&ada, &bob] {
                make(app, token, &json!({"target_url": TARGET, "aliases": ["new-1", taken]})).await.is_error(409, &detail);
                make(app, token, &json!({"target_url": TARGET, "custom_code": taken})).await.is_error(409, "custom_code: is taken");
            }
            set(app, &bob, "of-bob", &["bobs", "new-2", taken]).await.is_error(409, &detail);
        }
        // Nothing of a refused list is kept.
        assert_eq!(show(app, &bob, "of-bob").await.json()["aliases"], json!(["bobs"]));
        assert_eq!(statuses(app, &["new-1", "new-2", "bobs"]).await, [404, 404, 302]);
        let links = json!([
            {"target_url": TARGET, "custom_code": "many-1", "aliases": ["many-a"]},
            {"target_url": TARGET, "custom_code": "many-2", "aliases": ["many-a"]},
            {"target_url": TARGET, "custom_code": "many-a"},
            {"target_url": TARGET, "custom_code": "many-3", "aliases": ["1"]},
        ]);
        for path in ["/urls/bulk?dry_run=true", "/urls/bulk"] {
            let made = send(app, Method::POST, &ada, path, &links).await.json();
            let results: Vec<_> = made.as_array().unwrap().iter().map(|made| (&made["status"], &made["detail"])).collect();
            let refused = (&json!(409), &json!("aliases: many-a is taken"));
            let taken = (&json!(409), &json!("custom_code: is taken"));
            let ok = (&json!(200), &Value::Null);
            assert_eq!(results, [ok, refused, taken, ok], "{path}");
        }
        assert_eq!(statuses(app, &["many-1", "many-a", "many-2", "1"]).await, [302, 302, 404, 302]);
    }

    async fn an_alias_moves_from_one_link_of_its_owner_to_another(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        with_aliases(app, &ada, "link-a", &["moved", "stays"]).await;
        with_aliases(app, &ada, "link-b", &[]).await;
        follow(app, "moved", 2).await;
        set(app, &ada, "link-b", &["moved"]).await.is_error(409, "aliases: moved is taken");
        assert_eq!(set(app, &ada, "link-a", &["stays"]).await.status, 200);
        assert_eq!(statuses(app, &["moved", "stays"]).await, [404, 302]);
        // It is retired: only its owner may use it.
        make(app, &bob, &json!({"target_url": TARGET, "aliases": ["moved"]})).await.is_error(409, "aliases: moved is taken");
        make(app, &bob, &json!({"target_url": TARGET, "custom_code": "moved"})).await.is_error(409, "custom_code: is taken");
        let moved = set(app, &ada, "link-b", &["moved"]).await;
        assert_eq!((moved.status.as_u16(), &moved.json()["aliases"]), (200, &json!(["moved"])));
        follow(app, "moved", 3).await;
        // Clicks stay with the link that had them.
        assert_eq!(by_code(app, &ada, "link-a").await, rows(&[("link-a", 2), ("stays", 1)]));
        assert_eq!(by_code(app, &ada, "link-b").await, rows(&[("moved", 3), ("link-b", 0)]));
        // A code of a deleted link comes back as an alias.
        assert_eq!(app.delete(&ada, "link-a").await.status, 204);
        assert_eq!(set(app, &ada, "link-b", &["link-a", "stays"]).await.status, 200);
        assert_eq!(statuses(app, &["link-a", "stays", "moved"]).await, [302, 302, 404]);
    }

    async fn lists_of_aliases_are_refused_by_a_sentence(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &[]).await;
        let many: Vec<_> = (0..21).map(|number| format!("alias-{number}")).collect();
        for (aliases, detail) in [
            (json!(many), "aliases: must be at most 20"),
            (json!(["abcd", "abcd"]), "aliases: abcd is given twice"),
            (json!(["abcd", "a b"]), "aliases: must each be 1 to 64 of the characters A-Z a-z 0-9 - _"),
            (json!(["a".repeat(65)]), "aliases: must each be 1 to 64 of the characters A-Z a-z 0-9 - _"),
            (json!(["metrics"]), "aliases: metrics is a word that this service uses itself; choose another"),
            (json!(["abc"]), "aliases: must each be at least 4 characters long"),
            (json!(["own-code"]), "aliases: must not have the link's own code"),
        ] {
            patch(app, &token, "own-code", &json!({"aliases": aliases})).await.is_error(422, detail);
            let new = json!({"target_url": TARGET, "custom_code": "own-code", "aliases": aliases});
            make(app, &token, &new).await.is_error(422, detail);
        }
        let edited = patch(app, &token, "own-code", &json!({"aliases": many[1..]})).await;
        assert_eq!((edited.status.as_u16(), &edited.json()["aliases"]), (200, &json!(many[1..])));
        let cleared = patch(app, &token, "own-code", &json!({"aliases": null})).await;
        assert_eq!(cleared.json()["aliases"], json!([]));
        // An administrator and an import may choose short ones, which then stay.
        let admin = admin(app).await;
        with_aliases(app, &admin, "of-admin", &["1"]).await;
        let links = json!([{"target_url": TARGET, "custom_code": "imported", "aliases": ["2"]}]);
        let made = send(app, Method::POST, &token, "/urls/bulk", &links).await;
        assert_eq!(made.json()[0]["status"], 200, "{}", made.text);
        assert_eq!(set(app, &token, "imported", &["2", "longer"]).await.status, 200);
        set(app, &token, "imported", &["2", "3"]).await.is_error(422, "aliases: must each be at least 4 characters long");
    }

    async fn a_click_limit_holds_over_all_codes_together(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "custom_code": "limited", "aliases": ["also"], "max_clicks": 10});
        assert_eq!(make(app, &token, &link).await.status, 200);
        let visits = (0..30).map(async |number| {
            let code = if number % 3 == 0 { "limited" } else { "also" };
            (code, app.get(&format!("/{code}")).await.status.as_u16())
        });
        let visits = join_all(visits).await;
        let answered = |code: &str| visits.iter().filter(|visit| **visit == (code, 302)).count() as u64;
        let (own, alias) = (answered("limited"), answered("also"));
        assert_eq!(own + alias, 10);
        assert_eq!(statuses(app, &["limited", "also"]).await, [404; 2]);
        let mut expected = rows(&[("also", alias), ("limited", own)]);
        expected.sort_by(|(one, of_one), (other, of_other)| of_other.cmp(of_one).then(one.cmp(other)));
        assert_eq!(by_code(app, &token, "limited").await, expected);
        assert_eq!(app.clicks("limited").await, 10);
    }

    async fn a_limit_that_a_link_gets_later_counts_the_clicks_by_its_aliases(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &["alias"]).await;
        follow(app, "alias", 3).await;
        follow(app, "own-code", 2).await;
        let limited = patch(app, &token, "alias", &json!({"max_clicks": 7})).await;
        assert_eq!(limited.status, 200, "{}", limited.text);
        follow(app, "alias", 1).await;
        follow(app, "own-code", 1).await;
        assert_eq!(statuses(app, &["alias", "own-code"]).await, [404; 2]);
        assert_eq!(by_code(app, &token, "alias").await, rows(&[("alias", 4), ("own-code", 3)]));
    }

    async fn an_ended_or_paused_link_is_so_under_every_code(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &["alias"]).await;
        for (off, on) in [
            (json!({"expires_at": "2020-01-01T00:00:00Z"}), json!({"expires_at": null})),
            (json!({"is_active": false}), json!({"is_active": true})),
        ] {
            follow(app, "alias", 1).await;
            patch(app, &token, "own-code", &off).await;
            assert_eq!(statuses(app, &["alias", "own-code"]).await, [404; 2]);
            patch(app, &token, "own-code", &on).await;
        }
        follow(app, "alias", 1).await;
    }

    async fn a_removed_link_is_removed_under_every_code(app) {
        let (token, admin) = (app.register().await, admin(app).await);
        with_aliases(app, &token, "own-code", &["alias"]).await;
        follow(app, "alias", 1).await;
        let removal = remove(app, &admin, "link", "alias", 410).await;
        assert_eq!(removal.json()["value"], "own-code", "{}", removal.text);
        assert_eq!(statuses(app, &["alias", "own-code"]).await, [410; 2]);
        revoke(app, &admin, id_of(&removal)).await;
        assert_eq!(statuses(app, &["alias", "own-code"]).await, [302; 2]);
        let removal = remove(app, &admin, "host", "example.org", 410).await;
        assert_eq!(removal.status, 200);
        eventually("the links of the host are removed", async || statuses(app, &["alias", "own-code"]).await == [410; 2]).await;
    }

    async fn the_aliases_of_a_deleted_account_lead_nowhere(app) {
        let (token, other) = (app.register().await, app.register().await);
        with_aliases(app, &token, "own-code", &["alias"]).await;
        follow(app, "alias", 1).await;
        let gone = send(app, Method::DELETE, &token, "/auth/me", &json!({"password": "correct horse"})).await;
        assert_eq!(gone.status, 204, "{}", gone.text);
        assert_eq!(statuses(app, &["alias", "own-code"]).await, [404; 2]);
        make(app, &other, &json!({"target_url": TARGET, "custom_code": "alias"})).await.is_error(409, "custom_code: is taken");
    }

    async fn clicks_by_code_are_of_one_link(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &["alias"]).await;
        follow(app, "alias", 2).await;
        follow(app, "own-code", 1).await;
        let get = async |path: &str| app.get_as(&token, path).await;
        let only = get("/urls/own-code/stats/breakdown?by=code&code=alias").await.json();
        assert_eq!((&only["clicks"], &only["people"]), (&json!(2), &json!(null)));
        assert_eq!(only["rows"], json!([{"value": "alias", "clicks": 2, "people": null}]));
        let first = get("/urls/own-code/stats/breakdown?by=code&limit=1").await.json();
        assert_eq!(first["other"], json!({"clicks": 1, "people": null}));
        get("/urls/my/breakdown?by=code").await
            .is_error(422, "by: must be referrer, country, browser, os, device, rule or bot, or code of a single link, such as by=country");
        let file = get("/urls/own-code/stats/export").await.text;
        assert!(file.ends_with("code,alias,2,\r\ncode,own-code,1,\r\n"), "{file}");
    }
}

/// An instance and another one, which has every code cached.
pub(super) async fn two_instances(aliases: &[&str]) -> (App, crate::support::Server, String) {
    const PATIENT: &[(&str, &str)] = &[("CLICK_DEADLINE_MS", "10000")];
    let app = App::start_with(Mode::Production, PATIENT).await;
    let other = app.another(PATIENT).await;
    let token = app.register().await;
    with_aliases(&app, &token, "own-code", aliases).await;
    for base in [&app.server.base, &other.base] {
        for code in aliases.iter().chain(&["own-code"]) {
            follow_at(base, code, 2, 302).await;
        }
    }
    (app, other, token)
}

#[tokio::test]
async fn a_deletion_ends_every_code_at_once_on_two_instances() {
    let aliases = ["alias-1", "alias-2", "alias-3"];
    let (app, other, token) = two_instances(&aliases).await;
    assert_eq!(app.delete(&token, "alias-2").await.status, 204);
    for base in [&app.server.base, &other.base] {
        for code in aliases.iter().chain(&["own-code"]) {
            follow_at(base, code, 1, 404).await;
        }
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn an_edit_and_an_alias_that_is_taken_away_are_felt_at_once_on_two_instances() {
    let (app, other, token) = two_instances(&["alias-1", "alias-2"]).await;
    let edited = set(&app, &token, "own-code", &["alias-2", "alias-3"]).await;
    assert_eq!(edited.status, 200, "{}", edited.text);
    for base in [&other.base, &app.server.base] {
        follow_at(base, "alias-1", 1, 404).await;
        follow_at(base, "alias-3", 1, 302).await;
    }
    patch(&app, &token, "own-code", &json!({"is_active": false})).await;
    for base in [&other.base, &app.server.base] {
        for code in ["alias-2", "alias-3", "own-code"] {
            follow_at(base, code, 1, 404).await;
        }
    }
    // alias-1 had four clicks, which now count for the own code.
    let expected = rows(&[("own-code", 8), ("alias-2", 4), ("alias-3", 2)]);
    assert_eq!(by_code(&app, &token, "own-code").await, expected);
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn clicks_by_aliases_are_exact_over_several_data_sets() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", urls.as_str())]).await;
    let token = app.register().await;
    let aliases: Vec<_> = (0..20).map(|number| format!("alias-{number}")).collect();
    let aliases: Vec<_> = aliases.iter().map(String::as_str).collect();
    with_aliases(&app, &token, "own-code", &aliases).await;
    for (number, alias) in aliases.iter().enumerate() {
        follow(&app, alias, number + 2).await;
    }
    follow(&app, "own-code", 1).await;
    let clicked = aliases
        .iter()
        .zip(2..)
        .map(|(alias, clicks)| (*alias, clicks));
    let mut expected: Vec<_> = clicked.collect();
    expected.reverse();
    expected.push(("own-code", 1));
    let total = expected.iter().map(|(_, clicks)| clicks).sum::<u64>();
    assert_eq!(by_code(&app, &token, "own-code").await, rows(&expected));
    assert_eq!(app.clicks("own-code").await, total);
    app.written_back("own-code", total).await;
    app.written_back("alias-7", 9).await;
    assert_eq!(by_code(&app, &token, "own-code").await, rows(&expected));
    let paused = patch(&app, &token, "alias-3", &json!({"is_active": false})).await;
    assert_eq!(paused.status, 200, "{}", paused.text);
    for alias in aliases {
        follow_at(&app.server.base, alias, 1, 404).await;
    }
    app.server_only().await;
}

#[tokio::test]
async fn clicks_are_told_apart_by_code_without_analytics() {
    for mode in [Mode::Embedded, Mode::Production] {
        with_app_and_settings(mode, &[("ANALYTICS", "off")], async |app| {
            let token = app.register().await;
            with_aliases(app, &token, "own-code", &["alias"]).await;
            follow(app, "alias", 2).await;
            let expected = rows(&[("alias", 2), ("own-code", 0)]);
            assert_eq!(by_code(app, &token, "own-code").await, expected);
        })
        .await;
    }
}

#[tokio::test]
async fn aliases_are_among_the_links_that_an_account_may_have() {
    for mode in [Mode::Embedded, Mode::Production] {
        with_app_and_settings(mode, &[("LINKS_PER_ACCOUNT", "5")], async |app| {
            let token = app.register().await;
            with_aliases(app, &token, "own-code", &["alias-1", "alias-2"]).await;
            let of_two = json!({"target_url": TARGET, "custom_code": "second", "aliases": ["alias-3"]});
            let of_three = json!({"target_url": TARGET, "custom_code": "second", "aliases": ["alias-3", "alias-4"]});
            assert_eq!(make(app, &token, &of_three).await.status, 403);
            assert_eq!(make(app, &token, &of_two).await.status, 200);
            assert_eq!(set(app, &token, "second", &["alias-3", "alias-4"]).await.status, 403);
            assert_eq!(set(app, &token, "own-code", &["alias-1"]).await.status, 200);
            assert_eq!(set(app, &token, "second", &["alias-3", "alias-4"]).await.status, 200);
        })
        .await;
    }
}
