//! What one key or one click must not do on a page: each loss is asked about first, without JavaScript, too.

use reqwest::Method;
use serde_json::json;

use super::browser::{Browser, leads_to, token};
use crate::suite::abuse::{GRANT, admin, id_of, send};
use crate::support::{App, Mode, both_modes, eventually, with_app_and_settings};

/// The title of a page that asks a question.
fn title(page: &str) -> &str {
    let title = page.split("<h1><bdi>").nth(1).expect(page);
    title.split("</bdi>").next().unwrap()
}

/// The hidden fields of the form for the answer yes, without its token, and where it goes.
fn answer(page: &str) -> (String, Vec<(String, String)>) {
    let form = page.split("<main").nth(1).unwrap();
    let action = form.split("action=\"").nth(1).expect(form);
    let hidden = form.split("<input type=\"hidden\" name=\"").skip(1);
    let field = |field: &str| {
        let parts: Vec<_> = field.split('"').collect();
        (parts[0].to_owned(), parts[2].replace("&#38;", "&"))
    };
    let fields = hidden.map(field).filter(|(name, _)| name != "csrf");
    (
        action.split('"').next().unwrap().to_owned(),
        fields.collect(),
    )
}

async fn answer_yes(browser: &mut Browser<'_>, page: &str) -> crate::support::Response {
    let (action, fields) = answer(page);
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    browser.send_with(&token(page), &action, &fields, &[]).await
}

/// The first button of the form that has this action: the browser's choice when Enter is pressed in one of its fields.
fn default_button<'a>(page: &'a str, action: &str) -> &'a str {
    let form = page
        .split(&format!("action=\"{action}\""))
        .nth(1)
        .expect(page);
    let form = form.split("</form>").next().unwrap();
    let button = form
        .split("<button")
        .skip(1)
        // A button of another form sends nothing of this one.
        .find(|button| !button.contains("type=\"button\"") && !button.contains(" form=\""));
    button.unwrap().split("</button>").next().unwrap()
}

