//! The pages of statements.

use super::{KEY, clicked, key_set, made_at};
use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, both_modes};

both_modes! {
    with &[("STATEMENT_KEY", KEY)];

    async fn a_person_reads_a_statement_on_a_page_and_saves_it(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("title", "Spring")]).await;
        let own = browser.get(&format!("/app/links/{code}")).await.text;
        let path = format!("/app/links/{code}/statements");
        assert!(own.contains(&format!("href=\"{path}\"")), "{own}");
        assert!(browser.get(&path).await.text.contains("No month of this link has ended yet."));
        made_at(app, &code, "2026-09-10T12:00:00Z").await;
        clicked(app, &code, "2026-10-10T13:00:00Z", 1_234).await;
        let months = browser.get(&path).await.text;
        let newest = months.find("Oct 2026").unwrap();
        assert!(newest < months.find("Sep 2026").unwrap(), "{months}");
        let page = browser.get(&format!("{path}?month=2026-10&tz=UTC")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let file = browser.get(&format!("/app/links/{code}/statement?month=2026-10&tz=UTC")).await;
        assert_eq!(file.header("content-type"), "application/json");
        assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"{code}-2026-10.json\""));
        let (key, digest) = (file.json()["key_id"].clone(), shunt::domain::sha256_of(&file.text));
        for text in ["1,234", "31 Oct 2026", key.as_str().unwrap(), &digest, "shunt verify"] {
            assert!(page.text.contains(text), "{text}: {}", page.text);
        }
        assert!(super::is_verified(&file.text, &key_set(app).await));
    }

    async fn what_has_no_statement_has_a_page_that_says_why(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let path = format!("/app/links/{code}/statements");
        for (query, status, text) in [
            ("?tz=Mars/Olympus", 422, "value=\"Mars/Olympus\""),
            ("?month=soon", 422, "Enter a month such as 2026-10."),
            ("?month=2020-01", 422, "earlier months have no statement"),
            ("?month=9998-12", 409, "This month has its statement from"),
        ] {
            let page = browser.get(&format!("{path}{query}")).await;
            assert_eq!(page.status, status, "{query}");
            assert!(page.text.contains(text), "{query}: {}", page.text);
        }
        let mut stranger = Browser::new(app);
        stranger.sign_up().await;
        for page in ["statements", "statements?month=2026-10", "statement?month=2026-10"] {
            assert_eq!(stranger.get(&format!("/app/links/{code}/{page}")).await.status, 404, "{page}");
        }
    }
}

#[tokio::test]
async fn the_page_of_a_service_without_a_key_says_so() {
    let app = App::start(Mode::Production).await;
    let mut browser = Browser::new(&app);
    browser.sign_up().await;
    let code = browser
        .make(&[("target_url", "https://example.org/")])
        .await;
    let page = browser.get(&format!("/app/links/{code}/statements")).await;
    assert!(page.text.contains("no key to sign with"), "{page:?}");
    app.finish().await;
}
