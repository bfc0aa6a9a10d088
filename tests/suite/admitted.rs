//! Who may register, which targets are refused, and the pages for robots and for those who found a weakness.

use reqwest::Method;
use serde_json::json;

use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, Response, both_modes};

both_modes! {
    async fn link_local_targets_and_metadata_services_are_refused_in_every_spelling(app) {
        let token = app.register().await;
        for target in [
            "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xA9.0376.43518/",
            "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://metadata.google.internal/",
            "http://metadata/", "http://METADATA./computeMetadata/v1/", "http://metadata.goog/", "http://instance-data/", "http://instance-data.ec2.internal/",
            "http://metadata.tencentyun.com/", "http://kubernetes.default.svc/", "http://[fd20:ce::254]/", "http://[fd00:ec2::254]/", "http://168.63.129.16/",
            "http://100.100.100.200/", "http://192.0.0.192/", "http://[64:ff9b:1::a9fe:a9fe]/", "http://[64:ff9b:1:a9fe:a9:fe00::]/",
            "http://[::ffff:0:169.254.169.254]/", "http://[::169.254.169.254]/", "http://[2002:a9fe:a9fe::]/", "http://[2001:0:a9fe:a9fe::1]/",
            "http://[2001:0:1:2::5601:5601]/", "http://[2600::5efe:a9fe:a9fe]/", "http://[::ffff:168.63.129.16]/",
        ] {
            let detail = "target_url: must not lead to a link-local address or a metadata service";
            app.try_shorten(&token, target).await.is_error(422, detail);
        }
        for target in ["http://10.0.0.1/", "http://192.168.1.1:8080/", "http://[fd00::1]/", "http://nas.local/"] {
            app.shorten(&token, target).await;
        }
        let robots = app.get("/robots.txt").await;
        assert_eq!(robots.status, 200);
        assert!(robots.text.contains("Disallow: /urls/"), "{robots:?}");
        app.get("/.well-known/security.txt").await.is_error(404, "Not Found");
    }
}

#[tokio::test]
async fn private_targets_are_refused_where_the_operator_says_so() {
    let app = App::start_with(Mode::Embedded, &[("PRIVATE_TARGETS", "refuse")]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for target in [
        "http://10.0.0.1/",
        "http://0300.0250.1.1/",
        "http://[fd00::1]/",
        "http://nas.local/",
        "http://localhost:1/",
        "http://[fec0::1]/",
        "http://[2001:0:808:808::1]/",
        "http://[ff02::1]/",
        "http://224.0.0.1/",
        "http://198.18.0.1/",
        "http://240.0.0.1/",
        "http://192.0.2.1/",
        "http://[2001:db8::1]/",
        "http://[64:ff9b:1::8.8.8.8]/",
        "http://[::ffff:0:10.0.0.1]/",
        "http://[2002:a00:1::]/",
        "http://[2600::5efe:10.0.0.1]/",
        "http://wiki/",
        "http://router.localdomain/",
        "http://nas.home/",
        "http://intern.corp/",
        "http://a.test/",
        "http://nas.home.arpa/",
    ] {
        let detail = "target_url: must not lead into a private network";
        app.try_shorten(&token, target).await.is_error(422, detail);
        let edit = app.request(Method::PATCH, &format!("/urls/{code}"));
        let edit = edit
            .bearer_auth(&token)
            .json(&json!({"target_url": target}));
        Response::of(edit).await.is_error(422, detail);
    }
    for target in [
        "https://example.com/",
        "https://a.example/",
        "http://8.8.8.8/",
        "http://[2600::1]/",
        "http://[64:ff9b::8.8.8.8]/",
        "http://[2002:808:808::1]/",
        "http://something.onion/",
        "https://corp.example.net/",
    ] {
        app.shorten(&token, target).await;
    }
    app.finish().await;
}

#[tokio::test]
async fn registration_is_open_to_the_domains_that_the_operator_names() {
    let app = App::start_with(
        Mode::Embedded,
        &[("REGISTRATION", "example.org, example.com")],
    )
    .await;
    let register = async |email: &str| app.account("/auth/register", email, "correct horse").await;
    assert_eq!(register("a@example.org").await.status, 200);
    assert_eq!(register("a@EXAMPLE.com").await.status, 200);
    for email in ["a@example.net", "a@sub.example.org"] {
        let detail = "email: must be an address at example.org or example.com";
        register(email).await.is_error(403, detail);
    }
    app.finish().await;
}

#[tokio::test]
async fn registration_can_be_closed() {
    let app = App::start_with(Mode::Embedded, &[("REGISTRATION", "closed")]).await;
    let refused = app
        .account("/auth/register", "a@example.org", "correct horse")
        .await;
    let detail = "Registration is closed; ask the operator of this service for an account";
    refused.is_error(403, detail);
    app.finish().await;
}

#[tokio::test]
async fn pages_offer_no_account_where_registration_is_closed() {
    let app = App::start_with(Mode::Embedded, &[("REGISTRATION", "closed")]).await;
    let mut browser = Browser::new(&app);
    for path in ["/", "/app/login"] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.text.contains("/app/register"), "{page:?}");
    }
    let page = browser.get("/app/register").await;
    assert_eq!(page.status, 403);
    let sentence =
        "New accounts are not open to everybody here. Ask the operator of this service for one.";
    assert!(page.text.contains(sentence), "{page:?}");
    assert!(!page.text.contains("<form"), "{page:?}");
    app.finish().await;
}

#[tokio::test]
async fn the_page_for_a_new_account_names_the_domains_that_are_admitted() {
    let settings = [("REGISTRATION", "example.org, example.com")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let mut browser = Browser::new(&app);
    let page = browser.get("/app/register").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("at example.org or example.com"),
        "{page:?}"
    );
    assert!(browser.get("/").await.text.contains("/app/register"));
    app.finish().await;
}

#[tokio::test]
async fn the_contact_for_weaknesses_is_in_security_txt() {
    let contact = [("SECURITY_CONTACT", "mailto:security@example.org")];
    let app = App::start_with(Mode::Embedded, &contact).await;
    let found = app.get("/.well-known/security.txt").await;
    assert_eq!(found.header("content-type"), "text/plain; charset=utf-8");
    let lines: Vec<_> = found.text.lines().collect();
    assert_eq!(lines[0], "Contact: mailto:security@example.org");
    assert!(lines[1].starts_with("Expires: 20"), "{lines:?}");
    assert!(lines[2].ends_with("/.well-known/security.txt"), "{lines:?}");
    app.finish().await;
}
