//! Searches in the caller's own links: by text, tag and status, in four orders.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, both_modes, eventually};

/// 25,000 links of an account, as old as it is.
const MANY: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
    SELECT 'bulk' || n.i, 'https://example.org/', users.id, users.created_at FROM n, users
    WHERE CAST(users.id AS text) = $1";

async fn make(app: &App, token: &str, link: Value) -> String {
    let request = app
        .request(Method::POST, "/urls/shorten")
        .bearer_auth(token);
    let response = Response::of(request.json(&link)).await;
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["short_code"].as_str().unwrap().to_owned()
}

async fn make_with_title(app: &App, token: &str, title: &str) -> String {
    let link = json!({"target_url": "https://example.org/", "title": title});
    make(app, token, link).await
}

fn codes(response: &Response) -> Vec<String> {
    assert_eq!(response.status, 200, "{response:?}");
    let list = response.json();
    let links = list.as_array().unwrap().iter();
    links
        .map(|link| link["short_code"].as_str().unwrap().to_owned())
        .collect()
}

async fn found(app: &App, token: &str, query: &[(&str, &str)]) -> Vec<String> {
    let request = app.request(Method::GET, "/urls/my").bearer_auth(token);
    codes(&Response::of(request.query(query)).await)
}

/// The path of the next page.
fn next(app: &App, response: &Response) -> Option<String> {
    let link = response.header("link");
    let address = link.strip_prefix('<')?.strip_suffix(">; rel=\"next\"");
    let path = address.unwrap().strip_prefix(&app.server.base).unwrap();
    Some(path.to_owned())
}

/// The codes on all pages from this one on.
async fn all_pages(app: &App, token: &str, first: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut path = Some(first.to_owned());
    while let Some(page) = path {
        let response = app.get_as(token, &page).await;
        pages.push(codes(&response));
        path = next(app, &response);
    }
    pages
}

