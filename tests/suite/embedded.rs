//! The files of the embedded mode: who may use them, and when they are made.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::support::{App, Mode, Server, command, eventually, refused};

fn database(url: &str) -> Vec<(String, String)> {
    vec![("DATABASE_URL".to_owned(), url.to_owned())]
}

#[test]
fn a_missing_folder_of_the_database_is_named_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such");
    let url = format!("sqlite://{}/x.db", missing.display());
    let ended = refused(&database(&url));
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let named = format!(
        "DATABASE_URL: the folder {} does not exist",
        missing.display()
    );
    assert!(ended.stderr.contains(&named), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_folder_of_the_default_database_is_made_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut migrate = command(&[]);
    let finished = migrate.arg("migrate").current_dir(folder.path()).output();
    assert!(finished.unwrap().status.success());
    let data = std::fs::metadata(folder.path().join("data")).unwrap();
    assert_eq!(data.permissions().mode() & 0o777, 0o700);
    assert!(folder.path().join("data/shunt.db").exists());
}

#[tokio::test]
async fn a_second_process_on_one_sqlite_file_is_refused_until_the_first_is_gone() {
    let mut app = App::start(Mode::Embedded).await;
    let settings = app.backend.settings();
    let ended = refused(&settings);
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let path = app.backend.folder().join("shunt.db");
    let named = format!(
        "DATABASE_URL: {} is in use by another shunt",
        path.display()
    );
    assert!(ended.stderr.contains(&named), "{}", ended.stderr);
    // A newer program would change the schema under the running one.
    let migrate = command(&settings).arg("migrate").output().unwrap();
    assert_eq!(migrate.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&migrate.stderr).contains("is in use by another shunt"));
    app.server.kill();
    app.server = Server::start(&settings).await;
    app.finish().await;
}

#[tokio::test]
async fn the_embedded_database_is_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let url = format!("sqlite://{}", path.display());
    let _server = Server::start(&database(&url)).await;
    for ending in ["", "-wal", "-shm"] {
        let file = format!("{}{ending}", path.display());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn nothing_is_written_while_the_database_file_is_moved_away() {
    let app = App::start(Mode::Embedded).await;
    let token = app.register().await;
    app.shorten(&token, "https://example.org/").await;
    let path = app.backend.folder().join("shunt.db");
    let aside = app.backend.folder().join("aside.db");
    std::fs::rename(&path, &aside).unwrap();
    eventually("it is noticed", async || {
        app.try_shorten(&token, "https://example.org/").await.status == 503
    })
    .await;
    assert_eq!(app.get("/ready").await.json()["database"], "away");
    assert!(!path.exists(), "no other is made in its place");
    assert!(app.server.log().contains("was removed or replaced"));
    std::fs::rename(&aside, &path).unwrap();
    eventually("it is back", async || {
        app.try_shorten(&token, "https://example.org/").await.status == 200
    })
    .await;
    app.finish().await;
}

#[tokio::test]
async fn the_embedded_secret_is_made_once_and_readable_by_its_owner_only() {
    let mut app = App::start(Mode::Embedded).await;
    let token = app.register().await;
    let path = app.backend.folder().join("shunt.db.jwt-secret");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = app.backend.secret();
    assert!(before.len() >= 32);
    app.server.stop().await;
    app.server = Server::start(&app.backend.settings()).await;
    assert_eq!(app.backend.secret(), before);
    assert_eq!(
        app.get_as(&token, "/auth/me").await.status,
        200,
        "tokens outlive a restart"
    );
    app.finish().await;
}

#[tokio::test]
async fn a_world_readable_secret_is_warned_of() {
    let mut app = App::start(Mode::Embedded).await;
    let path = app.backend.folder().join("shunt.db.jwt-secret");
    let warns = |app: &App| app.server.log().contains("chmod o-r it");
    for (mode, is_warned_of) in [(0o640, false), (0o644, true)] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        app.server.stop().await;
        app.server = Server::start(&app.backend.settings()).await;
        assert_eq!(warns(&app), is_warned_of, "{mode:o}");
    }
    app.finish().await;
}