async fn visits(app: &App, code: &str, count: u64) {
    for _ in 0..count {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
}

both_modes! {
    async fn deleting_many_links_asks_with_the_number_of_links_and_of_clicks(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let mut codes = Vec::new();
        for (path, clicks) in [("one", 3), ("two", 2), ("three", 1)] {
            let code = browser.make(&[("target_url", &format!("https://example.org/{path}")), ("title", path)]).await;
            visits(app, &code, clicks).await;
            codes.push(code);
        }
        let foreign = app.shorten(&app.register().await, "https://example.org/").await;
        let list = browser.get("/app").await.text;
        let delete = "<button class=\"danger small\" formaction=\"/app/links/selected/delete\">Delete</button>";
        assert!(list.contains(delete), "{list}");
        let selected = [("code", codes[0].as_str()), ("code", &codes[1]), ("code", &foreign), ("place", "q=example&sort=clicks")];
        let asked = browser.send("/app", "/app/links/selected/delete", &selected).await;
        // The question has an address of its own: the way back through it is open.
        let asked = browser.get(asked.header("location")).await;
        assert_eq!(asked.status, 200, "{asked:?}");
        assert_eq!(title(&asked.text), "Delete 2 links with 5 clicks?");
        for text in ["<bdi>one</bdi>", "<bdi>https://example.org/two</bdi>", "3 clicks", "href=\"/app?q=example&#38;sort=clicks\">Cancel</a>"] {
            assert!(asked.text.contains(text), "{text}: {asked:?}");
        }
        assert!(!asked.text.contains(&foreign), "{asked:?}");
        assert_eq!(app.visit(&format!("/{}", codes[0])).await.status, 302, "nothing is deleted yet");
        let deleted = answer_yes(&mut browser, &asked.text).await;
        let undo = format!("/app?q=example&sort=clicks&done=deleted&undo={}+{}", codes[0], codes[1]);
        leads_to(&deleted, &undo);
        for code in &codes[..2] {
            app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        }
        visits(app, &codes[2], 1).await;
        let none = browser.send("/app", "/app/links/selected/delete", &[("code", &codes[0])]).await;
        let none = browser.get(none.header("location")).await;
        leads_to(&none, "/app?done=none");
    }

    async fn what_cannot_be_undone_is_asked_first(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        visits(app, &code, 1).await;
        let key = [("name", "nightly"), ("scope", "read")];
        browser.send("/app/account", "/app/account/keys", &key).await;
        let account = browser.get("/app/account").await.text;
        let of = |start: &str, end: &str| {
            let rest = account.split(&format!("href=\"{start}")).nth(1).expect(start);
            format!("{start}{}{end}", rest.split('/').next().unwrap())
        };
        let questions = [
            (format!("/app/links/{code}/delete"), "Delete 1 link with 1 click?"),
            (of("/app/account/keys/", "/delete"), "Revoke the key nightly?"),
            (of("/app/account/sessions/", "/end"), "Sign out Another browser since "),
            ("/app/logout-everywhere".to_owned(), "Sign out of 1 session?"),
            ("/app/account/delete".to_owned(), "Delete the account with 1 link and 1 click?"),
        ];
        for (path, wanted) in &questions {
            let asked = browser.get(path).await;
            assert_eq!(asked.status, 200, "{path}: {asked:?}");
            assert!(title(&asked.text).starts_with(wanted), "{path}: {asked:?}");
            assert_eq!(answer(&asked.text).0, *path);
        }
        for path in ["/app", "/app/account", &format!("/app/links/{code}")] {
            let page = browser.get(path).await.text;
            for (ask, _) in &questions {
                assert!(!page.contains(&format!("action=\"{ask}\"")), "{path} sends {ask} without a question");
            }
        }
        let ended = browser.get(&questions[1].0).await.text;
        leads_to(&answer_yes(&mut browser, &ended).await, "/app/account?done=key");
        assert_eq!(browser.get(&questions[1].0).await.status, 404);
        let link = browser.get(&questions[0].0).await.text;
        let undo = format!("/app?done=deleted&undo={code}");
        leads_to(&answer_yes(&mut browser, &link).await, &undo);
        let mut stranger = Browser::new(app);
        stranger.sign_up().await;
        for (path, _) in &questions[..3] {
            assert_eq!(stranger.get(path).await.status, 404, "{path}");
        }
    }

    async fn enter_in_a_field_ends_and_deletes_nothing(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        app.backend.execute(GRANT, &email).await;
        browser.make(&[("target_url", "https://example.org/")]).await;
        let list = browser.get("/app").await.text;
        assert!(default_button(&list, "/app/links/selected").contains("value=\"tag\""), "{list}");
        let account = browser.get("/app/account/delete").await.text;
        assert!(default_button(&account, "/app/account/delete").contains("value=\"keep\""), "{account}");
        let keep = [("password", "correct horse"), ("action", "keep")];
        let kept = browser.send("/app/account/delete", "/app/account/delete", &keep).await;
        leads_to(&kept, "/app/account?done=kept");
        assert!(browser.get("/app/account?done=kept").await.text.contains("Nothing was deleted."));
        let administration = browser.get("/app/admin/removals").await.text;
        assert!(!administration.contains("action=\"/app/admin/removals\""), "{administration}");
    }

    async fn a_removal_and_a_ban_are_asked_first(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        app.backend.execute(GRANT, &email).await;
        let mut user = Browser::new(app);
        let banned = user.sign_up().await;
        let code = user.make(&[("target_url", "https://asked.example/")]).await;
        visits(app, &code, 2).await;
        for (kind, value, wanted, facts) in [
            ("link", code.as_str(), format!("Remove {code}?"), &[&*banned, "https://asked.example/", "<dt>Clicks</dt><dd><bdi>2</bdi>"][..]),
            ("host", "asked.example", "Remove all links to asked.example?".to_owned(), &["<dt>Links</dt><dd><bdi>1</bdi>", &code]),
            ("address", "127.0.0.0/24", "Remove all links from 127.0.0.0/24?".to_owned(), &["<dt>Links</dt><dd><bdi>1</bdi>"]),
            ("user", &banned, format!("Ban {banned}?"), &["<dt>Links</dt><dd><bdi>1</bdi>", "clicks in 30 days"]),
        ] {
            let fields = [("kind", kind), ("value", value), ("reason", "spam"), ("status", "451")];
            let asked = browser.send("/app/admin/removals", "/app/admin/removals/ask", &fields).await;
            assert_eq!(asked.status, 200, "{asked:?}");
            assert_eq!(title(&asked.text), wanted);
            for fact in facts {
                assert!(asked.text.contains(fact), "{fact}: {asked:?}");
            }
            assert!(asked.text.contains("get status 451 and see this reason: spam"), "{asked:?}");
            visits(app, &code, 1).await;
            if kind == "link" {
                leads_to(&answer_yes(&mut browser, &asked.text).await, "/app/admin/removals?done=removed");
                app.get(&format!("/{code}")).await.is_error(451, "URL removed");
                let page = browser.get("/app/admin/removals").await.text;
                let undo = page.split("action=\"").find(|rest| rest.contains("/revoke\"")).unwrap().split('"').next().unwrap().to_owned();
                browser.send("/app/admin/removals", &undo, &[]).await;
            }
        }
        for (kind, value, fault) in [("link", "unknown1", "There is no such link"), ("user", &email, "This is your own account"), ("host", "*.com", "The hosts of many owners")] {
            let fields = [("kind", kind), ("value", value), ("reason", "spam"), ("status", "410")];
            let refused = browser.send("/app/admin/removals", "/app/admin/removals/ask", &fields).await;
            assert!(refused.text.contains(&format!("id=\"value-fault\">{fault}")), "{refused:?}");
        }
    }

    async fn the_options_of_a_new_link_are_in_its_form_and_a_form_can_be_opened_filled(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let list = browser.get("/app").await.text;
        let form = list.split("action=\"/app/links\"").nth(1).unwrap().split("</form>").next().unwrap();
        assert!(form.contains("<details class=\"options\">") && form.contains("name=\"custom_code\""), "{list}");
        let typed = [("target_url", "https://example.org/?a=\"b\"")];
        let more = browser.send("/app", "/app/links/new", &typed).await;
        assert_eq!(more.status, 200, "{more:?}");
        assert!(more.text.contains("value=\"https://example.org/?a=&#34;b&#34;\""), "{more:?}");
        assert!(more.text.contains("<h1>New link</h1>") && !more.text.contains("-fault\""), "{more:?}");
        let csrf = token(&browser.get("/app").await.text);
        let foreign = browser.send_with(&csrf, "/app/links/new", &typed, &[("sec-fetch-site", "cross-site")]).await;
        assert_eq!(foreign.status, 403);
        assert!(!foreign.text.contains("https://example.org/"), "{foreign:?}");
    }

    async fn the_owner_of_a_removed_link_reads_why(app) {
        let (admin, mut browser) = (admin(app).await, Browser::new(app));
        browser.sign_up().await;
        for (status, legal) in [(410, false), (451, true)] {
            let code = browser.make(&[("target_url", "https://example.org/")]).await;
            let path = format!("/app/links/{code}");
            assert!(!browser.get(&path).await.text.contains("removed this link"));
            let body = json!({ "kind": "link", "value": code, "reason": "Imitates <a bank>", "status": status });
            id_of(&send(app, Method::POST, &admin, "/admin/removals", &body).await);
            let page = browser.get(&path).await.text;
            assert!(page.contains("The operator of this service removed this link"), "{page}");
            assert_eq!(page.contains("for legal reasons"), legal, "{page}");
            assert!(page.contains("<bdi>Imitates &#60;a bank&#62;</bdi>"), "{page}");
        }
    }

    async fn a_page_opened_at_another_address_names_both_before_its_form_and_in_the_log(app) {
        let own = app.server.base.clone();
        let code = app.shorten(&app.register().await, "https://example.org/").await;
        for path in ["/app/login", "/app/register", &format!("/app/report/{code}")] {
            let mut browser = Browser::new(app);
            assert!(!browser.get(path).await.text.contains("class=\"warning\""), "at its own address");
            let page = crate::support::Response::of(browser.request(Method::GET, path).header("host", "links.example:8080")).await;
            let (before, _) = page.text.split_once("<form").unwrap();
            for address in ["http://links.example:8080", own.as_str()] {
                assert!(before.contains(&format!("<bdi>{address}</bdi>")), "{address}: {page:?}");
            }
            // Over https, and on one's own machine, forms work at any address: there browsers send this header.
            let request = browser.request(Method::GET, path).header("host", "links.example:8080").header("sec-fetch-site", "none");
            let works = crate::support::Response::of(request).await;
            assert!(!works.text.contains("links.example"), "{works:?}");
        }
        eventually("both are in the log", async || {
            let log = app.server.log();
            log.contains("http://links.example:8080") && log.contains(&own)
        }).await;
        let mut browser = Browser::new(app);
        let csrf = token(&browser.get("/app/login").await.text);
        let fields = [("email", "ada@example.org"), ("password", "correct horse")];
        let headers = [("host", "links.example:8080"), ("origin", "http://links.example:8080")];
        let refused = browser.send_with(&csrf, "/app/login", &fields, &headers).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains(&format!("open the page at {own}")), "{refused:?}");
    }
}

#[tokio::test]
async fn behind_https_a_page_over_plain_http_names_both_addresses() {
    let settings = [("BASE_URL", "https://sho.rt")];
    with_app_and_settings(Mode::Embedded, &settings, async |app| {
        let browser = Browser::new(app);
        let asked = async |host: &str, scheme: &str| {
            let request = browser
                .request(Method::GET, "/app/login")
                .header("host", host);
            crate::support::Response::of(request.header("x-forwarded-proto", scheme))
                .await
                .text
        };
        let page = asked("sho.rt", "http").await;
        assert!(
            page.contains("<bdi>http://sho.rt</bdi>") && page.contains("<bdi>https://sho.rt</bdi>"),
            "{page}"
        );
        assert!(!asked("sho.rt", "https").await.contains("class=\"warning\""));
        assert!(
            !asked("sho.rt:443", "https")
                .await
                .contains("class=\"warning\"")
        );
    })
    .await;
}
