//! Invitations by mail.

use serde_json::json;

use super::{MailServer, link_in};
use crate::suite::abuse::{admin, send};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Mode, unique};

#[tokio::test]
async fn an_invitation_is_mailed_to_the_invited_person() {
    let server = MailServer::start(&[]);
    let settings = server.settings("?tls=none");
    let settings = settings
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let app = App::start_with(Mode::Embedded, &settings).await;
    let token = admin(&app).await;
    let email = format!("{}@example.org", unique());
    let body = json!({ "email": email });
    let made = send(
        &app,
        reqwest::Method::POST,
        &token,
        "/admin/invitations",
        &body,
    )
    .await;
    let url = made.json()["url"].as_str().unwrap().to_owned();
    let mail = server.mail(1).await;
    assert_eq!(mail["to"], json!([email]));
    let path = link_in(&mail, "/app/join/");
    assert!(url.ends_with(&path), "{url} {path}");
    let mut browser = Browser::new(&app);
    leads_to(
        &browser
            .send(&path, &path, &[("password", "staple battery")])
            .await,
        "/app",
    );
    let mut admin = crate::suite::web::admin::administrator(&app).await;
    let page = "/app/admin/invitations";
    let other = format!("{}@example.org", unique());
    let made = admin.send(page, page, &[("email", &other)]).await.text;
    assert!(
        made.contains("It is being mailed to this address, too."),
        "{made}"
    );
    assert_eq!(server.mail(2).await["to"], json!([other]));
    app.finish().await;
}
