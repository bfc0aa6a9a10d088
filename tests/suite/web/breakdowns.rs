//! Who followed links, on the pages of owners, without JavaScript.

use reqwest::Method;
use serde_json::Value;

use super::browser::Browser;
use crate::support::{App, Mode, Response, both_modes, with_app_and_settings};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

async fn visit(app: &App, code: &str, agent: &str, referrer: &str) {
    let request = app.request(Method::GET, &format!("/{code}"));
    let request = request
        .header("user-agent", agent)
        .header("referer", referrer);
    assert_eq!(Response::of(request).await.status, 302);
}

/// The page once so many clicks of it are summed by class.
async fn summed(browser: &mut Browser<'_>, path: &str, clicks: u64) -> String {
    for _ in 0..500 {
        let page = browser.get(path).await.text;
        if page.contains("id=\"by-referrer\"") {
            let of_rows = rows(&page, "referrer");
            let of_rows = of_rows
                .iter()
                .map(|row| row.rsplit(' ').nth(1).unwrap().parse::<u64>().unwrap());
            if of_rows.sum::<u64>() == clicks {
                // Each table is read by itself, so another one may be from a moment before.
                return browser.get(path).await.text;
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{path} never has {clicks} clicks by class");
}

/// The part of a page that shows the breakdowns.
fn visitors(page: &str) -> &str {
    page.split("<section id=\"visitors\"").nth(1).expect(page)
}

/// The texts of the table of one dimension, row by row: value, clicks, share.
fn rows(page: &str, by: &str) -> Vec<String> {
    let table = page.split(&format!("id=\"by-{by}\"")).nth(1).expect(page);
    let table = table.split("</ul>").next().unwrap();
    let row = |row: &str| {
        let texts = row
            .split('>')
            .map(|part| part.split('<').next().unwrap().trim());
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    };
    table
        .split("<li")
        .skip(1)
        .map(|text| row(text.split_once('>').unwrap().1))
        .collect()
}

/// All clicks and the clicks of people above the chart, and the sum of the chart.
fn figures(page: &str) -> (String, String, u64) {
    let strong = |place: usize| {
        let text = page.split("class=\"sums\"><strong").nth(place).unwrap();
        let text = text.split_once('>').unwrap().1;
        text.split('<').next().unwrap().to_owned()
    };
    let data = page.split("data-chart=\"").nth(1).unwrap();
    let data = data.split('"').next().unwrap().replace("&#34;", "\"");
    let data: Value = serde_json::from_str(&data).unwrap();
    let clicks = data["clicks"].as_array().unwrap().iter();
    (
        strong(1),
        strong(2),
        clicks.map(|clicks| clicks.as_u64().unwrap()).sum(),
    )
}

/// The address of a link on the page.
fn address(page: &str, of: &str) -> String {
    let before = visitors(page).split(of).next().unwrap();
    let path = before.rsplit("href=\"").next().unwrap();
    path.split('"').next().unwrap().replace("&#38;", "&")
}

both_modes! {
    async fn a_value_that_is_chosen_narrows_every_table_the_chart_and_the_numbers_until_its_filter_is_removed(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("tags", "spring")]).await;
        for _ in 0..3 {
            visit(app, &code, FIREFOX, "https://news.example/").await;
        }
        visit(app, &code, FIREFOX, "https://blog.example/").await;
        visit(app, &code, BOT, "https://blog.example/").await;
        for path in [format!("/app/links/{code}"), "/app/all".to_owned(), "/app/all?tag=spring".to_owned()] {
            let page = summed(&mut browser, &path, 5).await;
            assert_eq!(rows(&page, "referrer"), ["news.example 3 60%", "blog.example 2 40%"]);
            assert_eq!(figures(&page), ("5".to_owned(), "4".to_owned(), 5));
            assert_eq!(rows(&page, "country"), ["Unknown 5 100%"]);
            assert!(rows(&page, "device").contains(&"Computer 4 80%".to_owned()), "{page}");
            assert!(rows(&page, "browser").contains(&"Firefox 4 80%".to_owned()), "{page}");
            let narrowed = address(&page, "<bdi>blog.example</bdi>");
            assert!(narrowed.ends_with("referrer=blog.example"), "{narrowed}");
            let page = browser.get(&narrowed).await.text;
            assert_eq!(rows(&page, "referrer"), ["blog.example 2 100%"]);
            assert_eq!(figures(&page), ("2".to_owned(), "1".to_owned(), 2), "the chart and the numbers move, too");
            let people = page.split("id=\"bots-false\" href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
            let of_people = browser.get(&people).await.text;
            assert_eq!(figures(&of_people), ("1".to_owned(), "1".to_owned(), 1));
            assert_eq!(rows(&of_people, "referrer"), ["blog.example 1 100%"]);
            assert!(page.contains("name=\"referrer\" value=\"blog.example\""), "another range keeps the filter");
            let unknown = address(&page, "<span class=\"word\">Unknown</span></a>");
            assert!(unknown.contains("country="), "{unknown}");
            let page = browser.get(&unknown).await.text;
            assert_eq!(page.matches("class=\"chip\"").count(), 2);
            let cleared = address(&page, ">Remove all filters<");
            assert_eq!(cleared, path);
            assert_eq!(rows(&browser.get(&cleared).await.text, "referrer").len(), 2);
        }
    }

    async fn no_clicks_and_no_match_are_said(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let path = format!("/app/links/{code}");
        let page = browser.get(&path).await.text;
        assert!(visitors(&page).contains("Nothing is known of visitors in this period"), "{page}");
        visit(app, &code, FIREFOX, "https://news.example/").await;
        summed(&mut browser, &path, 1).await;
        let none = browser.get(&format!("{path}?device=tablet")).await;
        assert_eq!(none.status, 200);
        assert!(visitors(&none.text).contains("No clicks in this period match these filters"), "{none:?}");
        let future = browser.get(&format!("{path}?from=2031-01-01&to=2031-01-30")).await.text;
        assert!(visitors(&future).contains("Nothing is known of visitors in this period"), "{future}");
        let refused = browser.get(&format!("{path}?os={}", "x".repeat(254))).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("A filter of this address is invalid, so all clicks are shown."), "{refused:?}");
    }

    async fn what_has_no_row_of_its_own_is_the_last_row(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        for number in 0..10 {
            visit(app, &code, FIREFOX, &format!("https://site{number}.example/")).await;
        }
        let page = summed(&mut browser, &format!("/app/links/{code}"), 10).await;
        let rows = rows(&page, "referrer");
        assert_eq!(rows.len(), 9);
        assert_eq!(rows.last().unwrap(), "Other 2 20%");
    }

    async fn a_hostile_filter_stays_text(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let page = browser.get("/app/all?referrer=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E").await.text;
        assert!(!page.contains("<script>alert"), "{page}");
        // A parser of addresses lets it pass as a host.
        let page = browser.get("/app/all?referrer=%22onfocus%3Dalert(1)autofocus%22").await.text;
        assert!(!page.contains("\"onfocus="), "{page}");
        assert!(visitors(&page).contains("<bdi>&#34;onfocus="), "{page}");
    }
}

#[tokio::test]
async fn where_nothing_is_kept_of_visitors_the_page_says_so() {
    for mode in [Mode::Embedded, Mode::Production] {
        with_app_and_settings(mode, &[("ANALYTICS", "off")], async |app| {
            let mut browser = Browser::new(app);
            browser.sign_up().await;
            let code = browser
                .make(&[("target_url", "https://example.org/")])
                .await;
            for path in [format!("/app/links/{code}"), "/app/all".to_owned()] {
                let page = browser.get(&path).await.text;
                assert!(
                    visitors(&page).contains("keeps no data about visitors"),
                    "{page}"
                );
            }
        })
        .await;
    }
}
