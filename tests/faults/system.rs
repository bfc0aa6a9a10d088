//! Faults of the machine: a full disk.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::sleep;

use crate::faults::readers::Readers;
use crate::faults::{nothing_is_in_memory_alone, redirects_go_on, under_full_load, warm_links};
use crate::support::{App, Mode, eventually};

/// A small disk, mounted for one test; needs root.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None` where no disk can be mounted and the test may be skipped; the output says so.
    fn at(folder: &'a Path, megabytes: u32) -> Option<Self> {
        let mounted = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={megabytes}m"),
                "shunt-test",
            ])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        assert!(
            std::env::var_os("SHUNT_TEST_NO_MOUNT").is_some(),
            "a small disk cannot be mounted, which needs root; SHUNT_TEST_NO_MOUNT=1 leaves this test out"
        );
        println!("skipped: a small disk cannot be mounted");
        None
    }

    fn database_url(&self) -> String {
        format!("sqlite://{}/shunt.db", self.0.display())
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
    let Some(disk) = SmallDisk::at(folder.path(), 64) else {
        return;
    };
    let url = disk.database_url();
    let app = App::start_with(Mode::Embedded, &[("DATABASE_URL", &url)]).await;
    let token = app.register().await;
    let codes = warm_links(&app).await;
    let (address, load) = under_full_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    disk.fill();
    let target = format!("https://example.org/{}", "x".repeat(1_500));
    // The next one may find room: a log that was written back is begun again.
    eventually("a request that needs space is refused", async || {
        let refused = app.try_shorten(&token, &target).await;
        refused.status == 503 && refused.header("retry-after") == "1"
    })
    .await;
    redirects_go_on(&load).await;
    disk.make_room();
    eventually("there is room again", async || {
        app.try_shorten(&token, &target).await.status == 200
    })
    .await;
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    nothing_is_in_memory_alone(&app).await;
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    let state: String = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(state, "ok");
}

#[tokio::test]
async fn the_log_of_sqlite_does_not_fill_a_small_disk() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::at(folder.path(), 16) else {
        return;
    };
    let app = App::start_with(Mode::Embedded, &[("DATABASE_URL", &disk.database_url())]).await;
    let token = app.register().await;
    let codes = warm_links(&app).await;
    let (_, load) = under_full_load(&app, &codes).await;
    let enough = load.tally.answered() + 50_000;
    while load.tally.answered() < enough {
        let made = app.try_shorten(&token, "https://example.org/").await;
        assert_eq!(made.status, 200, "{made:?}");
        sleep(Duration::from_millis(50)).await;
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    nothing_is_in_memory_alone(&app).await;
    tally.check_bounds(&app).await;
}
