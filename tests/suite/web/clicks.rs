//! Pages with clicks over time, without JavaScript.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::Method;
use serde_json::Value;
use shunt::domain::Timestamp;

use super::browser::{Browser, leads_to};
use crate::support::{Response, both_modes, eventually};

/// The data of a page's chart.
fn chart(page: &str) -> Value {
    let data = page.split("data-chart=\"").nth(1).unwrap();
    let data = data.split('"').next().unwrap().replace("&#34;", "\"");
    serde_json::from_str(&data).unwrap()
}

/// The sum of the clicks in a page's chart, and of the clicks of the period before.
fn sums(page: &str) -> (u64, u64) {
    let chart = chart(page);
    let sum = |name: &str| {
        let numbers = chart[name].as_array().unwrap().iter();
        numbers.map(|number| number.as_u64().unwrap()).sum()
    };
    (sum("clicks"), sum("previous"))
}

both_modes! {
    async fn a_links_page_shows_its_clicks_over_time_and_those_of_the_period_before(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        for _ in 0..3 {
            app.visit(&format!("/{code}")).await;
        }
        let path = format!("/app/links/{code}");
        let page = browser.get(&path).await.text;
        for text in ["<strong>3</strong>", "0 in the same part of the period before", "data-live", "value=\"UTC\"", "Today is not over yet"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert_eq!((sums(&page), chart(&page)["running"].as_u64()), ((3, 0), Some(29)));
        let future = browser.get(&format!("{path}?interval=day&from=2031-01-01&to=2031-01-30")).await.text;
        assert!(future.contains("<strong>0</strong>") && !future.contains("is not over yet"), "{future}");
        assert_eq!((sums(&future), chart(&future)["running"].as_u64()), ((0, 0), None));
    }

    async fn a_range_that_is_refused_is_named_beside_the_usual_one(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        for page in [format!("/app/links/{code}"), "/app/all".to_owned()] {
            for (query, detail) in [
                ("tz=Mars", "This time zone is unknown."), ("from=1970-01-01", "The period is too long for this interval."),
                ("interval=week", "The interval must be an hour, a day or a month."), ("from=2026-11-20&to=2026-11-01", "The period must begin before it ends."),
            ] {
                let refused = browser.get(&format!("{page}?{query}")).await;
                assert_eq!(refused.status, 422, "{query}");
                assert!(refused.text.contains(detail), "{query}: {}", refused.text);
                assert_eq!(browser.get(&format!("{page}/export?{query}")).await.status, 422);
            }
        }
    }

    async fn days_begin_in_the_zone_that_the_browser_noted(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        browser.cookies.insert("shunt_tz".to_owned(), "Asia/Kathmandu".to_owned());
        let page = browser.get("/app/all").await.text;
        assert!(page.contains("value=\"Asia/Kathmandu\""), "{page}");
        assert!(page.contains("T00:00:00+05:45"), "{page}");
        browser.cookies.insert("shunt_tz".to_owned(), "<script>".to_owned());
        assert!(browser.get("/app/all").await.text.contains("value=\"UTC\""));
    }

    async fn the_page_of_all_links_has_those_with_most_clicks_and_those_that_end_soon(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let target = ("target_url", "https://example.org/");
        let busy = browser.make(&[target, ("title", "Busy"), ("tags", "spring")]).await;
        browser.make(&[target, ("title", "Later"), ("expires_at", "2098-01-31T18:00")]).await;
        browser.make(&[target, ("title", "Sooner"), ("expires_at", "2097-01-31T18:00")]).await;
        for _ in 0..2 {
            app.visit(&format!("/{busy}")).await;
        }
        // The order is that of clicks that are written back.
        let mut page = String::new();
        for _ in 0..500 {
            page = browser.get("/app/all").await.text;
            let most = page.split("Expiring soon").next().unwrap();
            if most.find("Busy") < most.find("Later") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let (most, ending) = page.split_once("Expiring soon").unwrap();
        assert!(most.contains(">2</strong>"), "{most}");
        assert!(most.find("Busy") < most.find("Later"), "{most}");
        assert!(ending.find("Sooner").unwrap() < ending.find("Later").unwrap(), "{ending}");
        assert!(ending.contains("31 Jan 2097, 18:00") && !ending.contains("Busy"), "{ending}");
        let tagged = browser.get("/app/all?tag=spring&interval=hour&tz=Europe/Berlin").await.text;
        let form = tagged.split("<form class=\"of\"").nth(1).unwrap().split("</form>").next().unwrap();
        for kept in ["name=\"interval\" value=\"hour\"", "name=\"tz\" value=\"Europe/Berlin\"", "name=\"tag\" value=\"spring\""] {
            assert!(form.contains(kept), "{kept}: {form}");
        }
        assert!(tagged.contains(">2</strong>"), "{tagged}");
        assert!(!tagged.split("Expiring soon").next().unwrap().contains("Later"), "{tagged}");
    }

    async fn the_exports_of_the_pages_are_those_of_the_owner(app) {
        let mut ada = Browser::new(app);
        ada.sign_up().await;
        let code = ada.make(&[("target_url", "https://example.org/")]).await;
        app.visit(&format!("/{code}")).await;
        for path in [format!("/app/links/{code}/export?interval=month"), "/app/all/export?interval=month".to_owned()] {
            let file = ada.get(&path).await;
            assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
            assert!(file.text.trim_end().ends_with(",1,1"), "{}", file.text);
        }
        eventually("the export of all links says who followed them", async || {
            let file = Response::of(ada.request(Method::GET, "/app/all/export")).await;
            file.text.contains("\r\nbrowser,")
        }).await;
        let mut bob = Browser::new(app);
        let signed_out = bob.get(&format!("/app/links/{code}/live")).await;
        leads_to(&signed_out, &format!("/app/login?next=%2Fapp%2Flinks%2F{code}%2Flive"));
        bob.sign_up().await;
        for page in ["", "/export", "/live"] {
            assert_eq!(bob.get(&format!("/app/links/{code}{page}")).await.status, 404, "{page}");
        }
        assert!(bob.get("/app/all/export").await.text.ends_with(",0,0\r\n"));
    }

    async fn the_clicks_of_all_links_are_read_again_while_their_page_is_looked_at(app) {
        let mut ada = Browser::new(app);
        ada.sign_up().await;
        let code = ada.make(&[("target_url", "https://example.org/"), ("tags", "spring")]).await;
        let page = ada.get("/app/all?tag=spring&interval=hour").await.text;
        assert!(page.contains("data-count=\"/app/all/count?interval=hour&#38;tag=spring\">0</strong>"), "{page}");
        app.visit(&format!("/{code}")).await;
        for (query, clicks) in [("interval=hour&tag=spring", "1"), ("", "1"), ("tag=autumn", "0"), ("interval=day&from=2031-01-01&to=2031-01-30", "0")] {
            let count = ada.get(&format!("/app/all/count?{query}")).await;
            assert_eq!((count.status.as_u16(), &*count.text), (200, clicks), "{query}");
        }
        assert_eq!(ada.get("/app/all/count?tz=Mars").await.status, 422);
        let mut bob = Browser::new(app);
        leads_to(&bob.get("/app/all/count").await, "/app/login?next=%2Fapp%2Fall%2Fcount");
        bob.sign_up().await;
        assert_eq!(bob.get("/app/all/count").await.text, "0");
    }

    async fn a_period_is_a_button_and_the_current_one_is_marked(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        app.visit(&format!("/{code}")).await;
        for path in [format!("/app/links/{code}"), "/app/all".to_owned()] {
            for (query, marked, points) in [
                ("", "30d", 30), ("period=24h", "24h", 24), ("period=7d", "7d", 7), ("period=90d&tz=Asia%2FKathmandu", "90d", 90),
                ("period=12m", "12m", 12), ("period=all", "all", 24), ("interval=month", "12m", 12),
            ] {
                let page = browser.get(&format!("{path}?{query}")).await.text;
                assert_eq!(page.matches("id=\"period-").count(), 6);
                let current = page.split("id=\"period-").skip(1).find(|link| link.split('>').next().unwrap().contains("aria-current"));
                assert!(current.unwrap().starts_with(&format!("{marked}\"")), "{query}: {page}");
                assert_eq!(chart(&page)["clicks"].as_array().unwrap().len(), points, "{query}");
                assert_eq!(sums(&page).0, 1, "{query}");
            }
            let custom = browser.get(&format!("{path}?from=2026-01-01&to=2026-01-31")).await.text;
            assert!(custom.contains("<details class=\"custom\" open>") && custom.contains("Clicks, 1 Jan 2026 to 31 Jan 2026"), "{custom}");
        }
    }

    async fn the_comparison_is_the_series_of_the_period_before(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        for _ in 0..2 {
            app.visit(&format!("/{code}")).await;
        }
        let path = format!("/app/links/{code}");
        let today = chart(&browser.get(&path).await.text);
        let day = |days: i64| {
            let start = today["start"].as_u64().unwrap().cast_signed() + (29 + days) * 86_400;
            Timestamp::from_micros(start * 1_000_000).unwrap().date()
        };
        // The period after today: what came before is all of today.
        let page = browser.get(&format!("{path}?from={}&to={}", day(1), day(3))).await.text;
        let before = browser.get(&format!("{path}?from={}&to={}", day(-2), day(0))).await.text;
        assert_eq!(chart(&page)["previous"], chart(&before)["clicks"]);
        assert_eq!(sums(&page), (0, 2));
        assert!(page.contains("2 in the period before") && page.contains("<span class=\"change less\">↓\u{a0}100%"), "{page}");
    }

    async fn a_page_has_one_time_zone(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("expires_at", "2099-01-31T18:00")]).await;
        let path = format!("/app/links/{code}");
        assert!(browser.get(&path).await.text.contains("Ends 31 Jan 2099, 18:00"));
        browser.cookies.insert("shunt_tz".to_owned(), "Asia/Kathmandu".to_owned());
        for page in [&*path, "/app/all"] {
            let page = browser.get(page).await.text;
            assert!(page.contains("31 Jan 2099, 23:45") && page.contains("Time zone: <bdi>Asia/Kathmandu</bdi>"), "{page}");
        }
    }

    async fn a_new_link_has_its_address_and_code_and_no_empty_chart(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let page = browser.get(&format!("/app/links/{code}?new=1")).await.text;
        for text in ["Your link is ready.", &format!("data-copy=\"{}/{code}\"", app.server.base), &format!("/urls/{code}/qr?size=352")] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("data-chart") && !page.contains("id=\"visitors\""), "{page}");
    }

    async fn a_links_page_loads_less_than_95_kilobytes(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let path = format!("/app/links/{code}");
        let page = browser.get(&format!("{path}?period=90d")).await.text;
        let mut all = vec![path];
        for start in ["href=\"/assets/", "src=\"/assets/"] {
            let found = page.split(start).skip(1).map(|rest| rest.split(['"', '#']).next().unwrap());
            all.extend(found.map(|file| format!("/assets/{file}")));
        }
        all.sort();
        all.dedup();
        assert!(all.len() >= 7, "{all:?}");
        let mut bytes = 0;
        for path in all {
            let body = browser.get(&path).await.text;
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            packed.write_all(body.as_bytes()).unwrap();
            bytes += packed.finish().unwrap().len();
        }
        assert!(bytes < 95_000, "{bytes} bytes");
    }
}
