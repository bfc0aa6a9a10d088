//! Harm to what the machine gives: space on the disk, and the time of day.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{App, Mode, eventually};
use crate::{goes_on, under_load, warm_links};

/// A small disk of its own; needs root.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn at(folder: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64m", "shunt-test"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(folder))
    }

    fn fill(&self) {
        let full = std::fs::write(self.0.join("ballast"), vec![0; 128 << 20]);
        assert!(full.is_err(), "the disk is larger than it should be");
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_under_sqlite_corrupts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::at(folder.path()) else {
        println!("not tested: mounting a small disk needs root");
        return;
    };
    let url = format!("sqlite://{}/shunt.db", folder.path().display());
    let app = App::start_with(Mode::Embedded, &[("DATABASE_URL", &url)]).await;
    let token = app.register().await;
    let codes = warm_links(&app).await;
    let (_, load) = under_load(&app, &codes).await;
    disk.fill();
    let target = format!("https://example.org/{}", "x".repeat(1_500));
    eventually("what needs space is refused", async || {
        app.try_shorten(&token, &target).await.status == 503
    })
    .await;
    let refused = app.try_shorten(&token, &target).await;
    assert_eq!(refused.header("retry-after"), "1");
    goes_on(&load).await;
    disk.make_room();
    eventually("there is room again", async || {
        app.try_shorten(&token, &target).await.status == 200
    })
    .await;
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    eventually("nothing is in memory alone", async || {
        crate::metric(&app, "shunt_clicks_memory_only").await < f64::EPSILON
    })
    .await;
    books.are_right(&app).await;
    app.finish().await;
    let database = folder.path().join("shunt.db");
    let url = format!("sqlite://{}", database.display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    let state: String = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(state, "ok");
}

/// Where Debian's libfaketime is.
fn libfaketime() -> String {
    let found = Command::new("dpkg")
        .args(["-L", "libfaketime"])
        .output()
        .unwrap();
    let files = String::from_utf8(found.stdout).unwrap();
    let library = files
        .lines()
        .find(|file| file.ends_with("/libfaketime.so.1"));
    library.expect("libfaketime is installed").to_owned()
}

#[tokio::test]
async fn a_clock_set_back_and_forth_hurts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    let set = |offset: &str| std::fs::write(&clock, offset).unwrap();
    set("+0");
    let clock_file = clock.display().to_string();
    let library = libfaketime();
    for mode in [Mode::Embedded, Mode::Production] {
        set("+0");
        let app = App::start_with(
            mode,
            &[
                ("LD_PRELOAD", &library),
                ("FAKETIME_TIMESTAMP_FILE", &clock_file),
                ("FAKETIME_NO_CACHE", "1"),
                // What measures spans of time is not set back by anybody.
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
                ("JWT_TTL_SECONDS", "5400"),
            ],
        )
        .await;
        let codes = warm_links(&app).await;
        let token = app.register().await;
        let (_, load) = under_load(&app, &codes).await;
        for offset in ["+1h", "+0", "-1h", "+1h", "+0"] {
            set(offset);
            goes_on(&load).await;
            let code = app
                .shorten(&app.register().await, "https://example.org/")
                .await;
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
        // Valid for an hour and a half: not after two.
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
        set("+2h");
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 401);
        set("+0");
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
        let books = load.stop().await;
        assert_eq!((books.refused(), books.cut_off()), (0, 0));
        books.are_right(&app).await;
        app.finish().await;
    }
}
