//! The pages of hooks.

use super::browser::{Browser, leads_to};
use crate::support::{Response, both_modes};

const PATH: &str = "/app/hooks";

/// Sends the form of a new hook, as a page shows it while the newest hook has this number.
async fn send(browser: &mut Browser<'_>, newest: &str, fields: &[(&str, &str)]) -> Response {
    let fields = [fields, &[("newest", newest)]].concat();
    browser.send(PATH, PATH, &fields).await
}

/// Makes a hook; returns its page, and the secret.
async fn made(browser: &mut Browser<'_>, newest: &str, url: &str) -> (String, String) {
    let made = send(browser, newest, &[("url", url), ("type", "link.created")]).await;
    assert_eq!(made.status, 200, "{made:?}");
    let secret = made.text.split("<code>").nth(1).unwrap();
    let secret = secret.split('<').next().unwrap();
    let page = made.text.split("href=\"/app/hooks/").nth(1).unwrap();
    let page = format!("{PATH}/{}", page.split('"').next().unwrap());
    (page, secret.to_owned())
}

fn has(page: &Response, texts: &[&str]) {
    for text in texts {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
}

/// The page of a hook once its receiver has taken nothing.
async fn once_failing(browser: &mut Browser<'_>, page: &str) -> Response {
    for _ in 0..1_000 {
        let shown = browser.get(page).await;
        if shown.text.contains("Has taken nothing since") {
            return shown;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{page} never says that nothing was taken");
}

both_modes! {
    with &[("HOOK_TARGETS", "private")];

    async fn a_hook_is_made_on_a_page_and_its_secret_is_shown_once(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        has(&browser.get("/app/account").await, &["href=\"/app/hooks\""]);
        let page = browser.get(PATH).await;
        assert_eq!(page.text.matches(" name=\"type\" value=").count(), 9);
        let (page, secret) = made(&mut browser, "0", "example.org/in").await;
        assert!(secret.starts_with("whsec_"), "{secret}");
        let list = browser.get(PATH).await;
        has(&list, &["<bdi>https://example.org/in</bdi>", ">on</span>"]);
        let shown = browser.get(&page).await;
        has(&shown, &["value=\"https://example.org/in\"", "value=\"link.created\" checked", "Nothing was sent yet."]);
        assert!(!shown.text.contains(&secret) && !list.text.contains(&secret));
        // The same form makes no second hook.
        let again = send(&mut browser, "0", &[("url", "https://example.org/in"), ("type", "clicks")]).await;
        assert_eq!(again.status, 400);
        has(&again, &["Another hook was created meanwhile", "value=\"clicks\" checked"]);
        assert_eq!(browser.get(PATH).await.text.matches("class=\"code\"").count(), 1);
    }

    async fn a_form_of_a_hook_that_is_refused_says_why_and_keeps_what_was_entered(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        for (field, value, why) in [
            ("url", "ftp://example.org/", "Enter a complete address that begins with http:// or https://"),
            ("url", "https://a:b@example.org/", "The address must not contain a user name or a password."),
            ("type", "none", "Tick at least one kind of event."),
        ] {
            let mut fields = vec![("url", "https://example.org/kept"), ("type", "clicks"), ("tags", "spring, summer")];
            fields.retain(|(name, _)| *name != field);
            fields.push((field, value));
            let refused = send(&mut browser, "0", &fields).await;
            assert_eq!(refused.status, 422, "{refused:?}");
            has(&refused, &[why, "value=\"spring, summer\""]);
            if field == "url" {
                has(&refused, &[&format!("value=\"{value}\""), "value=\"clicks\" checked", "aria-invalid=\"true\""]);
            } else {
                has(&refused, &["value=\"https://example.org/kept\""]);
            }
        }
        let tags = ["a"; 51].concat();
        let fields = [("url", "https://example.org/kept"), ("type", "clicks"), ("tags", &*tags)];
        let refused = send(&mut browser, "0", &fields).await;
        has(&refused, &["id=\"tags-fault\""]);
    }

    async fn a_hook_is_changed_switched_off_and_on_and_gets_another_secret(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let (page, secret) = made(&mut browser, "0", "http://127.0.0.1:1/in").await;
        let off = browser.send(&page, &page, &[("action", "off")]).await;
        leads_to(&off, &format!("{page}?done=off"));
        has(&browser.get(&format!("{page}?done=off")).await, &["The hook is off.", ">off</span>", "value=\"on\""]);
        let fields = [("action", "save"), ("url", "http://127.0.0.1:1/out"), ("type", "clicks"), ("type", "hook.off"), ("tags", "spring,summer")];
        leads_to(&browser.send(&page, &page, &fields).await, &format!("{page}?done=saved"));
        has(&browser.get(&page).await, &["<h1><bdi>http://127.0.0.1:1/out</bdi></h1>", "value=\"clicks\" checked", "value=\"spring, summer\"", ">off</span>"]);
        let fields = [("action", "save"), ("url", "mailto:a@example.org"), ("type", "clicks")];
        let refused = browser.send(&page, &page, &fields).await;
        assert_eq!(refused.status, 422);
        has(&refused, &["value=\"mailto:a@example.org\"", "id=\"url-fault\""]);
        leads_to(&browser.send(&page, &page, &[("action", "on")]).await, &format!("{page}?done=on"));
        has(&browser.get(&page).await, &[">on</span>"]);
        let anew = browser.send(&page, &page, &[("action", "secret")]).await;
        has(&anew, &["whsec_", "The former secret signs, too, for one more day."]);
        assert!(!anew.text.contains(&secret));
        let fields = [("action", "replay"), ("after", "no event")];
        let refused = browser.send(&page, &page, &fields).await;
        assert_eq!(refused.status, 422);
        has(&refused, &["value=\"no event\"", "Enter the id of an event exactly as it was sent."]);
    }

    async fn the_page_of_a_hook_shows_what_waits_and_sends_it_again(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        // Nothing listens there.
        let (page, _) = made(&mut browser, "0", "http://127.0.0.1:1/in").await;
        browser.make(&[("target_url", "https://example.org/")]).await;
        let shown = once_failing(&mut browser, &page).await;
        has(&shown, &["1 event waits", "A link was created", "The receiver cannot be reached", "1 attempt"]);
        let event = shown.text.split("form=\"again\" name=\"after\" value=\"").nth(1).unwrap();
        let event = event.split('"').next().unwrap();
        let again = browser.send(&page, &page, &[("action", "replay"), ("after", event)]).await;
        leads_to(&again, &format!("{page}?done=replayed"));
        let older = browser.get(&format!("{page}?before=1")).await;
        has(&older, &["Nothing was sent yet.", "First page"]);
    }

    async fn a_hook_is_deleted_and_no_other_account_finds_it(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let (page, _) = made(&mut browser, "0", "https://example.org/in").await;
        let mut stranger = Browser::new(app);
        stranger.sign_up().await;
        let question = format!("{page}/delete");
        for path in [&page, &question] {
            assert_eq!(stranger.get(path).await.status, 404, "{path}");
        }
        for action in ["off", "save", "secret", "replay"] {
            let fields = [("action", action), ("url", "https://example.org/"), ("type", "clicks"), ("after", "000000000.0")];
            assert_eq!(stranger.send(PATH, &page, &fields).await.status, 404, "{action}");
        }
        assert_eq!(stranger.send(PATH, &question, &[]).await.status, 404);
        assert!(!stranger.get(PATH).await.text.contains("example.org/in"));
        has(&browser.get(&question).await, &["Delete the hook https://example.org/in?"]);
        leads_to(&browser.send(&question, &question, &[]).await, "/app/hooks?done=deleted");
        has(&browser.get("/app/hooks?done=deleted").await, &["The hook is deleted."]);
        assert_eq!(browser.get(&page).await.status, 404);
    }
}
