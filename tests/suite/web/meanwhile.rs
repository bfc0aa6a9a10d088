//! What happens to links while a page is open, what is undone, and what is sent twice.

use reqwest::Method;
use url::form_urlencoded;

use super::browser::{Browser, leads_to, token};
use super::list::{make_many, token_of};
use crate::support::{Response, both_modes, unique};

/// The value of a hidden field of a page.
fn hidden<'a>(page: &'a str, name: &str) -> &'a str {
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
    field.expect(page).split('"').next().unwrap()
}

both_modes! {
    async fn an_edit_shows_what_another_window_saved_meanwhile(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("title", "Old"), ("tags", "one")]).await;
        let edit = format!("/app/links/{code}/edit");
        let revision = hidden(&browser.get(&edit).await.text, "revision").to_owned();
        let save = |title, tags| [("target_url", "https://example.org/"), ("title", title), ("tags", tags), ("is_active", "on"), ("revision", revision.as_str())];
        assert_eq!(browser.send(&edit, &edit, &save("New", "one")).await.status, 303);
        let late = browser.send(&edit, &edit, &save("Old", "two")).await;
        assert_eq!(late.status, 412);
        for shown in ["Saved meanwhile: <bdi>New</bdi>", "Saved meanwhile: <bdi>one</bdi>", "value=\"two\""] {
            assert!(late.text.contains(shown), "{shown}: {}", late.text);
        }
        assert!(!late.text.contains("id=\"target_url-meanwhile\""), "the target is the same: {}", late.text);
        assert!(browser.get(&edit).await.text.contains("value=\"New\""), "nothing was saved");
    }

    async fn what_was_entered_for_a_link_that_is_gone_may_become_a_new_link(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let edit = format!("/app/links/{code}/edit");
        let page = browser.get(&edit).await.text;
        browser.send("/app", "/app/links/selected", &[("action", "delete"), ("code", &code)]).await;
        let fields = [("target_url", "https://example.org/kept"), ("title", "Kept"), ("revision", hidden(&page, "revision"))];
        let late = browser.send_with(&token(&page), &edit, &fields, &[]).await;
        assert_eq!(late.status, 404);
        for shown in ["This link was deleted meanwhile.", "value=\"https://example.org/kept\"", "value=\"Kept\"", "action=\"/app/links\""] {
            assert!(late.text.contains(shown), "{shown}: {}", late.text);
        }
    }

    async fn all_deletions_of_one_question_are_undone_together(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let api = token_of(app, &email).await;
        let before = browser.make(&[("target_url", "https://example.org/before")]).await;
        browser.send("/app", "/app/links/selected", &[("action", "delete"), ("code", &before)]).await;
        make_many(app, &api, 60).await;
        let every = [("every", "yes"), ("place", "q=example.org"), ("action", "delete")];
        let deleted = browser.send("/app", "/app/links/selected", &every).await;
        let path = deleted.header("location").to_owned();
        assert!(path.starts_with("/app?q=example.org&done=deleted&n=60&since="), "{path}");
        let page = browser.get(&path).await.text;
        assert!(page.contains("action=\"/app/trash/restore\"") && page.contains(">Undo</button>"), "{page}");
        let undo = [("since", hidden(&page, "since")), ("until", hidden(&page, "until")), ("place", "q=example.org")];
        let restored = browser.send(&path, "/app/trash/restore", &undo).await;
        leads_to(&restored, "/app?q=example.org&done=restored&n=60");
        assert!(browser.get("/app").await.text.contains("1 to 25 of 60"));
        let bin = browser.get("/app/trash").await.text;
        assert!(bin.contains(&before), "an earlier deletion stays: {bin}");
        let wrong = browser.send("/app", "/app/trash/restore", &[("since", "soon"), ("until", "")]).await;
        assert_eq!(wrong.status, 422);
    }

    async fn the_form_of_a_key_that_is_sent_twice_makes_one_key_and_keeps_what_was_entered(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let fields = [("name", "nightly"), ("scope", "write"), ("expires_at", "2099-01-31T18:00")];
        assert_eq!(browser.send("/app/account", "/app/account/keys", &fields).await.status, 200);
        let again = browser.send("/app/account", "/app/account/keys", &fields).await;
        assert_eq!(again.status, 422);
        for shown in ["Another key has this name.", "value=\"nightly\"", "<option value=\"write\" selected>", "value=\"2099-01-31T18:00\""] {
            assert!(again.text.contains(shown), "{shown}: {}", again.text);
        }
        assert_eq!(again.text.matches("<bdi>nightly</bdi>").count(), 1);
    }

    async fn an_error_below_app_has_the_menu_and_the_language_of_the_account(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        browser.send("/app/account", "/app/account/language", &[("language", "de")]).await;
        let missing = browser.get(&format!("/app/links/x-{}", unique())).await;
        assert_eq!(missing.status, 404);
        for shown in ["<html lang=\"de\">", "action=\"/app/logout\"", "href=\"/app/account\""] {
            assert!(missing.text.contains(shown), "{shown}: {}", missing.text);
        }
        let json = app.request(Method::GET, "/app/links/x--").header("cookie", format!("shunt_session={}", browser.cookies["shunt_session"]));
        assert!(!Response::of(json).await.text.contains("<html"), "a program gets no page");
    }

    async fn pages_for_visitors_know_the_language_of_the_account_until_it_signs_out(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        assert!(browser.get("/").await.text.contains("href=\"/app\">Your links</a>"));
        browser.send("/app/account", "/app/account/language", &[("language", "es")]).await;
        for path in ["/", &format!("/{code}+"), &format!("/app/report/{code}")] {
            assert!(browser.get(path).await.text.contains("<html lang=\"es\">"), "{path}");
        }
        browser.send("/app", "/app/logout", &[]).await;
        let start = browser.get("/").await.text;
        assert!(start.contains("<html lang=\"en\">") && start.contains("href=\"/app/login\">"), "{start}");
        let mut other = Browser::new(app);
        let signed_in = other.send("/app/login", "/app/login", &[("email", &email), ("password", "correct horse")]).await;
        assert_eq!(signed_in.status, 303);
        assert!(other.get("/").await.text.contains("<html lang=\"es\">"));
    }

    async fn a_link_is_found_by_its_path_and_by_both_ways_to_write_a_letter(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = format!("tour-{}", unique());
        browser.make(&[("target_url", "https://example.org/Straße/9"), ("custom_code", &code), ("title", "Große Tour")]).await;
        browser.make(&[("target_url", "https://example.net/")]).await;
        for q in [format!("/{code}"), "grosse".into(), "GROSSE tour".into(), "/9".into()] {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", &q).finish();
            let page = browser.get(&format!("/app?{query}")).await.text;
            assert!(page.contains("Große Tour") && !page.contains("example.net"), "{q}: {page}");
        }
    }

    async fn what_is_wrong_in_a_file_or_in_an_address_is_said_in_the_language_of_the_account(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        browser.send("/app/account", "/app/account/language", &[("language", "de")]).await;
        for (from, table, said) in [
            ("csv", "target_url,title\nhttps://example.org/,a,b\n", "<td>2</td><td><bdi></bdi></td><td><bdi>https://example.org/</bdi></td><td><bdi>a</bdi></td><td><span class=\"refusal\">Diese Zeile hat 3 Zellen, die erste Zeile nennt aber nur 2 Spalten."),
            ("csv", "target_url\n\"https://example.org/", "Das Anführungszeichen, das hier beginnt, wird nie geschlossen."),
            ("kutt", "[{]", "das kein gültiges JSON"),
            ("csv", "target_url,is_active\nhttps://example.org/,perhaps\n", "is_active: Schreiben Sie true oder false."),
        ] {
            let refused = browser.send("/app/import", "/app/import", &[("from", from), ("table", table), ("action", "check")]).await;
            assert!(refused.text.contains(said), "{said}: {}", refused.text);
        }
        for (query, said) in [("status=odd", "Diesen Zustand"), ("sort=odd", "Wählen Sie eine Reihenfolge"), ("cursor=odd", "zu keinem Teil der Liste")] {
            let refused = browser.get(&format!("/app?{query}")).await;
            assert_eq!(refused.status, 422, "{query}");
            assert!(refused.text.contains(said), "{query}: {}", refused.text);
        }
    }
}
