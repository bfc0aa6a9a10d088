//! Invitations on pages, and the page at which an invited person makes the account.

use serde_json::json;

use super::{CHOSEN, address, invite, invited, is_over, join, path_of};
use crate::suite::abuse::{account, admin};
use crate::suite::web::admin::administrator;
use crate::suite::web::browser::{Browser, leads_to, token};
use crate::support::both_modes;

const PAGE: &str = "/app/admin/invitations";

both_modes! {
    async fn an_administrator_invites_and_revokes_on_a_page(app) {
        let mut admin = administrator(app).await;
        let email = address();
        let made = admin.send(PAGE, PAGE, &[("email", &email), ("admin", "on")]).await;
        assert_eq!(made.status, 200, "{made:?}");
        let path = path_of(made.text.split("<code>").nth(1).unwrap().split('<').next().unwrap());
        let list = admin.get(PAGE).await.text;
        assert!(list.contains(&email) && !list.contains(&path), "{list}");
        assert_eq!(Browser::new(app).get(&path).await.status, 200);
        let revoke = list.split("action=\"").find(|rest| rest.contains("/revoke\"")).unwrap();
        let revoke = revoke.split('"').next().unwrap().to_owned();
        leads_to(&admin.send(PAGE, &revoke, &[]).await, "/app/admin/invitations?done=revoked");
        leads_to(&admin.send(PAGE, &revoke, &[]).await, "/app/admin/invitations?done=none");
        is_over(&Browser::new(app).get(&path).await);
        let (taken, _) = account(app).await;
        for (email, sentence) in [("nobody", "Enter a valid e-mail address."), (&*taken, "There is already an account with this e-mail address.")] {
            let refused = admin.send(PAGE, PAGE, &[("email", email)]).await;
            assert!(refused.text.contains(sentence) && refused.text.contains(&format!("value=\"{email}\"")), "{refused:?}");
        }
    }

    async fn an_invitation_on_the_page_joins_a_group_of_the_administrator(app) {
        let mut admin = administrator(app).await;
        assert!(!admin.get(PAGE).await.text.contains("Joins the group"));
        let made = admin.send("/app/groups", "/app/groups", &[("name", "Shop")]).await;
        let group = made.header("location").strip_prefix("/app/groups/").unwrap();
        let group = group.split('?').next().unwrap().to_owned();
        assert!(admin.get(PAGE).await.text.contains(&format!("<option value=\"{group}\">Shop</option>")));
        let email = address();
        let unknown = [("email", email.as_str()), ("group", "999999999"), ("group_role", "editor")];
        let refused = admin.send(PAGE, PAGE, &unknown).await;
        assert!(refused.text.contains("There is no such group any more.") && refused.text.contains(&email), "{refused:?}");
        let fields = [("email", email.as_str()), ("group", &group), ("group_role", "editor")];
        let made = admin.send(PAGE, PAGE, &fields).await;
        let path = path_of(made.text.split("<code>").nth(1).unwrap().split('<').next().unwrap());
        assert!(admin.get(PAGE).await.text.contains("Shop: Editor"));
        let mut browser = Browser::new(app);
        leads_to(&join(&mut browser, &path).await, "/app");
        let groups = browser.get("/app/groups").await.text;
        assert!(groups.contains("Shop") && groups.contains("Editor"), "{groups}");
    }

    async fn an_invited_person_chooses_a_password_and_is_signed_in_once(app) {
        let by = admin(app).await;
        let email = address();
        let path = invited(app, &by, &email).await;
        let mut browser = Browser::new(app);
        let page = browser.get(&path).await;
        assert!(page.text.contains(&format!("value=\"{email}\"")), "{page:?}");
        for weak in ["short", "password", &email] {
            let refused = browser.send(&path, &path, &[("password", weak)]).await;
            assert_eq!(refused.status, 422, "{refused:?}");
        }
        leads_to(&join(&mut browser, &path).await, "/app");
        assert_eq!(browser.get("/app").await.status, 200);
        assert_eq!(browser.get("/app/admin").await.status, 403);
        assert_eq!(app.account("/auth/login", &email, CHOSEN).await.status, 200);
        is_over(&browser.get(&path).await);
        assert!(app.get_as(&by, "/admin/audit").await.text.contains("\"join\""));
    }

    async fn an_invitation_as_an_administrator_gives_the_role(app) {
        let by = admin(app).await;
        let made = invite(app, &by, &json!({ "email": address(), "role": "admin" })).await.json();
        let path = path_of(made["url"].as_str().unwrap());
        let mut browser = Browser::new(app);
        leads_to(&join(&mut browser, &path).await, "/app");
        assert_eq!(browser.get("/app/admin").await.status, 200);
    }

    async fn a_link_that_is_unknown_malformed_or_expired_has_a_clear_page(app) {
        let by = admin(app).await;
        let path = invited(app, &by, &address()).await;
        app.backend.execute("UPDATE invitations SET expires_at = 1 WHERE role <> $1", "none").await;
        let mut browser = Browser::new(app);
        for path in [&*path, "/app/join/x", &format!("/app/join/{}", "0".repeat(48)), &format!("/app/join/{}", "A".repeat(48))] {
            is_over(&browser.get(path).await);
            let csrf = token(&browser.get("/app/login").await.text);
            is_over(&browser.send_with(&csrf, path, &[("password", CHOSEN)], &[]).await);
        }
    }

    async fn a_form_of_an_invitation_from_elsewhere_is_refused(app) {
        let by = admin(app).await;
        let path = invited(app, &by, &address()).await;
        let mut browser = Browser::new(app);
        browser.get(&path).await;
        let refused = browser.send_with("0", &path, &[("password", CHOSEN)], &[]).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert_eq!(browser.get(&path).await.status, 200, "it is open still");
    }

    async fn of_two_who_use_an_invitation_at_once_one_gets_the_account(app) {
        let by = admin(app).await;
        let path = invited(app, &by, &address()).await;
        let (mut one, mut other) = (Browser::new(app), Browser::new(app));
        let (first, second) = tokio::join!(join(&mut one, &path), join(&mut other, &path));
        let mut statuses = [first.status.as_u16(), second.status.as_u16()];
        statuses.sort_unstable();
        assert!(statuses == [303, 404] || statuses == [303, 400], "{first:?} {second:?}");
    }
}
