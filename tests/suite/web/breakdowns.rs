//! Who followed links, on the pages of owners, without JavaScript.

use reqwest::Method;

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
async fn summed(browser: &mut Browser<'_>, path: &str, clicks: &str) -> String {
    let wanted = format!("<strong>{clicks}</strong>");
    for _ in 0..500 {
        let page = browser.get(path).await.text;
        if visitors(&page).contains(&wanted) {
            // Each table is read by itself, so another one may be from a moment before.
            return browser.get(path).await.text;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{path} never has {clicks} clicks by class");
}

/// The part of a page that shows the breakdowns.
fn visitors(page: &str) -> &str {
    let part = page.split("<section id=\"visitors\"").nth(1).expect(page);
    part.split("</section>").next().unwrap()
}

/// The texts of the table of one dimension, row by row: value, clicks, people.
fn rows(page: &str, by: &str) -> Vec<String> {
    let table = page.split(&format!("id=\"by-{by}\"")).nth(1).expect(page);
    let table = table.split("</table>").next().unwrap();
    let row = |row: &str| {
        let texts = row
            .split('>')
            .map(|part| part.split('<').next().unwrap().trim());
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    };
    let body = table.split("<tbody>").nth(1).unwrap();
    body.split("<tr")
        .skip(1)
        .map(|text| row(text.split_once('>').unwrap().1))
        .collect()
}

/// The address of a link on the page.
fn address(page: &str, of: &str) -> String {
    let before = visitors(page).split(of).next().unwrap();
    let path = before.rsplit("href=\"").next().unwrap();
    path.split('"').next().unwrap().replace("&#38;", "&")
}

both_modes! {
    async fn a_value_that_is_chosen_narrows_every_table_until_its_filter_is_removed(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("tags", "spring")]).await;
        for _ in 0..3 {
            visit(app, &code, FIREFOX, "https://news.example/").await;
        }
        visit(app, &code, FIREFOX, "https://blog.example/").await;
        visit(app, &code, BOT, "https://blog.example/").await;
        for path in [format!("/app/links/{code}"), "/app/all".to_owned(), "/app/all?tag=spring".to_owned()] {
            let page = summed(&mut browser, &path, "5").await;
            assert_eq!(rows(&page, "referrer"), ["news.example 3 3", "blog.example 2 1"]);
            assert_eq!(rows(&page, "bot"), ["people 4 4", "known bots 1 0"]);
            assert_eq!(rows(&page, "country"), ["unknown 5 4"]);
            assert!(rows(&page, "browser").contains(&"Firefox 4 4".to_owned()), "{page}");
            let narrowed = address(&page, "<bdi>blog.example</bdi>");
            assert!(narrowed.ends_with("referrer=blog.example"), "{narrowed}");
            let page = browser.get(&narrowed).await.text;
            assert_eq!(rows(&page, "referrer"), ["blog.example 2 1"]);
            assert_eq!(rows(&page, "bot").len(), 2);
            assert!(page.contains("name=\"referrer\" value=\"blog.example\""), "another range keeps the filter");
            let unknown = address(&page, "<span class=\"word\">unknown</span></a>");
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
        summed(&mut browser, &path, "1").await;
        let none = browser.get(&format!("{path}?device=tablet")).await;
        assert_eq!(none.status, 200);
        assert!(visitors(&none.text).contains("No clicks in this period match these filters"), "{none:?}");
        let future = browser.get(&format!("{path}?from=2031-01-01&to=2031-01-30")).await.text;
        assert!(visitors(&future).contains("Nothing is known of visitors in this period"), "{future}");
        let refused = browser.get(&format!("{path}?os={}", "x".repeat(254))).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("os: must be a system that a row of by=os has, such as os=Android"), "{refused:?}");
    }

    async fn what_has_no_row_of_its_own_is_the_last_row(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        for number in 0..10 {
            visit(app, &code, FIREFOX, &format!("https://site{number}.example/")).await;
        }
        let page = summed(&mut browser, &format!("/app/links/{code}"), "10").await;
        let rows = rows(&page, "referrer");
        assert_eq!(rows.len(), 9);
        assert_eq!(rows.last().unwrap(), "other 2 2");
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
