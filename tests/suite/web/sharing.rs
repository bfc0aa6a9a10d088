//! Links from elsewhere: the filled form, the bookmarklet, `ShareX`, and the manifest.

use reqwest::Method;
use serde_json::{Value, json};

use super::browser::Browser;
use crate::support::{Response, both_modes};

const FILLED: &str = "/app/links/new?target_url=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc%26d&title=A+%3Cb%3Etitle&custom_code=spring-sale&tags=print%2C+spring";

/// Whether a page has a field with this value, as HTML writes it.
fn has(page: &str, name: &str, value: &str) -> bool {
    let field = page
        .split(&format!("name=\"{name}\""))
        .nth(1)
        .unwrap_or_default();
    field
        .split('>')
        .next()
        .unwrap()
        .contains(&format!("value=\"{value}\""))
}

both_modes! {
    async fn an_address_fills_the_form_of_a_new_link_and_makes_nothing(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let page = browser.get(FILLED).await;
        assert_eq!(page.status, 200);
        for (name, value) in [
            ("target_url", "https://example.org/a?b=c&#38;d"), ("title", "A &#60;b&#62;title"),
            ("custom_code", "spring-sale"), ("tags", "print, spring"),
        ] {
            assert!(has(&page.text, name, value), "{name}: {}", page.text);
        }
        assert!(browser.get("/app").await.text.contains("No links yet"));
        let plain = browser.get("/app/links/new?utm_source=elsewhere").await;
        assert_eq!(plain.status, 200, "parameters that the form does not have are left aside");
    }

    async fn a_visitor_who_is_signed_out_comes_back_to_the_filled_form(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        browser.send("/app", "/app/logout", &[]).await;
        let led = browser.get(FILLED).await;
        let path = led.header("location").to_owned();
        assert!(path.starts_with("/app/login?next="), "{path}");
        let page = browser.get(&path).await.text;
        let next = page.split("name=\"next\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let next = next.replace("&#38;", "&");
        let fields = [("email", email.as_str()), ("password", "correct horse"), ("next", &next)];
        let signed_in = browser.send(&path, "/app/login", &fields).await;
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        let page = browser.get(signed_in.header("location")).await.text;
        assert!(has(&page, "custom_code", "spring-sale") && has(&page, "tags", "print, spring"), "{page}");
    }

    async fn an_address_that_an_app_shares_as_text_is_the_target(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let shared = "/app/links/new?title=A+title&text=A+title+https%3A%2F%2Fexample.org%2Fa&target_url=";
        let page = browser.get(shared).await.text;
        assert!(has(&page, "target_url", "https://example.org/a"), "{page}");
    }

    async fn the_manifest_names_the_form_as_the_target_of_shares(app) {
        let manifest = app.get("/app/manifest.webmanifest").await;
        assert_eq!(manifest.status, 200);
        assert_eq!(manifest.header("content-type"), "application/manifest+json");
        let manifest = manifest.json();
        let target = &manifest["share_target"];
        assert_eq!((&target["action"], &target["method"]), (&json!("/app/links/new"), &json!("GET")));
        assert_eq!(target["params"], json!({ "title": "title", "text": "text", "url": "target_url" }));
        let icon = manifest["icons"][0]["src"].as_str().unwrap();
        assert_eq!(app.get(icon).await.status, 200);
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let page = browser.get("/app/account").await;
        assert!(page.text.contains("<link rel=\"manifest\" href=\"/app/manifest.webmanifest\">"));
        let policy = page.header("content-security-policy");
        assert!(policy.contains("manifest-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert!(page.text.contains("href=\"javascript:void(open(&#39;http"), "{}", page.text);
    }

    async fn the_file_for_sharex_has_a_fresh_key_that_only_creates_links(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let file = browser.send("/app/account", "/app/account/sharex", &[]).await;
        assert_eq!(file.status, 200, "{file:?}");
        assert_eq!(file.header("content-disposition"), "attachment; filename=\"shunt.sxcu\"");
        let uploader: Value = file.json();
        assert_eq!(uploader["DestinationType"], "URLShortener");
        let key = uploader["Headers"]["Authorization"].as_str().unwrap().strip_prefix("Bearer ").unwrap();
        assert!(key.starts_with("shunt_c"), "{key}");
        // As ShareX sends it.
        let url = uploader["RequestURL"].as_str().unwrap();
        let path = &url[url.find("/urls/").unwrap()..];
        let body = uploader["Data"].as_str().unwrap().replace("{input}", "https://example.org/a");
        let request = app.request(Method::POST, path).bearer_auth(key).header("content-type", "application/json");
        let made = Response::of(request.body(body)).await.json();
        let code = made["short_code"].as_str().unwrap();
        let short_url = uploader["URL"].as_str().unwrap().replace("{json:short_code}", code);
        assert!(short_url.ends_with(&format!("/{code}")), "{short_url}");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let page = browser.get("/app/account").await.text;
        assert!(page.contains("ShareX</bdi>") && page.contains("<td>Only create links") && !page.contains(key), "{page}");
    }

    async fn the_file_for_sharex_needs_a_form_of_the_page(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        assert_eq!(browser.get("/app/account/sharex").await.status, 405);
        let token = "0123456789abcdef0123456789abcdef";
        let refused = browser.send_with(token, "/app/account/sharex", &[], &[]).await;
        assert_eq!(refused.status, 403);
        assert!(!browser.get("/app/account").await.text.contains("<bdi>ShareX"), "no key was made");
    }
}
