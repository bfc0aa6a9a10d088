//! Series over HTTP: when links were followed.

use serde_json::Value;

use crate::support::{App, both_modes};

/// The series at a path, whose points add up to its sums.
async fn series(app: &App, token: Option<&str>, path: &str) -> Value {
    let response = match token {
        Some(token) => app.get_as(token, path).await,
        None => app.get(path).await,
    };
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.header("cache-control"), "no-store");
    let body = response.json();
    for field in ["clicks", "people"] {
        let points = body["points"].as_array().unwrap().iter();
        let sum: u64 = points.map(|point| point[field].as_u64().unwrap()).sum();
        assert_eq!(body[field], sum);
    }
    body
}

fn points(series: &Value) -> usize {
    series["points"].as_array().unwrap().len()
}

async fn imported(app: &App, token: &str, links: &str) {
    let request = app.request(reqwest::Method::POST, "/urls/bulk");
    let request = request
        .bearer_auth(token)
        .header("content-type", "application/json");
    let response = request.body(links.to_owned()).send().await.unwrap();
    assert_eq!(response.status(), 200);
}

both_modes! {
    async fn a_click_is_in_the_series_as_soon_as_it_is_answered(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for clicks in 1..=3 {
            app.visit(&format!("/{code}")).await;
            for (interval, count) in [("hour", 24), ("day", 30), ("month", 12)] {
                let path = format!("/urls/{code}/stats/series?interval={interval}");
                let series = series(app, None, &path).await;
                assert_eq!((&series["short_code"], &series["tz"]), (&Value::from(code.as_str()), &Value::from("UTC")));
                assert_eq!((series["clicks"].as_u64(), points(&series)), (Some(clicks), count));
            }
        }
    }

    async fn days_are_those_of_the_zone(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/urls/{code}/stats/series?tz=europe/berlin&from=2026-10-24&to=2026-10-26");
        let series = series(app, None, &path).await;
        assert_eq!(series["tz"], "Europe/Berlin");
        let starts: Vec<_> = series["points"].as_array().unwrap().iter().map(|point| point["at"].as_str().unwrap()).collect();
        let midnights = ["2026-10-24T00:00:00+02:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"];
        assert_eq!(starts, midnights);
        assert_eq!(series["to"], "2026-10-27T00:00:00+01:00");
    }

    async fn points_of_a_zone_with_seconds_are_written_as_rfc_3339_wants_them(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/urls/{code}/stats/series?tz=Africa/Monrovia&from=1970-01-02&to=1970-01-03");
        let found = series(app, None, &path).await;
        assert_eq!((points(&found), &found["from"]), (2, &serde_json::json!("1970-01-02T00:00:30-00:44")));
        let (from, to) = (found["from"].as_str().unwrap(), found["to"].as_str().unwrap());
        let same = format!("/urls/{code}/stats/series?tz=Africa/Monrovia&from={from}&to={to}");
        assert_eq!(series(app, None, &same).await, found);
    }

    async fn moments_of_a_series_may_be_asked_for_as_they_were_answered(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/urls/{code}/stats/series?interval=hour&tz=Asia/Kolkata");
        let found = series(app, None, &path).await;
        let (from, to) = (found["from"].as_str().unwrap(), found["to"].as_str().unwrap());
        assert!(from.ends_with("+05:30"), "{from}");
        // The `+` of a query is a space, unless it is encoded.
        for plus in ["+", "%2B"] {
            let same = format!("{path}&from={}&to={}", from.replace('+', plus), to.replace('+', plus));
            assert_eq!(series(app, None, &same).await, found, "{same}");
        }
    }

    async fn the_series_of_an_owner_is_that_of_all_links_or_of_those_with_a_tag(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        imported(app, &ada, r#"[{"target_url": "https://example.org/", "clicks": 40, "tags": ["spring"]}]"#).await;
        let code = app.shorten(&ada, "https://example.org/").await;
        let foreign = app.shorten(&bob, "https://example.org/").await;
        let empty = app.shorten(&ada, "https://example.org/").await;
        for _ in 0..3 {
            app.visit(&format!("/{code}")).await;
            app.visit(&format!("/{foreign}")).await;
        }
        let all = series(app, Some(&ada), "/urls/my/series").await;
        assert_eq!((all["clicks"].as_u64(), all.get("short_code")), (Some(43), None));
        let tagged = series(app, Some(&ada), "/urls/my/series?tag=spring&interval=hour").await;
        assert_eq!((tagged["clicks"].as_u64(), points(&tagged)), (Some(40), 24));
        assert_eq!(series(app, Some(&bob), "/urls/my/series").await["clicks"], 3);
        for code in [code, empty] {
            assert_eq!(app.delete(&ada, &code).await.status, 204);
        }
        assert_eq!(series(app, Some(&ada), "/urls/my/series").await["clicks"], 40);
    }

    async fn the_series_of_an_owner_never_lacks_a_click_while_clicks_are_written_back(app) {
        let token = app.register().await;
        let codes = [app.shorten(&token, "https://example.org/").await, app.shorten(&token, "https://example.org/").await];
        for round in 1..=40 {
            app.visit(&format!("/{}", codes[round % 2])).await;
            assert_eq!(series(app, Some(&token), "/urls/my/series").await["clicks"], round);
        }
    }

    async fn a_series_that_cannot_be_is_refused_with_the_parameter_and_an_example(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for (query, field) in [
            ("interval=week", "interval"), ("tz=Mars/Olympus", "tz"), ("from=soon", "from"), ("to=2026-11-01T10:00:00", "to"),
            ("from=2026-11-02&to=2026-11-01", "from"), ("from=1970-01-01", "from"), ("to=9999-12-31", "to"),
            ("interval=hour&from=2026-01-01&to=2026-12-31", "from"), ("form=2026-11-01", "form"),
        ] {
            for path in [format!("/urls/{code}/stats/series?{query}"), format!("/urls/my/series?{query}"), format!("/urls/{code}/stats/export?{query}")] {
                let response = app.get_as(&token, &path).await;
                assert_eq!(response.status, 422, "{path}");
                assert!(response.detail().starts_with(&format!("{field}: ")), "{path}: {}", response.detail());
            }
        }
        assert_eq!(app.get_as(&token, "/urls/my/series?tag=a,b").await.status, 422);
    }

    async fn a_link_that_is_not_there_has_no_series(app) {
        for path in ["/urls/nopenope/stats/series", "/urls/a.b/stats/series", "/urls/%ff/stats/series"] {
            app.get(path).await.is_error(404, "Not Found");
        }
    }

    async fn an_export_of_a_series_is_the_owners(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let code = app.shorten(&ada, "https://example.org/").await;
        app.visit(&format!("/{code}")).await;
        let path = format!("/urls/{code}/stats/export?interval=month");
        let file = app.get_as(&ada, &path).await;
        assert_eq!((file.status.as_u16(), file.header("content-type")), (200, "text/csv; charset=utf-8"));
        assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"{code}.csv\""));
        let lines: Vec<_> = file.text.split("\r\n").collect();
        let points = lines.iter().filter(|line| line.starts_with("month,")).count();
        assert_eq!((lines[0], points), ("by,value,clicks,people", 12));
        assert!(lines[12].starts_with("month,") && lines[12].contains("T00:00:00+00:00,1,"), "{lines:?}");
        app.get_as(&bob, &path).await.is_error(404, "URL not found");
        app.get(&path).await.is_error(401, "Not authenticated");
        app.get("/urls/my/series").await.is_error(401, "Not authenticated");
    }
}
