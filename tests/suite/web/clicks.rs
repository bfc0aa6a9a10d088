//! Pages with clicks over time, without JavaScript.

use reqwest::Method;

use super::browser::{Browser, leads_to};
use crate::support::{Response, both_modes, eventually};

/// How many bars a page's chart has.
fn bars(page: &str) -> usize {
    let path = page.split("class=\"now\" d=\"").nth(1).unwrap();
    path.split('"').next().unwrap().matches('M').count()
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
        for text in ["<strong>3</strong> clicks", "0 in the previous period", "data-live", "value=\"UTC\""] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert_eq!(bars(&page), 1);
        let future = browser.get(&format!("{path}?interval=day&from=2031-01-01&to=2031-01-30")).await.text;
        assert!(future.contains("<strong>0</strong> clicks"), "{future}");
        assert_eq!(bars(&future), 0);
    }

    async fn a_range_that_is_refused_is_named_beside_the_usual_one(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        for page in [format!("/app/links/{code}"), "/app/all".to_owned()] {
            for (query, detail) in [("tz=Mars", "tz: must be"), ("from=1970-01-01", "from: must be"), ("interval=week", "interval: must be")] {
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
        assert!(most.contains(">2</strong> clicks"), "{most}");
        assert!(most.find("Busy") < most.find("Later"), "{most}");
        assert!(ending.find("Sooner").unwrap() < ending.find("Later").unwrap(), "{ending}");
        assert!(ending.contains("2097-01-31 18:00") && !ending.contains("Busy"), "{ending}");
        let tagged = browser.get("/app/all?tag=spring&interval=hour&tz=Europe/Berlin").await.text;
        let form = tagged.split("<form class=\"of\"").nth(1).unwrap().split("</form>").next().unwrap();
        for kept in ["name=\"interval\" value=\"hour\"", "name=\"tz\" value=\"Europe/Berlin\"", "name=\"tag\" value=\"spring\""] {
            assert!(form.contains(kept), "{kept}: {form}");
        }
        assert!(tagged.contains(">2</strong> clicks"), "{tagged}");
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
}
