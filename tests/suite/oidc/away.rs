//! The provider is away, or not what it should be.

use serde_json::json;

use super::in_both_modes;
use super::own_provider::OwnProvider;
use crate::suite::web::browser::Browser;
use crate::support::{App, eventually, free_port};

in_both_modes! {
    async fn a_service_starts_without_its_provider_says_so_and_finds_it_later(mode: Mode) {
        let port = free_port();
        let issuer = format!("http://127.0.0.1:{port}");
        let settings = [("OIDC_ISSUER", issuer.as_str()), ("OIDC_CLIENT_ID", "shunt")];
        let app = App::start_with(mode, &settings).await;
        eventually("the log says so", async || {
            app.server.log().contains("asking the identity provider of OIDC_ISSUER")
        }).await;
        let mut browser = Browser::new(&app);
        let page = browser.get("/app/oidc/login").await;
        assert_eq!(page.status, 503, "{page:?}");
        assert!(page.text.contains("127.0.0.1 does not answer"), "{page:?}");
        assert!(!page.header("retry-after").is_empty(), "{page:?}");
        // Links and passwords go on.
        browser.sign_up().await;
        let provider = OwnProvider::start_at(port).await;
        eventually("the provider is found", async || {
            Browser::new(&app).get("/app/oidc/login").await.status == 303
        }).await;
        drop(provider);
        app.finish().await;
    }

    async fn a_provider_with_another_name_is_not_believed(mode: Mode) {
        let provider = OwnProvider::start().await;
        provider.script().discovery["issuer"] = json!("https://another.example");
        let app = App::start_with(mode, &provider.settings()).await;
        let page = Browser::new(&app).get("/app/oidc/login").await;
        assert_eq!(page.status, 502, "{page:?}");
        eventually("the log says so", async || {
            app.server.log().contains("calls itself https://another.example, letter by letter")
        }).await;
        app.finish().await;
    }
}
