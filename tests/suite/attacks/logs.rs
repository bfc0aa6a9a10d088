//! A reader of the log learns nothing that opens an account.

use serde_json::json;

use crate::support::{App, Mode, eventually, unique};

async fn nothing_secret_is_logged(mode: Mode) {
    let app = App::start_with(mode, &[("RUST_LOG", "trace")]).await;
    let email = format!("{}@example.org", unique());
    let (password, wrong) = (unique(), unique());
    let registered = app.account("/auth/register", &email, &password).await;
    let token = registered.json()["access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        app.account("/auth/login", &email, &password).await.status,
        200
    );
    assert_eq!(app.account("/auth/login", &email, &wrong).await.status, 401);
    assert_eq!(
        app.account("/auth/register", &email, &wrong).await.status,
        400
    );
    let mistyped = json!({ "email": email, "password": [wrong] }).to_string();
    assert_eq!(app.post("/auth/login", mistyped).await.status, 422);
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    assert_eq!(
        app.get_as(&token[..token.len() - 1], "/auth/me")
            .await
            .status,
        401
    );
    eventually("the log has details", async || {
        app.server.log().contains("TRACE") || app.server.log().contains("DEBUG")
    })
    .await;
    let log = app.server.log();
    let secret = String::from_utf8(app.backend.secret()).unwrap();
    let signature = token.rsplit_once('.').unwrap().1;
    for secret in [&*email, &password, &wrong, signature, &secret] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
    app.finish().await;
}

mod nothing_secret_is_in_the_log_however_much_is_logged {
    use super::{Mode, nothing_secret_is_logged};

    #[tokio::test]
    async fn embedded() {
        nothing_secret_is_logged(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        nothing_secret_is_logged(Mode::Production).await;
    }
}
