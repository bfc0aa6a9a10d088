//! `REQUIRE_TWO_FACTORS`: accounts that must have a second factor, and have none yet.

use super::{PAGE, PASSWORD, give_code, give_password, log_in, secure, secured};
use crate::suite::abuse::GRANT;
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Mode};

const MISSING: &str = "This account needs two factors; sign in on the pages, and set up the second one at /app/account/two-factors";

#[tokio::test]
async fn an_account_that_must_have_a_second_factor_is_led_to_it_and_can_do_nothing_else() {
    for mode in [Mode::Embedded, Mode::Production] {
        let app = App::start_with(mode, &[("REQUIRE_TWO_FACTORS", "all")]).await;
        let registered = app
            .account("/auth/register", "ada@example.org", PASSWORD)
            .await;
        registered.is_error(403, MISSING);
        let mut browser = Browser::new(&app);
        let email = browser.sign_up().await;
        for path in ["/app", "/app/account", "/app/links/new", "/app/admin"] {
            leads_to(&browser.get(path).await, PAGE);
        }
        let target = [("target_url", "https://example.org/")];
        leads_to(&browser.send(PAGE, "/app/links", &target).await, PAGE);
        let login = app.account("/auth/login", &email, PASSWORD).await;
        login.is_error(403, MISSING);
        let wrong = app.account("/auth/login", &email, "wrong horse").await;
        wrong.is_error(401, "Incorrect email or password");
        let page = browser.get(PAGE).await.text;
        assert!(page.contains("This service asks your account for a second step."));
        let second = secure(&mut browser, &email).await;
        assert_eq!(browser.get("/app").await.status, 200);
        let code = second.code(0);
        let entered = log_in(&app, &email, PASSWORD, &code).await;
        assert_eq!(entered.status, 200, "{entered:?}");
        // It cannot be turned off.
        let off = [
            ("action", "off"),
            ("password", PASSWORD),
            ("otp", &second.recovery[0]),
        ];
        assert_eq!(browser.send(PAGE, PAGE, &off).await.status, 403);
        assert!(!browser.get(PAGE).await.text.contains("value=\"off\""));
        // Signed in again, the session is as good.
        let mut again = Browser::new(&app);
        give_password(&mut again, &email).await;
        leads_to(
            &give_code(&mut again, &second.recovery[1]).await,
            "/app/tags",
        );
        assert_eq!(again.get("/app").await.status, 200);
        // Another password leaves it so.
        let change = [
            ("old_password", PASSWORD),
            ("new_password", "another horse"),
        ];
        let changed = again.send("/app/account", "/app/account/password", &change);
        leads_to(&changed.await, "/app/account?done=password");
        assert_eq!(again.get("/app").await.status, 200);
        app.finish().await;
    }
}

#[tokio::test]
async fn who_must_set_up_a_second_factor_can_sign_out_instead() {
    let app = App::start_with(Mode::Embedded, &[("REQUIRE_TWO_FACTORS", "all")]).await;
    let mut browser = Browser::new(&app);
    browser.sign_up().await;
    leads_to(&browser.send(PAGE, "/app/logout", &[]).await, "/app/login");
    leads_to(&browser.get("/app").await, "/app/login");
    app.finish().await;
}

#[tokio::test]
async fn the_role_of_an_administrator_does_nothing_without_the_second_factor_that_it_needs() {
    for mode in [Mode::Embedded, Mode::Production] {
        let settings = [("REQUIRE_TWO_FACTORS", "administrators")];
        let app = App::start_with(mode, &settings).await;
        let mut browser = Browser::new(&app);
        let email = browser.sign_up().await;
        let entered = app.account("/auth/login", &email, PASSWORD).await.json();
        let token = entered["access_token"].as_str().unwrap();
        assert_eq!(browser.get("/app").await.status, 200, "no administrator");
        app.backend.execute(GRANT, &email).await;
        app.get_as(token, "/admin/audit")
            .await
            .is_error(403, MISSING);
        leads_to(&browser.get("/app").await, PAGE);
        leads_to(&browser.get("/app/admin").await, PAGE);
        let login = app.account("/auth/login", &email, PASSWORD).await;
        login.is_error(403, MISSING);
        let second = secure(&mut browser, &email).await;
        assert_eq!(browser.get("/app/admin").await.status, 200);
        let entered = log_in(&app, &email, PASSWORD, &second.code(0)).await.json();
        let token = entered["access_token"].as_str().unwrap();
        assert_eq!(app.get_as(token, "/admin/audit").await.status, 200);
        // Others choose.
        let other = Browser::new(&app).sign_up().await;
        assert_eq!(
            app.account("/auth/login", &other, PASSWORD).await.status,
            200
        );
        let (_, _, _) = secured(&app).await;
        app.finish().await;
    }
}
