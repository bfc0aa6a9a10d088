//! Forms of owners that are refused, or whose session has ended: what was entered stays, and the page says why.

use super::browser::{Browser, leads_to, token};
use crate::support::both_modes;

both_modes! {
    async fn links_that_cannot_be_tagged_stay_selected_and_the_page_says_why(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let other = browser.make(&[("target_url", "https://example.org/other")]).await;
        let long = "x".repeat(51);
        for (tag, fault) in [(long.as_str(), "Each may have at most 50 characters."), (" , ", "Enter at least one tag.")] {
            let fields = [("action", "tag"), ("tag", tag), ("code", &code), ("place", "sort=created_at")];
            let refused = browser.send("/app", "/app/links/selected", &fields).await;
            assert_eq!(refused.status, 422, "{refused:?}");
            assert!(refused.text.contains(fault), "{refused:?}");
            assert!(refused.text.contains(&format!("value=\"{code}\" checked")), "{refused:?}");
            assert!(!refused.text.contains(&format!("value=\"{other}\" checked")), "{refused:?}");
            assert!(refused.text.contains(&format!("name=\"tag\" value=\"{tag}\"")), "{refused:?}");
            assert!(refused.text.contains("value=\"created_at\" selected"), "the list keeps its place");
        }
    }

    async fn a_form_whose_session_has_ended_leads_back_to_its_page_after_signing_in(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let csrf = token(&browser.get("/app/links/new").await.text);
        browser.cookies.remove("shunt_session");
        let fields = [("target_url", "https://example.org/")];
        for (page, path) in [
            ("https://sho.rt/app/links/new", "/app/login?next=%2Fapp%2Flinks%2Fnew&ended=yes"),
            ("https://sho.rt/app", "/app/login?ended=yes"),
            ("https://evil.example/elsewhere", "/app/login"),
            ("https://evil.example/app//evil.example", "/app/login"),
            ("nonsense", "/app/login"),
        ] {
            let sent = browser.send_with(&csrf, "/app/links", &fields, &[("referer", page)]).await;
            leads_to(&sent, path);
        }
        let signed_out = browser.send_with(&csrf, "/app/logout", &[], &[("referer", "https://sho.rt/app/account")]).await;
        leads_to(&signed_out, "/app/login");
        let page = browser.get("/app/login?next=%2Fapp%2Flinks%2Fnew&ended=yes").await.text;
        assert!(page.contains("Your session has ended, and nothing was changed."), "{page}");
        assert!(page.contains("name=\"next\" value=\"/app/links/new\""), "{page}");
        assert!(!browser.get("/app/login").await.text.contains("Your session has ended"));
    }

    async fn windows_that_change_tags_at_once_lose_none(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let tags = |range: std::ops::Range<u8>| range.map(|number| format!("t{number}")).collect::<Vec<_>>();
        let code = browser.make(&[("target_url", "https://example.org/"), ("tags", &tags(0..5).join(","))]).await;
        let csrf = token(&browser.get("/app").await.text);
        let (added, removed) = (tags(5..15), tags(0..4));
        let windows = added.iter().map(|tag| ("tag", tag)).chain(removed.iter().map(|tag| ("untag", tag)));
        let windows = windows.map(|(action, tag)| {
            let fields = [("action", action), ("tag", tag.as_str()), ("code", code.as_str())];
            let mut window = Browser { app: browser.app, cookies: browser.cookies.clone() };
            let csrf = csrf.clone();
            async move {
                let sent = window.send_with(&csrf, "/app/links/selected", &fields, &[]).await;
                leads_to(&sent, if action == "tag" { "/app?done=tagged" } else { "/app?done=untagged" });
            }
        });
        futures_util::future::join_all(windows).await;
        let page = browser.get(&format!("/app/links/{code}/edit")).await.text;
        let field = page.split("name=\"tags\"").nth(1).unwrap().split("value=\"").nth(1).unwrap();
        let mut left: Vec<_> = field.split('"').next().unwrap().split(", ").collect();
        left.sort_unstable();
        let mut expected = tags(4..15);
        expected.sort_unstable();
        assert_eq!(left, expected);
    }

    async fn a_tag_that_one_link_has_no_room_for_is_added_to_none(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let twenty: Vec<_> = (0..20).map(|number| format!("t{number}")).collect();
        let full = browser.make(&[("target_url", "https://example.org/"), ("tags", &twenty.join(","))]).await;
        let mut fields = vec![("action", "tag"), ("tag", "one-more")];
        let mut others = Vec::new();
        for number in 0..12 {
            others.push(browser.make(&[("target_url", &format!("https://example.org/{number}"))]).await);
        }
        fields.extend(others.iter().map(|code| ("code", code.as_str())));
        fields.push(("code", &full));
        let refused = browser.send("/app", "/app/links/selected", &fields).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.text.contains(&format!("At most 20 are possible. Link {full} would have more; no link was changed.")), "{refused:?}");
        assert!(!browser.get("/app?tag=one-more").await.text.contains("class=\"code\""));
    }

    async fn a_form_of_an_earlier_session_comes_again_with_what_was_entered(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let path = format!("/app/links/{code}/edit");
        let earlier = token(&browser.get(&path).await.text);
        browser.cookies.remove("shunt_session");
        let fields = [("email", email.as_str()), ("password", "correct horse")];
        leads_to(&browser.send("/app/login", "/app/login", &fields).await, "/app");
        let sold = [("target_url", "https://example.org/sold"), ("title", "Sold \"out\"")];
        let tag = [("action", "tag"), ("tag", "Sold \"out\""), ("code", code.as_str())];
        let table = [("table", "target_url,title\nhttps://example.org/sold,\"Sold \"\"out\"\"\""), ("action", "make")];
        let places = [("/app/links", &sold[..]), (&path, &sold), ("/app/links/selected", &tag), ("/app/import", &table)];
        for (place, fields) in places {
            let again = browser.send_with(&earlier, place, fields, &[("sec-fetch-site", "same-origin")]).await;
            assert!(again.status == 403 || again.status == 422, "{again:?}");
            assert!(again.text.contains("nothing was changed"), "{place}: {again:?}");
            assert!(again.text.contains("Sold &#34;"), "{place}: {again:?}");
            assert_ne!(token(&again.text), earlier);
            let foreign = browser.send_with(&earlier, place, fields, &[("sec-fetch-site", "cross-site")]).await;
            assert_eq!(foreign.status, 403);
            assert!(!foreign.text.contains("Sold"), "what another site sent is not shown: {foreign:?}");
        }
        let list = browser.get("/app").await.text;
        assert_eq!(list.matches("class=\"code\"").count(), 1);
        assert!(!list.contains("Sold"), "{list}");
    }

    async fn a_visitor_who_is_signed_in_is_not_asked_to_sign_in_again(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        leads_to(&browser.get("/app/login").await, "/app");
        leads_to(&browser.get("/app/login?next=%2Fapp%2Faccount").await, "/app/account");
        leads_to(&browser.get("/app/login?next=%2F%2Fevil.example").await, "/app");
    }

    async fn signing_up_leads_to_the_page_that_was_asked_for(app) {
        let mut browser = Browser::new(app);
        let there = "/app/links/new?target_url=example.org%2Flong";
        leads_to(&browser.get(there).await, "/app/login?next=%2Fapp%2Flinks%2Fnew%3Ftarget_url%3Dexample.org%252Flong");
        let sign_in = browser.get("/app/login?next=%2Fapp%2Flinks%2Fnew%3Ftarget_url%3Dexample.org%252Flong").await.text;
        let sign_up = "/app/register?next=%2Fapp%2Flinks%2Fnew%3Ftarget_url%3Dexample.org%252Flong";
        assert!(sign_in.contains(&format!("href=\"{sign_up}\"")), "{sign_in}");
        let form = browser.get(sign_up).await.text;
        assert!(form.contains(&format!("name=\"next\" value=\"{there}\"")), "{form}");
        let fields = [("email", "new@example.com"), ("password", "correct horse"), ("next", there)];
        leads_to(&browser.send(sign_up, "/app/register", &fields).await, there);
    }

    async fn a_refused_range_keeps_what_was_entered_and_the_browsers_zone(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        browser.cookies.insert("shunt_tz".to_owned(), "Europe/Berlin".to_owned());
        let refused = browser.get("/app/all?interval=hour&from=2026-11-20&to=2026-11-01&tz=").await;
        assert_eq!(refused.status, 422);
        for text in ["value=\"hour\" selected", "name=\"from\" type=\"date\" value=\"2026-11-20\"",
            "name=\"to\" type=\"date\" value=\"2026-11-01\"", "name=\"tz\" value=\"Europe/Berlin\""] {
            assert!(refused.text.contains(text), "{text}: {refused:?}");
        }
        let refused = browser.get("/app/all?tz=Mars/Olympus").await;
        assert!(refused.text.contains("name=\"tz\" value=\"Mars/Olympus\""), "{refused:?}");
        assert!(refused.text.contains("Europe/Berlin\"></figure>") || refused.text.contains("Europe/Berlin&#34;,"), "{refused:?}");
    }

    async fn a_refused_change_is_seen_at_its_field_with_what_was_entered(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("title", "Own title")]).await;
        let path = format!("/app/links/{code}/edit");
        let fields = [("target_url", "https://example.org/"), ("title", "Not saved"), ("max_clicks", "0")];
        let refused = browser.send(&path, &path, &fields).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("name=\"title\" type=\"text\" value=\"Not saved\""), "{refused:?}");
        let focused = "aria-describedby=\"max_clicks-fault\" autofocus>";
        assert!(refused.text.contains(focused), "the browser goes to the fault: {refused:?}");
        let fields = [("target_url", "https://example.org/"), ("title", "Not saved"), ("revision", "old")];
        let stale = browser.send(&path, &path, &fields).await;
        assert_eq!(stale.status, 412);
        assert!(stale.text.contains("What you entered is below and not saved"), "{stale:?}");
        assert!(!stale.text.contains("If-Match"), "{stale:?}");
    }

    async fn a_refusal_without_a_page_of_its_own_says_why(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let table = format!("target_url\n{}", "https://example.org/a/b\n".repeat(90_000));
        let refused = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "check")]).await;
        assert_eq!(refused.status, 413);
        assert!(refused.text.contains("The body is larger than 2097152 bytes"), "{refused:?}");
        let refused = browser.get(&format!("/app/all?tag={}", "x".repeat(51))).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("Enter one tag of 1 to 50 characters"), "{refused:?}");
    }

    async fn a_links_page_says_first_where_it_leads_and_when_it_ends(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[
            ("target_url", "https://example.org/spring?a=1&b=2"), ("tags", "print, a&b"),
            ("max_clicks", "5000"), ("expires_at", "2099-01-31T18:00"),
        ]).await;
        app.get(&format!("/{code}")).await;
        let page = browser.get(&format!("/app/links/{code}")).await.text;
        let (head, _) = page.split_once("Clicks, last 30 days").unwrap();
        for text in ["<bdi>https://example.org/spring?a=1&#38;b=2</bdi>", "href=\"/app?tag=a%26b\"", "At most 5,000 clicks", "Ends 31 Jan 2099, 18:00", &format!("href=\"/app/links/{code}/edit\"")] {
            assert!(head.contains(text), "{text}: {head}");
        }
        let list = browser.get("/app").await.text;
        assert!(list.contains("1<span>click</span>"), "{list}");
    }

    async fn a_links_page_says_when_it_starts_and_where_visitors_go_meanwhile(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[
            ("target_url", "https://example.org/"), ("starts_at", "2099-01-31T18:00"), ("fallback_url", "https://example.org/later"),
        ]).await;
        let path = format!("/app/links/{code}");
        let page = browser.get(&path).await.text;
        for text in ["Starts 31 Jan 2099, 18:00", "<span class=\"state\">scheduled</span>", "Fallback: <bdi dir=\"ltr\">https://example.org/later</bdi>"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(browser.get("/app?status=scheduled").await.text.contains(&path));
        assert!(!browser.get("/app?status=active").await.text.contains(&path));
        let edit = format!("{path}/edit");
        let page = browser.get(&edit).await.text;
        let revision = page.split("name=\"revision\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let fields = [("target_url", "https://example.org/"), ("starts_at", ""), ("fallback_url", ""), ("is_active", "on"), ("revision", revision)];
        browser.send(&edit, &edit, &fields).await;
        let page = browser.get(&path).await.text;
        assert!(!page.contains("Fallback: <bdi") && !page.contains("scheduled</span>"), "{page}");
    }

    async fn a_later_part_of_the_list_leads_back_to_the_first(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let table = format!("target_url\n{}", "https://example.org/\n".repeat(26));
        browser.send("/app/import", "/app/import", &[("table", &table), ("action", "make")]).await;
        let first = browser.get("/app?sort=created_at").await.text;
        assert!(!first.contains("First page"), "{first}");
        let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        let second = browser.get(&next).await.text;
        assert!(second.contains("<a href=\"/app?sort=created_at\">First page</a>"), "{second}");
    }
}
