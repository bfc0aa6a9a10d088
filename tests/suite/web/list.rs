//! The list of links: its search, tabs with numbers, pages in both directions, and what is done to all links that match.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::browser::{Browser, leads_to};
use crate::support::{App, Response, both_modes, eventually};

/// 1,200 links of an account, as old as it is.
const MANY: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
    SELECT 'bulk' || n.i, 'https://example.org/many', users.id, users.created_at FROM n, users
    WHERE users.email = $1";

/// Most that a page of the list may have with all that it loads, compressed.
const MAX_BYTES: usize = 60 * 1024;

/// The codes of the links on a page, in their order.
fn codes(page: &Response) -> Vec<String> {
    assert_eq!(page.status, 200, "{page:?}");
    let rows = page.text.split("name=\"code\" value=\"").skip(1);
    rows.map(|row| row.split('"').next().unwrap().to_owned())
        .collect()
}

/// The address behind a link with this relation.
fn rel(page: &Response, rel: &str) -> Option<String> {
    let found = page.text.split(&format!("rel=\"{rel}\" href=\"")).nth(1)?;
    Some(found.split('"').next().unwrap().replace("&#38;", "&"))
}

/// The tabs as people read them.
fn tabs(page: &Response) -> Vec<String> {
    let tabs = page.text.split("<nav class=\"tabs\"").nth(1).unwrap();
    let tabs = tabs.split("</nav>").next().unwrap();
    let texts = tabs.split("<a href=").skip(1).map(|tab| {
        let tab = tab.split_once('>').unwrap().1.replace("<span>", "");
        tab.split("</").next().unwrap().to_owned()
    });
    texts.collect()
}

pub(super) async fn make_many(app: &App, token: &str, count: usize) {
    let links: Vec<_> = (0..count)
        .map(|number| json!({"target_url": format!("https://example.org/{number}")}))
        .collect();
    for links in links.chunks(50) {
        let request = app.request(reqwest::Method::POST, "/urls/bulk");
        let made = Response::of(request.bearer_auth(token).json(&links)).await;
        assert_eq!(made.status, 200, "{made:?}");
    }
}

/// A token for the API of the account that is signed in.
pub(super) async fn token_of(app: &App, email: &str) -> String {
    let answer = app.account("/auth/login", email, "correct horse").await;
    let answer = answer.json();
    answer["access_token"].as_str().unwrap().to_owned()
}

