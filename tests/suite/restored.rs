//! A database that was restored from a backup gives ids out again: a token names its account by more than an id.

use std::fs;
use std::path::Path;

use crate::support::{App, Mode};

/// Forgets the newest account, and that its id was given out, as a restored backup of before does.
async fn restore(mode: Mode, app: &mut App, account: &str, backup: &Path) {
    if mode == Mode::Production {
        let sql = "DELETE FROM users WHERE id = $1::text::bigint";
        app.backend.execute(sql, account).await;
        let sql = "SELECT setval(pg_get_serial_sequence('users', 'id'), $1::text::bigint, false)";
        app.backend.execute(sql, account).await;
        return;
    }
    app.server.stop().await;
    copy(backup, app.backend.folder());
    app.server = app.another(&[]).await;
}

fn copy(from: &Path, to: &Path) {
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

async fn id_of(app: &App, token: &str) -> String {
    app.get_as(token, "/auth/me").await.json()["id"].to_string()
}

async fn tokens_end_with_their_account(mode: Mode) {
    let mut app = App::start(mode).await;
    app.register().await;
    let backup = tempfile::tempdir().unwrap();
    if mode == Mode::Embedded {
        app.server.stop().await;
        copy(app.backend.folder(), backup.path());
        app.server = app.another(&[]).await;
    }
    let stale = app.register().await;
    let id = id_of(&app, &stale).await;
    restore(mode, &mut app, &id, backup.path()).await;

    let token = app.register().await;
    assert_eq!(id_of(&app, &token).await, id, "the id comes again");
    let code = app.shorten(&token, "https://example.org/").await;
    for path in [
        "/auth/me",
        "/urls/my",
        "/urls/my?limit=5",
        "/urls/my?limit=none",
    ] {
        app.get_as(&stale, path)
            .await
            .is_error(401, "Not authenticated");
    }
    for target in ["https://example.org/", "no address"] {
        app.try_shorten(&stale, target)
            .await
            .is_error(401, "Not authenticated");
    }
    for code in [code.as_str(), "unknown", "no-code!"] {
        app.delete(&stale, code)
            .await
            .is_error(401, "Not authenticated");
    }
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    let listed = app.get_as(&token, "/urls/my").await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    app.finish().await;
}

mod a_token_of_an_account_that_a_restored_database_lacks_is_not_that_of_the_next_account {
    use super::{Mode, tokens_end_with_their_account};

    #[tokio::test]
    async fn embedded() {
        tokens_end_with_their_account(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        tokens_end_with_their_account(Mode::Production).await;
    }
}
