//! The page of a link's rules: sentences, moves, changes, and trials.

use super::browser::{Browser, leads_to, token};
use crate::support::both_modes;

/// The revision in the page's forms.
fn revision(page: &str) -> String {
    let at = page.find("name=\"revision\" value=\"").expect(page);
    page[at..].split('"').nth(3).unwrap().to_owned()
}

/// Sends a form of the page in its newest state, as a browser without a script does.
async fn sent(browser: &mut Browser<'_>, code: &str, fields: &[(&str, &str)]) {
    let path = format!("/app/links/{code}/rules");
    let page = browser.get(&path).await.text;
    let revision = revision(&page);
    let mut all = vec![("revision", &*revision)];
    all.extend(fields);
    let changed = browser.send_with(&token(&page), &path, &all, &[]).await;
    leads_to(&changed, &format!("{path}?saved=1"));
}

both_modes! {
    async fn rules_are_added_changed_moved_and_removed_without_a_script(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let path = format!("/app/links/{code}/rules");
        assert!(browser.get(&path).await.text.contains("This link has no rules."));
        let phone = [
            ("action", "save"), ("device", "phone"), ("device", "tablet"), ("language", "de, fr"), ("after", "2020-05-01T00:00"),
            ("targets", "https://example.org/app"), ("name", "app"),
        ];
        sent(&mut browser, &code, &phone).await;
        let split = [("action", "save"), ("query", "utm_source=flyer"), ("targets", "3 https://example.org/a blue\r\n1 https://example.org/b"), ("sticky", "on")];
        sent(&mut browser, &code, &split).await;
        let page = browser.get(&path).await.text;
        for text in [
            "<strong>On a phone or a tablet, reading German or French, from 1 May 2020:</strong> <span class=\"tag\"><bdi>app</bdi></span>",
            "75% to https://example.org/a, 25% to https://example.org/b, the same all day for each visitor",
            "aria-label=\"Move rule 2 up\"", "aria-label=\"Move rule 1 down\"", "aria-label=\"Edit rule 1\"", "aria-label=\"Remove rule 2\"",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        let own = browser.get(&format!("/app/links/{code}")).await.text;
        assert!(own.contains(&format!("<a href=\"{path}\">2 rules</a>")), "{own}");
        sent(&mut browser, &code, &[("action", "up"), ("place", "2")]).await;
        let page = browser.get(&path).await.text;
        assert!(page.find("75% to") < page.find("reading German"), "{page}");
        let form = browser.get(&format!("{path}?edit=1")).await.text;
        for text in ["Edit rule 1", "\n3 https://example.org/a blue\n1 https://example.org/b</textarea>", "name=\"sticky\" checked", "\nutm_source=flyer</textarea>"] {
            assert!(form.contains(text), "{text}: {form}");
        }
        sent(&mut browser, &code, &[("action", "save"), ("place", "1"), ("targets", "https://example.org/all?utm=1"), ("query", "x")]).await;
        assert_eq!(app.get(&format!("/{code}?x=1")).await.header("location"), "https://example.org/all?utm=1");
        sent(&mut browser, &code, &[("action", "down"), ("place", "1")]).await;
        sent(&mut browser, &code, &[("action", "remove"), ("place", "1")]).await;
        let page = browser.get(&path).await.text;
        assert!(!page.contains("reading German") && page.contains("https://example.org/all?utm=1"), "{page}");
        sent(&mut browser, &code, &[("action", "remove"), ("place", "1")]).await;
        assert!(browser.get(&path).await.text.contains("This link has no rules."));
    }

    async fn a_refused_rule_is_said_and_nothing_typed_is_lost(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let path = format!("/app/links/{code}/rules");
        let page = browser.get(&path).await.text;
        let (csrf, revision) = (token(&page), revision(&page));
        let typed = [("revision", &*revision), ("action", "save"), ("os", "CP/M"), ("targets", "https://example.org/app"), ("name", "<b>")];
        let refused = browser.send_with(&csrf, &path, &typed, &[]).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        for text in ["Rule 1: Enter a system that this service knows, such as Android.", "value=\"CP/M\"", "value=\"&#60;b&#62;\"", "\nhttps://example.org/app</textarea>"] {
            assert!(refused.text.contains(text), "{text}: {}", refused.text);
        }
        let edited = browser.send(&path, &format!("/app/links/{code}/edit"), &[("target_url", "https://example.org/other"), ("is_active", "on"), ("revision", &revision)]).await;
        assert_eq!(edited.status, 303, "{edited:?}");
        let good = [("revision", &*revision), ("action", "save"), ("targets", "https://example.org/app")];
        let late = browser.send_with(&csrf, &path, &good, &[]).await;
        assert_eq!(late.status, 412, "{late:?}");
        assert!(late.text.contains("The link was changed meanwhile"), "{}", late.text);
    }

    async fn a_visitor_is_tried_against_the_rules(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/usual")]).await;
        sent(&mut browser, &code, &[("action", "save"), ("device", "phone"), ("language", "es"), ("query", "a=b"), ("targets", "https://example.org/app"), ("name", "app")]).await;
        sent(&mut browser, &code, &[("action", "save"), ("before", "2020-01-01T00:00"), ("targets", "https://example.org/early")]).await;
        let path = format!("/app/links/{code}/rules?try=1");
        for (visitor, outcome) in [
            ("&device=phone&language=es-MX&query=a%3Db", "This visitor meets rule 1 (\u{201c}app\u{201d}), and is sent to: <bdi dir=\"ltr\">https://example.org/app</bdi>"),
            ("&device=phone&language=de&query=a%3Db", "This visitor meets no rule, and is sent to the target: <bdi dir=\"ltr\">https://example.org/usual</bdi>"),
            ("&time=2019-12-31T23%3A59", "This visitor meets rule 2, and is sent to: <bdi dir=\"ltr\">https://example.org/early</bdi>"),
            ("&time=never", "Enter a date and a time, such as 2027-01-31 18:00."),
        ] {
            let page = browser.get(&format!("{path}{visitor}")).await.text;
            assert!(page.contains(outcome), "{visitor}: {page}");
        }
        assert_eq!(app.clicks(&code).await, 0);
        let mut other = Browser::new(app);
        other.sign_up().await;
        assert_eq!(other.get(&format!("/app/links/{code}/rules")).await.status, 404);
    }
}