both_modes! {
    async fn words_accents_tags_and_a_short_url_are_found_on_the_page(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let cafe = [("target_url", "https://example.org/menu"), ("title", "Café Zentral"), ("tags", "Frühling, print"), ("custom_code", "cafe-menu")];
        let cafe = browser.make(&cafe).await;
        browser.make(&[("target_url", "https://example.org/menu/2"), ("custom_code", "cafe-menu-2")]).await;
        let base = app.server.base.clone();
        for q in ["cafe zentral", "ZENTRAL menu", "fruhling", "print café", &format!("{base}/cafe-menu"), &format!("{}/cafe-menu", &base[7..])] {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", q).finish();
            let page = browser.get(&format!("/app?{query}")).await;
            assert_eq!(codes(&page), [cafe.as_str()], "{q}");
            assert!(page.text.contains("1 to 1 of 1"), "{q}");
        }
        assert!(browser.get("/app?q=zentral+elsewhere").await.text.contains("No link matches"));
    }

    async fn tabs_say_how_many_links_have_which_status(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        assert_eq!(tabs(&browser.get("/app").await), ["All 0", "Active 0", "Paused 0", "Ended 0"]);
        for (code, field, value) in [
            ("plain", "title", ""), ("late", "starts_at", "2099-01-01T00:00"), ("once", "max_clicks", "1"), ("quiet", "tags", "x"), ("open", "expires_at", "2099-01-01T00:00"),
        ] {
            browser.make(&[("target_url", "https://example.org/"), ("custom_code", code), (field, value)]).await;
        }
        app.get("/once").await;
        let pause = [("pause", "quiet")];
        leads_to(&browser.send("/app", "/app/links/selected", &pause).await, "/app?done=paused");
        eventually("the click is written back", async || {
            let mut window = Browser { app: browser.app, cookies: browser.cookies.clone() };
            codes(&window.get("/app?status=ended").await) == ["once"]
        })
        .await;
        let ended = browser.get("/app?status=ended").await;
        assert_eq!(tabs(&ended), ["All 5", "Active 2", "Paused 1", "Scheduled 1", "Ended 1"]);
        assert!(ended.text.contains("1 to 1 of 1"), "{ended:?}");
        assert_eq!(codes(&browser.get("/app?status=inactive").await), ["quiet"]);
        assert_eq!(codes(&browser.get("/app?status=active").await), ["open", "plain"]);
        assert_eq!(tabs(&browser.get("/app?tag=x").await), ["All 1", "Active 0", "Paused 1", "Ended 0"]);
        assert_eq!(tabs(&browser.get("/app?q=example").await), ["All", "Active", "Paused", "Ended"]);
        leads_to(&browser.send("/app", "/app/links/selected", &[("resume", "quiet")]).await, "/app?done=resumed");
        assert_eq!(tabs(&browser.get("/app").await)[2], "Paused 0");
    }

    async fn pages_lead_on_and_back_in_every_order(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        make_many(app, &token_of(app, &email).await, 60).await;
        for list in ["", "sort=created_at", "sort=-clicks", "sort=clicks", "q=example&sort=created_at", "status=active"] {
            let mut pages = Vec::new();
            let mut path = Some(format!("/app?{list}"));
            while let Some(next) = path {
                let page = browser.get(&next).await;
                path = rel(&page, "next");
                pages.push(page);
            }
            let walked: Vec<_> = pages.iter().map(codes).collect();
            assert_eq!(walked.iter().map(Vec::len).collect::<Vec<_>>(), [25, 25, 10], "{list}");
            for (page, range) in pages.iter().zip(["1 to 25", "26 to 50", "51 to 60 of 60"]) {
                assert!(page.text.contains(range), "{list}: {range}");
            }
            assert!(rel(&pages[0], "prev").is_none());
            let middle = browser.get(&rel(&pages[2], "prev").unwrap()).await;
            assert_eq!(codes(&middle), walked[1], "{list}");
            assert!(middle.text.contains("26 to 50"), "{list}");
            assert_eq!(codes(&browser.get(&rel(&middle, "next").unwrap()).await), walked[2], "{list}");
            let first = browser.get(&rel(&middle, "prev").unwrap()).await;
            assert_eq!(codes(&first), walked[0], "{list}");
            assert!(rel(&first, "prev").is_none() && first.text.contains("1 to 25"), "{list}");
        }
    }

    async fn what_is_done_to_all_that_match_reaches_other_pages_and_no_other_link(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let api = token_of(app, &email).await;
        make_many(app, &api, 60).await;
        let other = browser.make(&[("target_url", "https://other.example/")]).await;
        let every = |action| [("every", "yes"), ("place", "q=example.org"), ("action", action), ("tag", "sold")];
        let tagged = browser.send("/app", "/app/links/selected", &every("tag")).await;
        leads_to(&tagged, "/app?q=example.org&done=tagged&n=60");
        let page = browser.get(tagged.header("location")).await;
        assert!(page.text.contains("Tags added. 60 links were changed.</p>"), "{page:?}");
        assert_eq!(tabs(&browser.get("/app?tag=sold").await)[0], "All 60");
        let asked = browser.send("/app", "/app/links/selected/delete", &[("every", "yes"), ("place", "tag=sold")]).await;
        leads_to(&asked, "/app/links/selected/delete?every=yes&place=tag%3Dsold");
        let question = browser.get(asked.header("location")).await;
        assert!(question.text.contains("Delete all 60 links that match?") && question.text.contains("name=\"every\" value=\"yes\""), "{question:?}");
        let deleted = browser.send("/app", "/app/links/selected", &[("every", "yes"), ("place", "tag=sold"), ("action", "delete")]).await;
        assert!(deleted.header("location").starts_with("/app?tag=sold&done=deleted&n=60&since="), "{deleted:?}");
        assert_eq!(codes(&browser.get("/app").await), [other.as_str()]);
        let refused = browser.send("/app", "/app/links/selected", &[("every", "yes"), ("place", ""), ("action", "tag"), ("tag", ",")]).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("Enter at least one tag."), "{refused:?}");
    }

    async fn of_very_many_links_some_are_changed_and_the_page_leads_on_to_the_rest(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        app.backend.execute(MANY, &email).await;
        let pause = [("every", "yes"), ("place", ""), ("action", "pause")];
        let mut page = browser.send("/app", "/app/links/selected", &pause).await;
        let mut changed = 0;
        loop {
            let path = page.header("location").to_owned();
            let query = path.split_once('?').unwrap().1;
            let query: std::collections::HashMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            let n: u32 = query["n"].parse().unwrap();
            assert!(n <= 1_000, "{path}");
            changed += n;
            let shown = browser.get(&path).await;
            let Some(rest) = query.get("rest") else {
                break;
            };
            assert!(shown.text.contains("More links match and are not changed yet.") && shown.text.contains("value=\"pause\">Continue"), "{shown:?}");
            let more = [&pause[..], &[("rest", rest.as_str())]].concat();
            page = browser.send("/app", "/app/links/selected", &more).await;
        }
        assert_eq!(changed, 1_200);
        assert_eq!(tabs(&browser.get("/app").await), ["All 1,200", "Active 0", "Paused 1,200", "Ended 0"]);
    }

    async fn a_target_without_its_scheme_is_taken_by_forms_and_never_by_the_api(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let code = browser.make(&[("target_url", "example.org/x?a=b"), ("fallback_url", "www.example.com")]).await;
        assert_eq!(app.get(&format!("/{code}")).await.header("location"), "https://example.org/x?a=b");
        for wrong in ["nonsense", "javascript:alert(1)", "ada@example.org"] {
            let refused = browser.send("/app", "/app/links", &[("target_url", wrong)]).await;
            assert_eq!(refused.status, 422, "{wrong}");
        }
        let request = app.request(reqwest::Method::POST, "/urls/shorten").bearer_auth(token_of(app, &email).await);
        let refused = Response::of(request.json(&json!({"target_url": "example.org/x"}))).await;
        assert_eq!(refused.status, 422, "{refused:?}");
    }

    async fn the_line_of_a_link_has_its_clicks_of_each_day(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        browser.make(&[("target_url", "https://example.org/quiet")]).await;
        for _ in 0..3 {
            app.get(&format!("/{code}")).await;
        }
        let page = browser.get("/app").await.text;
        let rows: Vec<_> = page.split("<li>").skip(1).collect();
        assert!(rows[0].contains("aria-label=\"0 clicks in 30 days\"") && rows[0].contains(" 29,19\""), "{}", rows[0]);
        assert!(rows[1].contains("aria-label=\"3 clicks in 30 days\"") && rows[1].contains(" 28,19 29,1\""), "{}", rows[1]);
        let series = app.get(&format!("/urls/{code}/stats/series?interval=day")).await.json();
        assert_eq!(series["clicks"], 3, "{series}");
    }

    async fn a_page_of_the_list_with_all_that_it_loads_is_small(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let token = token_of(app, &email).await;
        let links: Vec<_> = (0..40).map(|number| json!({
            "target_url": format!("https://www.example.com/campaigns/2026/spring/collection-{number}?utm_source=newsletter&utm_campaign=spring-{number}"),
            "title": format!("Spring collection, newsletter number {number}"), "tags": ["spring", "newsletter", "2026"],
        })).collect();
        let request = app.request(reqwest::Method::POST, "/urls/bulk").bearer_auth(token);
        assert_eq!(Response::of(request.json(&links)).await.status, 200);
        let page = browser.get("/app").await;
        let mut bytes = gzipped(page.text.as_bytes());
        let mut assets: Vec<_> = page.text.split(['"', '#']).filter(|text| text.starts_with("/assets/")).collect();
        assets.sort_unstable();
        assets.dedup();
        assert!(assets.len() >= 5, "{assets:?}");
        for asset in assets {
            bytes += gzipped(app.get(asset).await.text.as_bytes());
        }
        assert!(bytes < MAX_BYTES, "{bytes} bytes");
    }
}

fn gzipped(bytes: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}
