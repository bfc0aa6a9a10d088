//! Who gets an account without registration: invited people, and the first administrator.

use serde_json::{Value, json};

use crate::suite::abuse::send;
use crate::suite::web::browser::Browser;
use crate::support::{App, Response, unique};

mod api;
mod beside;
mod first;
mod pages;

/// The password that an invited person chooses.
const CHOSEN: &str = "staple battery";

/// A fresh address.
fn address() -> String {
    format!("{}@example.org", unique())
}

async fn invite(app: &App, admin: &str, body: &Value) -> Response {
    send(
        app,
        reqwest::Method::POST,
        admin,
        "/admin/invitations",
        body,
    )
    .await
}

/// Invites somebody; returns the path of the page at which the account is made.
async fn invited(app: &App, admin: &str, email: &str) -> String {
    let made = invite(app, admin, &json!({ "email": email })).await;
    assert_eq!(made.status, 200, "{made:?}");
    path_of(made.json()["url"].as_str().unwrap())
}

fn path_of(url: &str) -> String {
    let path = url.find("/app/join/").expect(url);
    url[path..].to_owned()
}

/// Chooses the password at the page of an invitation.
async fn join(browser: &mut Browser<'_>, path: &str) -> Response {
    browser.send(path, path, &[("password", CHOSEN)]).await
}

/// The page of an invitation that does not work any more.
fn is_over(page: &Response) {
    assert_eq!(page.status, 404, "{page:?}");
    assert!(
        page.text.contains("This invitation does not work any more"),
        "{page:?}"
    );
    assert!(!page.text.contains("<form"), "{page:?}");
}
