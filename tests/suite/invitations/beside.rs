//! `shunt admin` on the SQLite file of a running service.

use serde_json::Value;

use crate::suite::abuse::{account, becomes};
use crate::support::{App, Mode, Response, Server, command, eventually};

/// Whether a command succeeded, and the last line that it printed.
fn run(app: &App, args: &[&str]) -> (bool, String) {
    let mut command = command(&app.backend.settings());
    let output = command.arg("admin").args(args).output().unwrap();
    let text = if output.status.success() {
        output.stdout
    } else {
        output.stderr
    };
    let text = String::from_utf8(text).unwrap();
    let last = text.lines().last().unwrap_or_default().to_owned();
    (output.status.success(), last)
}

#[tokio::test]
async fn every_command_works_beside_a_running_embedded_service() {
    let app = App::start(Mode::Embedded).await;
    let (email, token) = account(&app).await;
    let code = app.shorten(&token, "https://beside.example/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    assert!(run(&app, &["grant", &email]).0);
    assert_eq!(app.get_as(&token, "/admin/audit").await.status, 200);

    // The link is in the memory of the service. Once the command has ended, the service no longer follows it.
    let (is_done, said) = run(&app, &["remove", "link", &code, "--reason", "spam"]);
    assert!(is_done, "{said}");
    assert_eq!(app.visit(&format!("/{code}")).await.status, 410);
    let id = said.rsplit(' ').next().unwrap();
    assert!(run(&app, &["removals"]).1.contains("spam"));
    assert!(run(&app, &["revoke", id]).0);
    becomes(&app, &code, 302).await;

    assert!(
        run(
            &app,
            &[
                "domain",
                "add",
                "go.test",
                "--owners",
                "all",
                "--root-url",
                "https://example.org/"
            ]
        )
        .0
    );
    let at_root = async || {
        let request = app
            .request(reqwest::Method::GET, "/")
            .header("host", "go.test");
        Response::of(request).await.status == 302
    };
    eventually("the service knows the host", at_root).await;
    assert!(run(&app, &["domain", "list"]).1.contains("go.test"));
    assert!(run(&app, &["domain", "change", "go.test", "--no-root-url"]).0);
    assert!(run(&app, &["domain", "rm", "go.test"]).0);

    let (other, _) = account(&app).await;
    let user: Value = serde_json::from_str(&run(&app, &["users", &other]).1).unwrap();
    assert_eq!(user["email"], other.as_str());
    assert!(run(&app, &["grant", &other]).0 && run(&app, &["revoke-role", &other]).0);
    assert!(run(&app, &["ban", &email]).0);
    assert_eq!(app.get_as(&token, "/auth/me").await.status, 401);
    becomes(&app, &code, 410).await;
    assert!(run(&app, &["unban", &email]).0);
    becomes(&app, &code, 302).await;
    let (is_reset, password) = run(&app, &["reset-password", &email]);
    assert!(is_reset);
    assert_eq!(
        app.account("/auth/login", &email, &password).await.status,
        200
    );
    assert!(run(&app, &["audit"]).0);
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    // Some visits here are not of the check of counts.
    app.server_only().await;
}

#[tokio::test]
async fn a_command_works_after_the_service_was_killed_and_without_a_service() {
    let mut app = App::start(Mode::Embedded).await;
    let (email, _) = account(&app).await;
    app.server.kill();
    assert!(run(&app, &["grant", &email]).0);
    // Neither it nor a command that runs at this moment keeps a service from starting.
    let many: Vec<_> = (0..3)
        .map(|_| {
            let mut command = command(&app.backend.settings());
            command.args(["admin", "users"]).spawn().unwrap()
        })
        .collect();
    app.server = Server::start(&app.backend.settings()).await;
    for mut command in many {
        assert!(command.wait().unwrap().success());
    }
    assert!(run(&app, &["audit"]).1.contains("\"grant\""));
    app.finish().await;
}

#[tokio::test]
async fn clicks_stay_exact_while_the_operator_works_beside_the_service() {
    let app = App::start(Mode::Embedded).await;
    let (email, token) = account(&app).await;
    let code = app.shorten(&token, "https://example.org/").await;
    let path = format!("/{code}");
    let clicking = async {
        for _ in 0..300 {
            assert_eq!(app.visit(&path).await.status, 302);
        }
    };
    let settings = app.backend.settings();
    let working = tokio::task::spawn_blocking(move || {
        for _ in 0..3 {
            for action in ["grant", "reset-password", "users"] {
                let mut command = command(&settings);
                let done = command.args(["admin", action, &email]).output().unwrap();
                assert!(done.status.success(), "{done:?}");
            }
        }
    });
    let ((), worked) = tokio::join!(clicking, working);
    worked.unwrap();
    app.finish().await;
}
