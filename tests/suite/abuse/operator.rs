//! `shunt admin`, beside a running service.

use serde_json::Value;

use super::{PASSWORD, account, becomes};
use crate::support::{App, Mode, command};

/// Whether a command succeeded, and what it printed then, or why it did not.
fn run(app: &App, args: &[&str]) -> (bool, String) {
    let output = command(&app.backend.settings())
        .arg("admin")
        .args(args)
        .output()
        .unwrap();
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    let is_done = output.status.success();
    let text = if is_done {
        output.stdout
    } else {
        output.stderr
    };
    (is_done, String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn the_operator_grants_bans_resets_and_reads_the_audit() {
    let app = App::start(Mode::Production).await;
    let (email, token) = account(&app).await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.get_as(&token, "/admin/audit").await.status, 403);
    assert!(run(&app, &["grant", &email]).0);
    assert_eq!(app.get_as(&token, "/admin/audit").await.status, 200);

    assert!(run(&app, &["ban", &email, "--reason", "spam"]).0);
    assert_eq!(app.get_as(&token, "/urls/my").await.status, 401);
    becomes(&app, &code, 410).await;
    assert!(!run(&app, &["ban", &email]).0, "it is banned already");
    for action in ["reset-password", "grant"] {
        let (is_done, why) = run(&app, &[action, &email]);
        assert!(!is_done && why.contains("the account is banned"), "{why}");
    }
    let (_, users) = run(&app, &["users", &email]);
    let user: Value = serde_json::from_str(users.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&user["email"], &user["is_banned"]),
        (&email.as_str().into(), &true.into())
    );
    assert!(run(&app, &["unban", &email]).0);
    becomes(&app, &code, 302).await;

    let (is_reset, password) = run(&app, &["reset-password", &email]);
    assert!(is_reset);
    app.account("/auth/login", &email, PASSWORD)
        .await
        .is_error(401, "Incorrect email or password");
    let password = password.lines().last().unwrap();
    assert_eq!(
        app.account("/auth/login", &email, password).await.status,
        200
    );
    let (_, audit) = run(&app, &["audit"]);
    for action in ["grant", "remove", "revoke", "reset_password"] {
        assert!(
            audit.contains(&format!("\"action\":\"{action}\"")),
            "{action}: {audit}"
        );
    }
    assert!(!run(&app, &["grant", "unknown@example.org"]).0);
    app.server_only().await;
}

#[tokio::test]
async fn the_operator_removes_lists_and_restores() {
    let app = App::start(Mode::Production).await;
    let (email, token) = account(&app).await;
    let code = app.shorten(&token, "https://by-operator.example/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    for (kind, value, status) in [
        ("link", code.as_str(), "451"),
        ("host", "by-operator.example", "410"),
        ("address", "127.0.0.1", "410"),
        ("user", email.as_str(), "451"),
    ] {
        let args = [
            "remove", kind, value, "--reason", "spam", "--status", status,
        ];
        let (is_done, said) = run(&app, &args);
        assert!(is_done, "{kind}");
        let id = said.trim().rsplit(' ').next().unwrap().to_owned();
        becomes(&app, &code, status.parse().unwrap()).await;
        let (_, listed) = run(&app, &["removals"]);
        let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
        assert_eq!(first["id"].to_string(), id);
        assert_eq!(
            (&first["kind"], &first["reason"], &first["removed_by"]),
            (&kind.into(), &"spam".into(), &Value::Null)
        );
        assert!(!run(&app, &args).0, "{kind} is removed already");
        assert!(run(&app, &["revoke", &id]).0);
        assert!(!run(&app, &["revoke", &id]).0, "it is already revoked");
        becomes(&app, &code, 302).await;
    }
    for args in [
        ["remove", "link", "unknown1", "--reason", "spam"],
        ["remove", "host", "*.com", "--reason", "spam"],
        ["remove", "page", "a", "--reason", "spam"],
        ["remove", "link", &code, "--reason", " "],
    ] {
        assert!(!run(&app, &args).0, "{args:?}");
    }
    app.server_only().await;
}
