//! The length of new codes: one character more once more than one in 100,000 codes of a length is in use.

use sqlx::{Connection, PgConnection};

use crate::support::{App, Mode, Server, both_modes, eventually};

/// Of 9,834,496 codes with four characters, 98 may be in use.
const FOUR: &[(&str, &str)] = &[("CODE_LENGTH", "4")];
const MAY_BE_IN_USE: usize = 98;

/// Codes of new links.
async fn codes(app: &App, token: &str, links: usize) -> Vec<String> {
    let mut codes = Vec::new();
    for _ in 0..links {
        codes.push(app.shorten(token, "https://example.org/").await);
    }
    codes
}

async fn have_length(app: &App, token: &str, length: usize) -> bool {
    codes(app, token, 1).await[0].len() == length
}

/// Stops the instance and starts it again.
async fn restart(app: &mut App) {
    app.server.stop().await;
    let mut settings = app.backend.settings();
    settings.extend(
        FOUR.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    app.server = Server::start(&settings).await;
}

both_modes! { with super::code_length::FOUR;
    async fn codes_grow_with_the_links_that_were_made_and_never_shrink(app) {
        let token = app.register().await;
        let made = codes(app, &token, MAY_BE_IN_USE).await;
        // It reads at its start how many links were made.
        restart(app).await;
        let last = codes(app, &token, 1).await;
        assert!(made.iter().chain(&last).all(|code| code.len() == 4), "{made:?} {last:?}");
        // Codes of deleted links stay in use.
        for code in &made[10..] {
            assert_eq!(app.delete(&token, code).await.status, 204);
        }
        eventually("a new code has five characters", async || have_length(app, &token, 5).await).await;
        let metrics = app.get("/metrics").await.text;
        assert!(metrics.contains("\nshunt_code_length 5\n"), "{metrics}");
        restart(app).await;
        assert!(have_length(app, &token, 5).await);
        for code in made[..10].iter().chain(&last) {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
    }
}

#[tokio::test]
async fn an_instance_counts_the_links_that_others_made() {
    let app = App::start_with(Mode::Production, FOUR).await;
    let other = app.another(FOUR).await;
    let token = app.register().await;
    codes(&app, &token, MAY_BE_IN_USE + 1).await;
    eventually("a new code of the other has five characters", async || {
        let shorten = reqwest::Client::new()
            .post(format!("{}/urls/shorten", other.base))
            .query(&[("target_url", "https://example.org/")])
            .bearer_auth(&token);
        let link: serde_json::Value = shorten.send().await.unwrap().json().await.unwrap();
        link["short_code"].as_str().unwrap().len() == 5
    })
    .await;
    app.finish().await;
}

#[tokio::test]
async fn ids_that_are_left_out_after_a_fail_over_are_no_links() {
    let mut app = App::start_with(Mode::Production, FOUR).await;
    let token = app.register().await;
    codes(&app, &token, 2).await;
    let mut database = PgConnection::connect(&app.backend.database_url())
        .await
        .unwrap();
    // As where the database went back behind link 1,000.
    let lifted = sqlx::raw_sql("SELECT lift_ids(1000, 0, 1000000)");
    lifted.execute(&mut database).await.unwrap();
    restart(&mut app).await;
    assert!(have_length(&app, &token, 4).await);
    codes(&app, &token, MAY_BE_IN_USE - 2).await;
    restart(&mut app).await;
    assert!(have_length(&app, &token, 5).await);
    app.finish().await;
}
