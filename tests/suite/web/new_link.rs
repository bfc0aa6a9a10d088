//! The form of a new link: its note, its code, and the parameters of a campaign, which become a part of its target.

use super::browser::Browser;
use crate::support::both_modes;

both_modes! {
    async fn the_parameters_of_a_campaign_are_added_to_the_target_of_a_new_link(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let page = browser.get("/app/links/new").await.text;
        assert!(page.contains("<details class=\"field\"><summary>Campaign parameters (UTM)"), "{page}");
        for (target, fields, expected) in [
            ("https://example.org/", vec![], "https://example.org/"),
            ("https://example.org/?utm_source=old", vec![("utm_source", "")], "https://example.org/?utm_source=old"),
            (
                "https://example.org/p?utm_source=old&a=1#part",
                vec![("utm_source", "news letter"), ("utm_medium", " email "), ("utm_campaign", "a&b"), ("utm_term", "x"), ("utm_content", "é")],
                "https://example.org/p?a=1&utm_source=news%20letter&utm_medium=email&utm_campaign=a%26b&utm_term=x&utm_content=%C3%A9#part",
            ),
        ] {
            let mut sent = vec![("target_url", target)];
            sent.extend(fields);
            let code = browser.make(&sent).await;
            assert_eq!(app.get(&format!("/{code}")).await.header("location"), expected);
        }
    }

    async fn a_refused_parameter_is_seen_at_its_field_and_nothing_typed_is_lost(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let (long, path) = ("x".repeat(201), format!("https://example.org/{}", "x".repeat(2_000)));
        let typed = "https://example.org/?a=1";
        for (target, term, fault) in [
            (typed, long.as_str(), "id=\"utm_term-fault\">This is too long: at most 200 characters fit."),
            (typed, "a\u{7}b", "id=\"utm_term-fault\">There are control characters in it."),
            (&path, "sale", "id=\"target_url-fault\">The address is too long with the campaign’s parameters: at most 2,048 bytes fit."),
            ("nowhere", "sale", "id=\"target_url-fault\">Enter a complete web address"),
        ] {
            let sent = [("target_url", target), ("utm_source", "news \"letter\""), ("utm_term", term), ("note", "one\r\ntwo"), ("noindex", "on")];
            let refused = browser.send("/app/links/new", "/app/links", &sent).await;
            assert_eq!(refused.status, 422, "{refused:?}");
            let target = format!("name=\"target_url\" type=\"text\" value=\"{target}\"");
            for text in [fault, &target, "<details class=\"field\" open>", "value=\"news &#34;letter&#34;\"", "one\r\ntwo</textarea>", "name=\"noindex\" checked"] {
                assert!(refused.text.contains(text), "{text}: {}", refused.text);
            }
        }
        assert!(browser.get("/app").await.text.contains("No links yet"));
        // The short form leads to the long one with what was entered.
        let more = browser.send("/app", "/app/links/new", &[("target_url", typed), ("utm_source", "mail")]).await;
        assert!(more.text.contains("name=\"utm_source\" type=\"text\" value=\"mail\""), "{more:?}");
    }

    async fn a_note_of_any_script_has_room_in_the_form_and_is_on_the_links_page(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let note = "\u{1f600}".repeat(1_990);
        let code = browser.make(&[("target_url", "https://example.org/"), ("note", &format!("<b>\r\n{note}")), ("noindex", "on")]).await;
        let page = browser.get(&format!("/app/links/{code}")).await.text;
        assert!(page.contains(&format!("<p class=\"said\" dir=\"auto\">&#60;b&#62;\n{note}</p>")), "{page}");
        let path = format!("/app/links/{code}/edit");
        let page = browser.get(&path).await.text;
        assert!(page.contains(&format!("\n&#60;b&#62;\n{note}</textarea>")) && page.contains("name=\"noindex\" checked"), "{page}");
        let found = browser.get("/app?q=%3Cb%3E").await.text;
        assert!(found.contains(&format!("/app/links/{code}")), "{found}");
        let too_long = [("target_url", "https://example.org/"), ("note", &*"x".repeat(2_001))];
        let refused = browser.send("/app/links/new", "/app/links", &too_long).await;
        assert!(refused.text.contains("id=\"note-fault\">This is too long: at most 2,000 characters fit."), "{refused:?}");
        let revision = page.split("name=\"revision\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let cleared = browser.send(&path, &path, &[("target_url", "https://example.org/"), ("is_active", "on"), ("revision", revision)]).await;
        assert_eq!(cleared.status, 303, "{cleared:?}");
        let page = browser.get(&path).await.text + &browser.get(&format!("/app/links/{code}")).await.text;
        assert!(!page.contains("class=\"said\"") && !page.contains("name=\"noindex\" checked"), "{page}");
    }

    async fn the_form_says_how_short_a_code_may_be(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let page = browser.get("/app/links/new").await.text;
        assert!(page.contains("4 to 64 characters") && page.contains("minlength=4"), "{page}");
        let short = [("target_url", "https://example.org/"), ("custom_code", "x")];
        let refused = browser.send("/app/links/new", "/app/links", &short).await;
        assert!(refused.text.contains("id=\"custom_code-fault\">Use at least 4 characters."), "{refused:?}");
        app.backend.execute(crate::suite::abuse::GRANT, &email).await;
        let page = browser.get("/app/links/new").await.text;
        assert!(page.contains("1 to 64 characters") && page.contains("minlength=1"), "{page}");
        assert_eq!(browser.make(&short).await, "x");
    }

    async fn a_code_of_a_link_in_the_own_bin_is_not_taken_from_it_unasked(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let sale = [("target_url", "https://example.org/sale"), ("custom_code", "sale")];
        let code = browser.make(&sale).await;
        let delete = format!("/app/links/{code}/delete");
        assert_eq!(browser.send(&delete, &delete, &[]).await.status, 303);
        let refused = browser.send("/app/links/new", "/app/links", &sale).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.text.contains("id=\"custom_code-fault\">A link in your bin has this code."), "{refused:?}");
        let end = format!("/app/trash/{code}/delete");
        assert_eq!(browser.send("/app/trash", &end, &[]).await.status, 303);
        assert_eq!(browser.make(&sale).await, "sale");
    }
}
