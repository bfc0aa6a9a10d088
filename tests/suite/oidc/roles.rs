//! A group at the provider gives and takes the role of administrators.

use serde_json::json;

use super::in_both_modes;
use super::person::{Person, is_known_as, new_person, start};
use crate::suite::web::browser::leads_to;
use crate::support::{App, eventually};

/// Whether a person who signs in anew may see the pages of administrators.
async fn administers(app: &App, subject: &str) -> bool {
    let mut person = Person::new(app);
    leads_to(&person.sign_in(subject).await, "/app");
    person.browser.get("/app/admin").await.status == 200
}

in_both_modes! {
    async fn each_sign_in_gives_the_role_or_takes_it(mode: Mode) {
        let app = start(mode, &[("OIDC_ADMIN_GROUP", "shunt admins")]).await;
        let (subject, email) = new_person().await;
        assert!(!administers(&app, &subject).await, "the provider says nothing of groups");
        eventually("the log says so", async || app.server.log().contains("names no groups")).await;
        for (groups, may) in [
            (json!(["staff"]), false),
            (json!(["staff", "shunt admins"]), true),
            (json!("shunt admins"), true),
            (json!(["shunt admins of another service"]), false),
            (json!(["shunt admins"]), true),
            // Also from the last administrator.
            (json!([]), false),
        ] {
            is_known_as(&subject, &email, json!({"groups": groups})).await;
            assert_eq!(administers(&app, &subject).await, may, "{groups}");
        }
        app.finish().await;
    }

    async fn a_change_of_the_role_is_in_the_audit_and_ends_nothing_else(mode: Mode) {
        let app = start(mode, &[("OIDC_ADMIN_GROUP", "admins")]).await;
        let (subject, email) = new_person().await;
        is_known_as(&subject, &email, json!({"groups": ["admins"]})).await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        let audit = person.browser.get("/app/admin/audit").await;
        assert!(audit.text.contains("by a group at the identity provider"), "{audit:?}");
        // The role goes while the session stays.
        is_known_as(&subject, &email, json!({"groups": []})).await;
        assert!(!administers(&app, &subject).await);
        assert_eq!(person.browser.get("/app/admin").await.status, 403);
        assert_eq!(person.account().await.as_deref(), Some(&*email));
        app.finish().await;
    }

    async fn without_a_group_in_the_settings_the_role_stays_as_it_is(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, email) = new_person().await;
        leads_to(&Person::new(&app).sign_in(&subject).await, "/app");
        app.backend.execute(crate::suite::abuse::GRANT, &email).await;
        is_known_as(&subject, &email, json!({"groups": []})).await;
        assert!(administers(&app, &subject).await);
        app.finish().await;
    }
}
