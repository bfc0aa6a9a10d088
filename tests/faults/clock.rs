//! The time of day set back and forth.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::readers::Readers;
use crate::support::{App, Mode};
use crate::{goes_on, under_load, warm_links};

/// A clock that is set for the service alone.
struct Clock {
    folder: TempDir,
}

impl Clock {
    fn right() -> Self {
        let clock = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        clock.set("+0");
        clock
    }

    /// So far from what it is, as `-1h`.
    fn set(&self, offset: &str) {
        // Whole at once: it is read all the time.
        let fresh = self.folder.path().join("fresh");
        std::fs::write(&fresh, offset).unwrap();
        std::fs::rename(fresh, self.file()).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    /// A service that goes by it, with a further setting.
    async fn app(&self, mode: Mode, setting: (&str, &str)) -> App {
        let (library, file) = (libfaketime(), self.file().display().to_string());
        let settings = [
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", file.as_str()),
            ("FAKETIME_NO_CACHE", "1"),
            // What measures spans of time is not set back by anybody.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            // An hour and a half.
            ("JWT_TTL_SECONDS", "5400"),
            setting,
        ];
        App::start_with(mode, &settings).await
    }
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

async fn set_back_and_forth(mode: Mode) {
    let clock = Clock::right();
    let app = clock.app(mode, ("FLUSH_INTERVAL_MS", "20")).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.books);
    for offset in ["+1h", "+0", "-1h", "+1h", "+0"] {
        clock.set(offset);
        goes_on(&load).await;
        let code = app
            .shorten(&app.register().await, "https://example.org/")
            .await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    readers.end_with(books.are_right(&app)).await;
    let log = app.server.log();
    assert!(!log.contains("panicked"), "{log}");
    app.finish().await;
}

mod a_clock_set_back_and_forth_hurts_nothing {
    use super::{Mode, set_back_and_forth};

    #[tokio::test]
    async fn embedded() {
        set_back_and_forth(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        set_back_and_forth(Mode::Production).await;
    }
}
