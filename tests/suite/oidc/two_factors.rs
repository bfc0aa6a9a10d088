//! The second factor of the service beside the identity provider, which keeps its own.

use serde_json::json;

use super::in_both_modes;
use super::person::{Person, is_known_as, new_person, start};
use crate::suite::two_factors::{PASSWORD, secured};
use crate::suite::web::browser::leads_to;
use crate::support::unique;

const JOIN: &str = "/app/oidc/join";

in_both_modes! {
    async fn an_account_with_a_second_factor_is_joined_by_a_code_too(mode: Mode) {
        let app = start(mode, &[]).await;
        let (_, email, second) = secured(&app).await;
        let subject = unique();
        is_known_as(&subject, &email, json!({})).await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, JOIN);
        for (otp, fault) in [("", "Enter the code that your app shows"), ("nonsense", "This code is wrong")] {
            let fields = [("password", PASSWORD), ("otp", otp)];
            let refused = person.browser.send(JOIN, JOIN, &fields).await;
            assert_eq!(refused.status, 401, "{refused:?}");
            assert!(refused.text.contains(fault), "{refused:?}");
            assert_eq!(person.account().await, None);
        }
        let fields = [("password", PASSWORD), ("otp", &second.code(0))];
        leads_to(&person.browser.send(JOIN, JOIN, &fields).await, "/app");
        assert_eq!(person.account().await.as_deref(), Some(&*email));
        // From then on the provider asks for its own factors.
        let mut elsewhere = Person::new(&app);
        leads_to(&elsewhere.sign_in(&subject).await, "/app");
        assert_eq!(elsewhere.account().await.as_deref(), Some(&*email));
        app.finish().await;
    }

    async fn who_signs_in_by_the_provider_needs_no_further_factor(mode: Mode) {
        let settings = [("REQUIRE_TWO_FACTORS", "all"), ("OIDC_ADMIN_GROUP", "admins")];
        let app = start(mode, &settings).await;
        let (subject, email) = new_person().await;
        is_known_as(&subject, &email, json!({"groups": ["admins"]})).await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        assert_eq!(person.account().await.as_deref(), Some(&*email));
        assert_eq!(person.browser.get("/app/admin").await.status, 200);
        app.finish().await;
    }
}
