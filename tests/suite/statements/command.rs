//! `shunt statement` and `shunt verify`.

use std::fs;
use std::path::Path;
use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use super::{KEY, OTHER_KEY, clicked, key_set, old_link, statement};
use crate::cli::support::{Finished, run, shunt};
use crate::support::{App, Response, both_modes};

/// The command line of the owner of a key.
fn command(app: &App, key: &str, line: &[&str]) -> Finished {
    let mut command = shunt();
    command.args(line);
    command
        .env("SHUNT_URL", &app.server.base)
        .env("SHUNT_KEY", key);
    run(&mut command, "")
}

fn verify(folder: &Path, line: &[&str], input: &str) -> Finished {
    let mut command: Command = shunt();
    command.arg("verify").args(line).current_dir(folder);
    run(&mut command, input)
}

both_modes! {
    with &[("STATEMENT_KEY", KEY)];

    async fn a_statement_is_printed_and_verified_without_the_service(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        clicked(app, &code, "2026-10-10T13:00:00Z", 5).await;
        let key = app.request(Method::POST, "/auth/keys").bearer_auth(&token);
        let key = Response::of(key.json(&json!({"name": "a key", "scope": "read"}))).await.json();
        let key = key["key"].as_str().unwrap();
        let october = command(app, key, &["statement", &code, "--month", "2026-10"]).succeeds();
        assert_eq!(october, statement(app, &token, &code, "month=2026-10").await);
        let september = command(app, key, &["statement", &code, "--month=2026-09", "--tz=UTC"]).succeeds();
        command(app, key, &["statement", &code, "--month=2026-08"]).fails(1, "must not be before 2026-09");
        command(app, key, &["statement", "nosuch1", "--month=2026-08"]).fails(4, "nosuch1: URL not found");
        let keys = key_set(app).await;
        let folder = tempfile::tempdir().unwrap();
        let save = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        save("10.json", &october);
        save("09.json", &september);
        verify(folder.path(), &["10.json"], "").fails(2, "shunt-keys.json is missing");
        save("keys", &keys.to_string());
        let said = verify(folder.path(), &["10.json", "--keys", "keys"], "").succeeds();
        assert!(said.starts_with(&format!("10.json: {code}, 2026-10 (UTC): 5 clicks, 5 of them by people\n")), "{said}");
        save("shunt-keys.json", &keys.to_string());
        let both = verify(folder.path(), &["10.json", "09.json"], "").succeeds();
        let digest = |month: &str| shunt::domain::sha256_of(month);
        assert!(both.contains(&digest(&september)) && both.contains(&digest(&october)), "{both}");
        verify(folder.path(), &["-"], &october).succeeds();
        let found = verify(folder.path(), &["10.json", "--json"], "").json();
        assert_eq!((&found["clicks"], &found["digest"]), (&json!(5), &json!(digest(&october))));
        // Written in another way it says the same.
        let pretty: Value = serde_json::from_str(&october).unwrap();
        save("pretty.json", &serde_json::to_string_pretty(&pretty).unwrap());
        verify(folder.path(), &["pretty.json"], "").succeeds();
    }

    async fn a_statement_that_was_changed_is_refused(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        let october = statement(app, &token, &code, "month=2026-10").await;
        let folder = tempfile::tempdir().unwrap();
        let save = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        save("shunt-keys.json", &key_set(app).await.to_string());
        save("good.json", &october);
        for (from, to, why) in [
            ("\"clicks\":0", "\"clicks\":1000", "the signature is wrong"),
            (code.as_str(), "another", "the signature is wrong"),
            ("\"people\":0", "\"people\":0.5", "this is no statement"),
            ("{", "{\"note\":1,", "this is no statement"),
            ("\"key_id\":\"", "\"key_id\":\"x", "is not among the keys"),
        ] {
            save("bad.json", &october.replacen(from, to, 1));
            verify(folder.path(), &["bad.json"], "").fails(1, why);
            verify(folder.path(), &["bad.json"], "").fails(1, "bad.json: ");
        }
        // One that is refused hides no other.
        let some = verify(folder.path(), &["bad.json", "good.json"], "");
        assert_eq!((some.code, some.out.lines().count(), some.err.lines().count()), (1, 2, 1), "{some:?}");
        verify(folder.path(), &["none.json"], "").fails(1, "none.json: ");
        save("shunt-keys.json", "{}");
        verify(folder.path(), &["good.json"], "").fails(1, "no keys of statements");
    }

    async fn a_month_that_others_do_not_follow_is_refused(app) {
        let token = app.register().await;
        let (one, other) = (old_link(app, &token).await, old_link(app, &token).await);
        let folder = tempfile::tempdir().unwrap();
        let save = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        save("09.json", &statement(app, &token, &one, "month=2026-09").await);
        app.server.stop().await;
        // A second service has signed another statement of the same month and link: here by the other key, from the same database.
        app.backend.execute("DELETE FROM statements WHERE month >= $1", "2026-09").await;
        app.server = app.another(&[("STATEMENT_KEY", OTHER_KEY)]).await;
        save("10.json", &statement(app, &token, &one, "month=2026-10").await);
        save("other-10.json", &statement(app, &token, &other, "month=2026-10").await);
        save("shunt-keys.json", &key_set(app).await.to_string());
        verify(folder.path(), &["10.json"], "").succeeds();
        verify(folder.path(), &["09.json", "other-10.json"], "").succeeds();
        for files in [["09.json", "10.json"], ["10.json", "09.json"]] {
            let refused = verify(folder.path(), &files, "");
            assert_eq!((refused.code, refused.out.lines().count()), (1, 2), "{refused:?}");
            assert!(refused.err.contains("name"), "{refused:?}");
        }
    }
}