both_modes! {
    async fn a_text_is_found_in_code_target_and_title_in_any_case(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let target = "https://example.org/Spring/1";
        let by_code = make(app, &ada, json!({"target_url": "https://example.org/", "custom_code": "big-SPRING-1"})).await;
        let by_target = make(app, &ada, json!({"target_url": target})).await;
        let by_title = make_with_title(app, &ada, "Offspring").await;
        make_with_title(app, &ada, "summer").await;
        make_with_title(app, &bob, "spring").await;
        assert_eq!(found(app, &ada, &[("q", "sPriNg")]).await, [by_title, by_target.clone(), by_code]);
        assert_eq!(found(app, &ada, &[("q", "org/spring/1")]).await, [by_target]);
        assert!(found(app, &ada, &[("q", "springtime")]).await.is_empty());
        assert_eq!(found(app, &ada, &[("q", "")]).await.len(), 4, "every link has an empty text");
    }

    async fn words_are_found_that_are_all_there_each_anywhere(app) {
        let token = app.register().await;
        let spring = json!({"target_url": "https://example.org/Sale/2027", "title": "Spring in Ávila", "custom_code": "campaign-7"});
        let spring = make(app, &token, spring).await;
        make(app, &token, json!({"target_url": "https://example.org/sale", "title": "Autumn"})).await;
        for q in ["spring sale", "SALE spring", "campaign ávila 2027", "  pring\u{3000}ALE  ", "sale sal al l spring"] {
            assert_eq!(found(app, &token, &[("q", q)]).await, [spring.as_str()], "{q}");
        }
        for q in ["spring autumn", "salespring", "campaign-8 spring"] {
            assert!(found(app, &token, &[("q", q)]).await.is_empty(), "{q}");
        }
        assert_eq!(found(app, &token, &[("q", "   ")]).await.len(), 2, "every link has no words");
        assert_eq!(found(app, &token, &[("q", &"sale ".repeat(40))]).await.len(), 2, "200 bytes");
    }

    async fn letters_beyond_ascii_are_found_in_any_case(app) {
        let token = app.register().await;
        let upper = make_with_title(app, &token, "ÜBER Straße").await;
        let lower = make_with_title(app, &token, "über весна").await;
        assert_eq!(found(app, &token, &[("q", "Über")]).await, [lower.clone(), upper.clone()]);
        assert_eq!(found(app, &token, &[("q", "ВЕСНА")]).await, [lower]);
        assert_eq!(found(app, &token, &[("q", "straße")]).await, [upper]);
    }

    async fn letters_are_found_with_and_without_their_accents(app) {
        let token = app.register().await;
        let plain = make_with_title(app, &token, "a cafe").await;
        let accent = make_with_title(app, &token, "Café").await;
        let apart = make_with_title(app, &token, "CAFE\u{301}").await;
        make_with_title(app, &token, "caffè").await;
        for q in ["cafe", "CAFÉ", "cafe\u{301}"] {
            assert_eq!(found(app, &token, &[("q", q)]).await, [apart.clone(), accent.clone(), plain.clone()], "{q}");
        }
    }

    async fn tags_are_searched_with_all_else(app) {
        let token = app.register().await;
        let link = |tags: &[&str]| json!({"target_url": "https://example.org/", "title": "Sale", "tags": tags});
        let one = make(app, &token, link(&["Frühling", "print \"A\""])).await;
        make(app, &token, link(&["summer"])).await;
        for q in ["fruhling", "sale FRÜH", "print fruhling"] {
            assert_eq!(found(app, &token, &[("q", q)]).await, [one.as_str()], "{q}");
        }
        assert!(found(app, &token, &[("q", "fruhling summer")]).await.is_empty());
    }

    async fn a_pasted_short_url_finds_its_link_and_no_other(app) {
        let token = app.register().await;
        let link = |code: &str| json!({"target_url": "https://example.org/deal", "custom_code": code});
        let aliased = json!({"target_url": "https://example.org/", "aliases": ["deal-also"]});
        let code = make(app, &token, link("deal")).await;
        make(app, &token, link("deal-2")).await;
        let aliased = make(app, &token, aliased).await;
        let base = &app.server.base;
        let (_, host) = base.split_once("://").unwrap();
        for q in [format!("{base}/deal"), format!("{host}/deal"), format!("{base}/deal+"), format!(" {host}/deal?from=mail example ")] {
            assert_eq!(found(app, &token, &[("q", &q)]).await, [code.as_str()], "{q}");
        }
        assert_eq!(found(app, &token, &[("q", &format!("{base}/deal-also"))]).await, [aliased]);
        assert!(found(app, &token, &[("q", "https://elsewhere.example/deal")]).await.is_empty());
    }

    async fn every_character_of_a_text_stands_for_itself(app) {
        let token = app.register().await;
        let literal = make_with_title(app, &token, r"50%_[a]*?\d(ä).").await;
        make_with_title(app, &token, "50 or a").await;
        for text in ["%", "_", "[a]", "*", "?", r"\", r"\d", "(Ä).", "[a]*?"] {
            assert_eq!(found(app, &token, &[("q", text)]).await, [literal.as_str()], "{text}");
        }
        assert!(found(app, &token, &[("q", "5.%")]).await.is_empty());
    }

    async fn a_tag_is_found_exactly(app) {
        let token = app.register().await;
        let link = |tags: &[&str]| json!({"target_url": "https://example.org/", "tags": tags});
        let one = make(app, &token, link(&["print", "spring"])).await;
        let other = make(app, &token, link(&["print"])).await;
        make(app, &token, link(&["printed", "Print"])).await;
        assert_eq!(found(app, &token, &[("tag", "print")]).await, [other.clone(), one.clone()]);
        assert_eq!(found(app, &token, &[("tag", "print"), ("sort", "created_at")]).await, [one.clone(), other]);
        assert_eq!(found(app, &token, &[("tag", "print"), ("q", &one)]).await, [one]);
        assert!(found(app, &token, &[("tag", "prin")]).await.is_empty());
    }

    async fn links_are_listed_by_their_status(app) {
        let token = app.register().await;
        let active = make_with_title(app, &token, "").await;
        let link = |more: Value| { let mut link = json!({"target_url": "https://example.org/"}); link.as_object_mut().unwrap().extend(more.as_object().unwrap().clone()); link };
        let later = make(app, &token, link(json!({"expires_at": "2999-01-01T00:00:00Z", "max_clicks": 1000}))).await;
        let expired = make(app, &token, link(json!({"expires_at": "2999-01-01T00:00:00Z"}))).await;
        let inactive = make(app, &token, link(json!({"expires_at": "2999-01-01T00:00:00Z"}))).await;
        for (code, patch) in [
            (&expired, json!({"expires_at": "2020-01-01T00:00:00Z"})),
            (&inactive, json!({"expires_at": "2020-01-01T00:00:00Z", "is_active": false})),
        ] {
            let request = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
            assert_eq!(Response::of(request.json(&patch)).await.status, 200);
        }
        for (status, codes) in [
            ("active", vec![later, active]), ("expired", vec![expired]), ("inactive", vec![inactive]),
            ("scheduled", vec![]), ("used_up", vec![]), ("removed", vec![]),
        ] {
            assert_eq!(found(app, &token, &[("status", status)]).await, codes, "{status}");
            let full = app.get_as(&token, &format!("/urls/my?view=full&status={status}")).await.json();
            assert!(full.as_array().unwrap().iter().all(|link| link["status"] == status));
        }
    }

    async fn a_list_has_four_orders(app) {
        let token = app.register().await;
        let mut made = Vec::new();
        for visits in [2, 0, 3, 1] {
            let code = make_with_title(app, &token, "").await;
            for _ in 0..visits {
                app.visit(&format!("/{code}")).await;
            }
            made.push(code);
        }
        let order = |indices: [usize; 4]| indices.map(|index| made[index].clone()).to_vec();
        for (sort, indices) in [
            ("-created_at", [3, 2, 1, 0]), ("created_at", [0, 1, 2, 3]), ("-clicks", [2, 0, 3, 1]), ("clicks", [1, 3, 0, 2]),
        ] {
            // Clicks are written back after a moment.
            eventually(sort, async || found(app, &token, &[("sort", sort)]).await == order(indices)).await;
            let pages = all_pages(app, &token, &format!("/urls/my?sort={sort}&limit=3")).await;
            assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1], "{sort}");
            assert_eq!(pages.concat(), order(indices), "{sort}");
        }
    }

    async fn links_that_come_and_go_move_no_other_to_or_from_a_page(app) {
        let token = app.register().await;
        for (round, sort) in ["-created_at", "created_at", "-clicks", "clicks"].into_iter().enumerate() {
            let mut made = Vec::new();
            for _ in 0..6 {
                made.push(make_with_title(app, &token, &format!("round-{round}")).await);
            }
            let response = app.get_as(&token, &format!("/urls/my?q=round-{round}&sort={sort}&limit=2")).await;
            let mut seen = codes(&response);
            let new = make_with_title(app, &token, &format!("round-{round}")).await;
            let last = seen.last().unwrap().clone();
            let unseen: Vec<_> = made.iter().filter(|code| !seen.contains(code)).cloned().collect();
            for code in [&last, &unseen[0]] {
                assert!(app.delete(&token, code).await.status.is_success());
            }
            seen.extend(all_pages(app, &token, &next(app, &response).unwrap()).await.concat());
            seen.retain(|code| *code != new);
            let mut expected: Vec<_> = made.iter().filter(|code| **code != unseen[0]).collect();
            let mut seen: Vec<_> = seen.iter().collect();
            seen.sort();
            expected.sort();
            assert_eq!(seen, expected, "{sort}");
        }
    }

    async fn the_next_page_has_all_parameters_of_this_one(app) {
        let token = app.register().await;
        for number in 0..3 {
            let title = format!("50 % & so on {number}");
            make(app, &token, json!({"target_url": "https://example.org/", "title": title, "tags": ["a b"]})).await;
        }
        let query = "q=50%20%25%20%26%20so&tag=a+b&status=active&sort=created_at&view=full&limit=2";
        let response = app.get_as(&token, &format!("/urls/my?{query}")).await;
        let path = next(app, &response).unwrap();
        let kept = "/urls/my?q=50+%25+%26+so&tag=a+b&status=active&sort=created_at&view=full&limit=2&cursor=o";
        assert!(path.starts_with(kept), "{path}");
        let rest = app.get_as(&token, &path).await.json();
        assert_eq!(rest[0]["title"], "50 % & so on 2");
        assert_eq!(rest.as_array().unwrap().len(), 1);
    }

    async fn a_link_in_full_view_is_as_its_own_page_shows_it(app) {
        let token = app.register().await;
        let code = make(app, &token, json!({"target_url": "https://example.org/", "title": "t", "tags": ["a"], "max_clicks": 9})).await;
        let list = app.get_as(&token, "/urls/my?view=full").await.json();
        assert_eq!(list, json!([app.get_as(&token, &format!("/urls/{code}")).await.json()]));
    }

    async fn a_bad_parameter_is_refused_by_name(app) {
        let token = app.register().await;
        for (query, detail) in [
            ("q=%00", "q: must be at most 200 bytes long, without control characters"),
            (&format!("q={}", "x".repeat(201)), "q: must be at most 200 bytes long, without control characters"),
            ("tag=", "tag: must be one tag of 1 to 50 characters, without commas and control characters"),
            ("tag=a,b", "tag: must be one tag of 1 to 50 characters, without commas and control characters"),
            ("status=gone", "status: must be active, inactive, scheduled, expired, used_up or removed"),
            ("sort=title", "sort: must be -created_at, created_at, -clicks or clicks"),
            ("view=half", "view: must be full, or left out"),
            ("tags=a", "tags: is not known here; did you mean tag?"),
            ("sortby=clicks", "sortby: is not known here; did you mean sort?"),
            ("q=a&q=b", "q: must be given only once"),
            ("sort=clicks&cursor=00000000000000010000000000000001", "cursor: belongs to another sort; begin without a cursor"),
            ("q=%ff", "q: must be UTF-8, percent-encoded"),
        ] {
            app.get_as(&token, &format!("/urls/my?{query}")).await.is_error(422, detail);
        }
    }

    async fn the_only_match_in_many_links_is_found_by_few_pages_in_every_order(app) {
        let token = app.register().await;
        let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
        app.backend.execute(MANY, &me).await;
        let needle = make_with_title(app, &token, "needle").await;
        for sort in ["-created_at", "created_at", "-clicks", "clicks"] {
            let pages = all_pages(app, &token, &format!("/urls/my?q=NEEDLE&sort={sort}&limit=5")).await;
            assert_eq!(pages.concat(), [&*needle], "{sort}");
            assert!(pages.len() <= 9, "{sort}: {pages:?}");
        }
    }

    async fn a_search_in_very_many_links_comes_in_short_pages_and_finds_all(app) {
        let token = app.register().await;
        let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
        app.backend.execute(MANY, &me).await;
        let rare = ["bulk20007", "bulk10007", "bulk7"];
        for sort in ["-created_at", "created_at"] {
            let pages = all_pages(app, &token, &format!("/urls/my?q=0007&sort={sort}&limit=100")).await;
            let mut codes = pages.concat();
            codes.sort();
            assert_eq!(codes, ["bulk10007", "bulk20007"], "{sort}");
        }
        assert_eq!(found(app, &token, &[("q", "ulk20007")]).await, [rare[0]]);
        let tail = found(app, &token, &[("q", "bulk7"), ("sort", "created_at")]).await;
        assert_eq!(tail.first().map(String::as_str), Some("bulk7"));
        assert_eq!(tail.len(), 1 + 10 + 100 + 1_000);
        let whole = found(app, &token, &[("status", "active"), ("sort", "-clicks")]).await;
        assert_eq!(whole.len(), 25_000);
    }
}
