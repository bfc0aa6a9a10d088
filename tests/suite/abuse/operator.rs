//! `shunt admin`, beside a running service.

use reqwest::Method;
use serde_json::Value;

use super::{PASSWORD, account, becomes};
use crate::support::{App, Mode, Response, command, eventually};

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
    assert!(run(&app, &["grant", &email]).0);
    let (is_done, why) = run(&app, &["revoke-role", &email]);
    assert!(
        !is_done && why.contains("is the only administrator"),
        "{why}"
    );
    let (other, _) = account(&app).await;
    assert!(run(&app, &["grant", &other]).0);
    assert!(run(&app, &["revoke-role", &email]).0);
    assert!(!run(&app, &["revoke-role", &email]).0, "it has no role");
    let (_, audit) = run(&app, &["audit"]);
    for action in ["grant", "remove", "revoke", "revoke_role", "reset_password"] {
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

#[tokio::test]
async fn the_operator_adds_changes_lists_and_removes_hosts() {
    let app = App::start(Mode::Production).await;
    let (email, token) = account(&app).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assetlinks.json");
    std::fs::write(&file, "[ ]").unwrap();
    let file = file.to_str().unwrap();
    let at = async |path: &str| {
        let request = app.request(Method::GET, path).header("host", "go.test");
        let response = Response::of(request).await;
        let location = response.header("location").to_owned();
        (response.status.as_u16(), location)
    };
    let line = [
        "domain",
        "add",
        "Go.test",
        "--root-url",
        "https://example.org/",
        "--owners",
        &email,
        "--assetlinks",
        file,
    ];
    assert!(run(&app, &line).0);
    // The command waits until the running instance has read the change from the outbox.
    let root = (302, "https://example.org/".to_owned());
    eventually("the running service knows the host", async || {
        at("/").await == root
    })
    .await;
    assert_eq!(at("/.well-known/assetlinks.json").await.0, 200);
    let (is_done, why) = run(&app, &line);
    assert!(
        !is_done && why.contains("there is this domain already"),
        "{why}"
    );
    let body = serde_json::json!({"target_url": "https://example.org/", "custom_code": "spring", "domain": "go.test"});
    let request = app
        .request(Method::POST, "/urls/shorten")
        .bearer_auth(&token);
    assert_eq!(Response::of(request.json(&body)).await.status, 200);
    let (_, listed) = run(&app, &["domain", "list", "GO"]);
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(
        (&listed["host"], &listed["links"]),
        (&"Go.test".into(), &1.into())
    );
    assert_eq!(listed["owners"], serde_json::json!([email]));
    assert!(
        run(
            &app,
            &[
                "domain",
                "change",
                "GO.TEST",
                "--no-root-url",
                "--owners",
                "all"
            ]
        )
        .0
    );
    eventually("the change is known", async || at("/").await.0 == 404).await;
    let (is_done, why) = run(&app, &["domain", "rm", "go.test"]);
    assert!(
        !is_done && why.contains("the domain has links; delete them first, from bins, too"),
        "{why}"
    );
    for path in [
        "/urls/spring?domain=go.test",
        "/urls/trash/spring?domain=go.test",
    ] {
        Response::of(app.request(Method::DELETE, path).bearer_auth(&token)).await;
    }
    assert!(run(&app, &["domain", "rm", "go.test"]).0);
    eventually("its end is known", async || at("/docs").await.0 == 200).await;
    for (args, said) in [
        (&["domain", "rm", "go.test"][..], "there is no such domain"),
        (&["domain", "add", "a b"], "must be a host"),
        (
            &["domain", "add", "a.test", "--root-url", "https://a.test/"],
            "must not lead back to this host",
        ),
        (
            &["domain", "add", "a.test", "--owners", "nobody@example.org"],
            "no account has the address",
        ),
        (
            &["domain", "add", "a.test", "--assetlinks", "/no/such/file"],
            "/no/such/file",
        ),
    ] {
        let (is_done, why) = run(&app, args);
        assert!(!is_done && why.contains(said), "{args:?}: {why}");
    }
    assert_eq!(run(&app, &["domain", "list"]), (true, String::new()));
    app.server_only().await;
}
