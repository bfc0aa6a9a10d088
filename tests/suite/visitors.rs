//! What is kept of visitors: classes of their clicks, and nothing else.

use redis::AsyncCommands;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::{App, Mode, RedisServer, Response, both_modes, eventually, raw};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

async fn visit(app: &App, code: &str, headers: &[(&str, &str)]) {
    let mut request = app.request(Method::GET, &format!("/{code}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    assert_eq!(Response::of(request).await.status, 302);
}

async fn breakdown(app: &App, token: &str, path: &str) -> Value {
    let response = app.get_as(token, path).await;
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

/// Waits until so many clicks are in the breakdown.
async fn summed(app: &App, token: &str, code: &str, clicks: u64) {
    let path = format!("/urls/{code}/stats/breakdown");
    eventually("the classes are summed", async || {
        breakdown(app, token, &path).await["clicks"] == clicks
    })
    .await;
}

both_modes! {
    async fn the_most_clicks_that_a_link_may_bring_are_all_in_its_series_and_breakdowns(app) {
        const MOST: u64 = (1 << 53) - 1;
        let token = app.register().await;
        let links = json!([{"target_url": "https://example.org/", "custom_code": "imported-most", "clicks": MOST}]);
        let made = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).json(&links);
        assert_eq!(Response::of(made).await.status, 200);
        summed(app, &token, "imported-most", MOST).await;
        let found = breakdown(app, &token, "/urls/imported-most/stats/breakdown?by=referrer").await;
        assert_eq!(found["rows"], json!([{"value": "imported", "clicks": MOST, "people": 0}]));
        for path in ["/urls/imported-most/stats/series", "/urls/my/series"] {
            let series = app.get_as(&token, path).await.json();
            assert_eq!((&series["clicks"], &series["people"]), (&json!(MOST), &json!(0)));
        }
    }

    async fn imported_clicks_are_at_the_links_beginning_and_are_no_people(app) {
        let token = app.register().await;
        let links = json!([
            {"target_url": "https://example.org/", "custom_code": "imported-1", "clicks": 40},
            {"target_url": "https://example.org/", "custom_code": "imported-2", "clicks": 2},
            {"target_url": "https://example.org/", "custom_code": "imported-0"},
        ]);
        let made = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).json(&links);
        assert_eq!(Response::of(made).await.status, 200);
        visit(app, "imported-1", &[("user-agent", FIREFOX), ("referer", "https://example.com/")]).await;
        visit(app, "imported-0", &[("user-agent", FIREFOX)]).await;
        summed(app, &token, "imported-1", 41).await;
        summed(app, &token, "imported-0", 1).await;
        let row = |value: Value, clicks: u64, people: u64| json!({"value": value, "clicks": clicks, "people": people});
        let found = breakdown(app, &token, "/urls/imported-1/stats/breakdown?by=referrer").await;
        assert_eq!(found["rows"], json!([row(json!("imported"), 40, 0), row(json!("example.com"), 1, 1)]));
        for (path, clicks, people) in [("/urls/imported-1/stats/series", 41, 1), ("/urls/my/series", 44, 2)] {
            eventually("imported clicks are no people", async || {
                let series = app.get_as(&token, path).await.json();
                assert_eq!(series["clicks"], clicks);
                let newest = series["points"].as_array().unwrap().last().unwrap().clone();
                assert_eq!(newest["clicks"], clicks);
                series["people"] == people && newest["people"] == people
            }).await;
        }
        assert_eq!(app.clicks("imported-1").await, 41);
    }

    async fn an_owner_sees_from_where_and_on_what_links_were_followed(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..3 {
            visit(app, &code, &[("user-agent", FIREFOX), ("referer", "https://www.example.com/page?secret")]).await;
        }
        visit(app, &code, &[("user-agent", BOT)]).await;
        visit(app, &code, &[("user-agent", FIREFOX), ("sec-gpc", "1")]).await;
        visit(app, &code, &[("user-agent", FIREFOX), ("dnt", "1")]).await;
        visit(app, &code, &[("user-agent", &"x".repeat(3_000))]).await;
        visit(app, &code, &[("user-agent", FIREFOX), ("referer", &"x".repeat(8_000))]).await;
        summed(app, &token, &code, 8).await;
        // All links together are summed a moment later than each of them.
        eventually("the classes of all links are summed", async || {
            breakdown(app, &token, "/urls/my/breakdown?by=os").await["clicks"] == 8
        })
        .await;
        let path = format!("/urls/{code}/stats/breakdown");
        let row = |value: Value, clicks: u64, people: u64| json!({"value": value, "clicks": clicks, "people": people});
        let expected = json!({"by": "browser", "clicks": 8, "people": 7, "rows": [row(json!("Firefox"), 3, 3), row(Value::Null, 5, 4)]});
        let mut found = breakdown(app, &token, &format!("{path}?by=browser")).await;
        found["rows"].as_array_mut().unwrap().sort_by_key(|row| row["clicks"].as_u64());
        assert_eq!(found, expected);
        let found = breakdown(app, &token, &format!("{path}?by=referrer&bot=false")).await;
        assert_eq!(found["rows"], json!([row(json!("example.com"), 3, 3)]));
        for host in ["example.com", "www.example.com", "mail.example.com", "EXAMPLE.com", "Mail.Example.COM."] {
            let found = breakdown(app, &token, &format!("/urls/my/breakdown?by=os&referrer={host}")).await;
            assert_eq!(found["rows"], json!([row(json!("Linux"), 3, 3)]), "{host}");
        }
        let found = breakdown(app, &token, "/urls/my/breakdown?by=os&referrer=example.org").await;
        assert_eq!(found["rows"], json!([]));
        let found = breakdown(app, &token, "/urls/my/breakdown?tag=spring").await;
        assert_eq!(found["clicks"], 0);
        let file = app.get_as(&token, &format!("/urls/{code}/stats/export")).await.text;
        for line in ["referrer,example.com,3,3", "referrer,,5,4", "browser,Firefox,3,3", "os,Linux,3,3", "bot,true,1,0"] {
            assert!(file.contains(&format!("\r\n{line}\r\n")), "{line} is not in {file}");
        }
        let series = app.get(&format!("/urls/{code}/stats/series")).await.json();
        assert_eq!((series["clicks"].as_u64(), series["people"].as_u64()), (Some(8), Some(7)));
        let key = app.request(Method::POST, "/auth/keys").json(&json!({"name": "a program", "scope": "read"}));
        let key = Response::of(key.bearer_auth(&token)).await.json();
        for credential in [&token, key["key"].as_str().unwrap()] {
            let series = app.get_as(credential, "/urls/my/series").await.json();
            assert_eq!((series["clicks"].as_u64(), series["people"].as_u64()), (Some(8), Some(7)));
        }
    }

    async fn clicks_with_heads_out_of_all_bounds_are_counted_and_nothing_is_known_of_them(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let bomb = "X-Header: value\r\n".repeat(90);
        let heads = [
            b"User-Agent: caf\xe9\r\n".to_vec(),
            [b"User-Agent: ", &[b'a'; 15_000][..], b"\r\n"].concat(),
            [b"Referer: https://example.com/", &[b'a'; 8_000][..], b"\r\nUser-Agent: x\r\n"].concat(),
            format!("{bomb}User-Agent: caf\u{e9}\u{0}\r\n").into_bytes(),
        ];
        let mut counted = 0;
        for head in &heads {
            let request = [format!("GET /{code} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n").as_bytes(), head, b"\r\n"].concat();
            let response = raw::exchange(&app.server.base, request).await;
            counted += u64::from(response.starts_with("HTTP/1.1 302 "));
            assert!(response.starts_with("HTTP/1.1 302 ") || response.starts_with("HTTP/1.1 4"), "{response}");
        }
        assert!(counted >= 3, "{counted}");
        assert_eq!(app.clicks(&code).await, counted);
        summed(app, &token, &code, counted).await;
        let found = breakdown(app, &token, &format!("/urls/{code}/stats/breakdown?by=bot")).await;
        assert_eq!(found["rows"], json!([{"value": null, "clicks": counted, "people": counted}]));
    }

    async fn each_of_several_visitors_over_one_connection_has_its_own_class(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let firefox = format!("User-Agent: {FIREFOX}\r\n");
        let visitors = [
            firefox.clone(),
            firefox.clone(),
            format!("User-Agent: {BOT}\r\n"),
            format!("{firefox}Referer: https://example.com/\r\n"),
            format!("{firefox}Sec-GPC: 1\r\n"),
            String::new(),
            format!("{firefox}User-Agent: {BOT}\r\n"),
        ];
        // hyper reads those with a query.
        let paths = [code.clone(), format!("{code}?x=1")];
        let mut requests = Vec::new();
        for path in paths {
            for visitor in &visitors {
                requests.push(format!("GET /{path} HTTP/1.1\r\nHost: test\r\n{visitor}\r\n"));
            }
        }
        let responses = raw::exchange(&app.server.base, requests.concat()).await;
        assert_eq!(responses.matches("HTTP/1.1 302 ").count(), 14, "{responses}");
        summed(app, &token, &code, 14).await;
        let rows = async |by: &str| {
            let found = breakdown(app, &token, &format!("/urls/{code}/stats/breakdown?by={by}")).await;
            let mut rows: Vec<_> = found["rows"].as_array().unwrap().iter().map(|row| (row["clicks"].as_u64().unwrap(), row["value"].clone())).collect();
            rows.sort_by_key(|(clicks, _)| *clicks);
            rows
        };
        assert_eq!(rows("browser").await, [(6, Value::Null), (8, json!("Firefox"))]);
        assert_eq!(rows("referrer").await, [(2, json!("example.com")), (12, Value::Null)]);
        assert_eq!(rows("bot").await, [(2, Value::Null), (4, json!("true")), (8, json!("false"))]);
    }

    async fn a_breakdown_is_the_owners_and_says_which_parameter_is_wrong(app) {
        let (token, other) = (app.register().await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/urls/{code}/stats/breakdown");
        app.get(&path).await.is_error(401, "Not authenticated");
        app.get("/urls/my/breakdown").await.is_error(401, "Not authenticated");
        app.get_as(&other, &path).await.is_error(404, "URL not found");
        for (query, named) in [
            ("by=colour", "by: "), ("limit=0", "limit: "), ("limit=1001", "limit: "), ("from=2026-11-02&to=2026-11-01", "from: "),
            ("tz=Mars/Olympus", "tz: "), ("from=1969-01-01", "from: "), ("to=9999-12-31", "to: "), ("colour=red", "colour: "),
            ("country=%00", "country: "), ("tag=spring", "tag: "), ("country=Germany", "country: "), ("browser=netscape/4", "browser: "),
            ("os=CP/M", "os: "), ("device=fridge", "device: "), ("bot=maybe", "bot: "), ("referrer=https://example.com/", "referrer: "),
        ] {
            let refused = app.get_as(&token, &format!("{path}?{query}")).await;
            assert_eq!(refused.status, 422, "{query}");
            assert!(refused.detail().contains(named.trim_end_matches(": ")), "{query}: {}", refused.detail());
        }
        let detail = "device: must be desktop, phone, tablet, tv or console, such as device=phone";
        app.get_as(&token, &format!("{path}?device=fridge")).await.is_error(422, detail);
        assert_eq!(app.get_as(&token, &format!("{path}?from=2020-01-01&to=2026-11-04")).await.status, 200);
        let detail = "from: must be at most 2500 days before to; choose a shorter range, such as from=2026-11-01&to=2026-11-25";
        app.get_as(&token, &format!("{path}?from=2020-01-01&to=2026-11-05")).await.is_error(422, detail);
    }

    async fn a_filter_of_a_country_is_read_in_any_case(app) {
        let token = app.register().await;
        for query in ["country=de", "country=DE", "country="] {
            assert_eq!(breakdown(app, &token, &format!("/urls/my/breakdown?{query}")).await["clicks"], 0);
        }
    }
}

/// What a visitor sent, and what must not be found anywhere.
const ADDRESS: &str = "203.0.113.77";
const SECRET_AGENT: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0 Zq7secretagent";
const SECRETS: [&str; 4] = [ADDRESS, "Zq7secretagent", "zq7secretpath", "zq7secretquery"];

async fn visit_secretly(app: &App, code: &str) {
    let referrer = "https://www.example.com/zq7secretpath?zq7secretquery";
    let headers = [
        ("user-agent", SECRET_AGENT),
        ("referer", referrer),
        ("x-forwarded-for", ADDRESS),
    ];
    visit(app, code, &headers).await;
    // hyper reads this one.
    let path = format!("{code}?x=1");
    visit(app, &path, &headers).await;
}

fn has_none(place: &str, text: &str) {
    for secret in SECRETS {
        let hex = |text: String, byte| format!("{text}{byte:02x}");
        let as_hex = secret.bytes().fold(String::new(), hex);
        let is_found = text.contains(secret) || text.contains(&as_hex);
        assert!(!is_found, "{place} has {secret}");
    }
}

async fn log_and_metrics_have_none(app: &App) {
    has_none("the log", &app.server.log());
    has_none("/metrics", &app.get("/metrics").await.text);
}

#[tokio::test]
async fn nothing_that_names_a_visitor_is_in_a_table_of_postgres_or_in_the_log() {
    let settings = [
        ("RUST_LOG", "trace"),
        ("TRUSTED_PROXIES", "127.0.0.1"),
        ("FLUSH_INTERVAL_MS", "20"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    visit_secretly(&app, &code).await;
    summed(&app, &token, &code, 2).await;
    let mut connection = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert!(tables.contains(&"click_classes".to_owned()));
    for table in tables {
        let rows =
            format!("SELECT coalesce(string_agg(row_to_json(t)::text, ' '), '') FROM {table} AS t");
        let rows: String = sqlx::query_scalar(sqlx::AssertSqlSafe(rows))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        has_none(&table, &rows);
    }
    log_and_metrics_have_none(&app).await;
    app.finish().await;
}

#[tokio::test]
async fn nothing_that_names_a_visitor_is_in_the_file_of_sqlite() {
    let settings = [
        ("RUST_LOG", "trace"),
        ("TRUSTED_PROXIES", "127.0.0.1"),
        ("FLUSH_INTERVAL_MS", "20"),
    ];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    visit_secretly(&app, &code).await;
    summed(&app, &token, &code, 2).await;
    for file in std::fs::read_dir(app.backend.folder()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        has_none(
            &path.display().to_string(),
            &String::from_utf8_lossy(&bytes),
        );
    }
    log_and_metrics_have_none(&app).await;
    app.finish().await;
}

#[tokio::test]
async fn nothing_that_names_a_visitor_is_in_a_key_of_redis() {
    let redis = RedisServer::start(&[]).await;
    let settings = [
        ("REDIS_URL", &*redis.url()),
        ("TRUSTED_PROXIES", "127.0.0.1"),
        ("FLUSH_INTERVAL_MS", "3600000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    visit_secretly(&app, &code).await;
    let mut connection = redis.connection().await;
    let keys: Vec<String> = connection.keys("*").await.unwrap();
    let mut lists = 0;
    for key in keys {
        has_none("a key's name", &key);
        let kind: String = redis::cmd("TYPE")
            .arg(&key)
            .query_async(&mut connection)
            .await
            .unwrap();
        let read = match &*kind {
            "string" => redis::cmd("GET").arg(&key).to_owned(),
            "hash" => redis::cmd("HGETALL").arg(&key).to_owned(),
            "list" => redis::cmd("LRANGE").arg(&key).arg(0).arg(-1).to_owned(),
            "set" => redis::cmd("SMEMBERS").arg(&key).to_owned(),
            "stream" => redis::cmd("XRANGE").arg(&key).arg("-").arg("+").to_owned(),
            other => panic!("{key} is of type {other}"),
        };
        let value: redis::Value = read.query_async(&mut connection).await.unwrap();
        if kind == "list" {
            lists += 1;
            let batches: Vec<Vec<u8>> = connection.lrange(&key, 0, -1).await.unwrap();
            let text = String::from_utf8_lossy(&batches.concat()).into_owned();
            assert!(text.contains("example.com"), "{text}");
            has_none(&key, &text);
        }
        has_none(&key, &format!("{value:?}"));
    }
    assert_eq!(lists, 1, "that of the pending classes");
    app.finish().await;
}

#[tokio::test]
async fn without_room_in_redis_clicks_are_counted_and_their_class_is_not_known() {
    let settings = [("ANALYTICS_REDIS_MIB", "0"), ("FLUSH_INTERVAL_MS", "20")];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    visit(&app, &code, &[("user-agent", FIREFOX)]).await;
    assert_eq!(app.clicks(&code).await, 1);
    let metrics = app.get("/metrics").await.text;
    let line = "shunt_clicks_unclassified_total{reason=\"redis_room\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    app.finish().await;
}

#[tokio::test]
async fn where_classes_are_switched_off_only_the_click_is_kept() {
    let settings = [("ANALYTICS", "off"), ("FLUSH_INTERVAL_MS", "20")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    visit(&app, &code, &[("user-agent", BOT)]).await;
    app.written_back(&code, 1).await;
    let path = format!("/urls/{code}/stats/breakdown");
    assert_eq!(breakdown(&app, &token, &path).await["clicks"], 0);
    app.finish().await;
}
