//! Reports by mail.

use serde_json::json;

use super::{MailServer, text_of};
use crate::support::{App, Mode};

#[tokio::test]
async fn a_report_is_mailed_to_the_contact_and_further_ones_wait_on_the_page() {
    let server = MailServer::start(&[]);
    let settings = server.settings("?tls=none");
    let mut settings: Vec<_> = settings
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    settings.push(("SITE_CONTACT", "mailto:operator@example.org"));
    let app = App::start_with(Mode::Embedded, &settings).await;
    let owner = app.register().await;
    let code = app.shorten(&owner, "https://example.org/").await;
    for reason in ["It leads to malware.", "It does so again."] {
        let body = json!({ "short_code": code, "reason": reason }).to_string();
        assert_eq!(app.post("/report", body).await.status, 202);
    }
    let mail = server.mail(1).await;
    assert_eq!(mail["to"], json!(["operator@example.org"]));
    let text = text_of(&mail);
    for part in [
        &format!("/{code}"),
        "It leads to malware.",
        "/app/admin/reports",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    app.finish().await;
    assert_eq!(server.mails().len(), 1);
}
