//! The languages of the pages of owners.

use super::browser::Browser;
use crate::support::both_modes;

both_modes! {
    async fn without_a_choice_the_pages_have_the_browsers_language(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let page = browser.request(reqwest::Method::GET, "/app/account").header("accept-language", "de-CH, de;q=0.9");
        let page = crate::support::Response::of(page).await;
        assert!(page.text.contains("<html lang=\"de\">") && page.text.contains("Abmelden"), "{}", page.text);
        assert!(browser.get("/app/account").await.text.contains("<html lang=\"en\">"));
    }

    async fn an_owner_chooses_the_language_of_the_pages(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let chosen = browser.send("/app/account", "/app/account/language", &[("language", "fr")]).await;
        super::browser::leads_to(&chosen, "/app/account?done=language");
        let page = browser.get("/app/account?done=language").await.text;
        assert!(page.contains("<html lang=\"fr\">") && page.contains("Se déconnecter"), "{page}");
        assert!(page.contains("Les pages sont maintenant dans cette langue."), "{page}");
        assert!(page.contains("<option value=\"fr\" lang=\"fr\" selected>Français"), "{page}");
        // The browser's language again, and so for a language that the pages do not have.
        for none in ["", "tlh"] {
            browser.send("/app/account", "/app/account/language", &[("language", none)]).await;
            assert!(browser.get("/app").await.text.contains("<html lang=\"en\">"));
        }
    }
}
