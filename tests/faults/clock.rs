//! The time of day set back and forth.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::readers::Readers;
use crate::support::{App, Mode, Response, unique};
use crate::{goes_on, under_load, warm_links};

const PASSWORD: &str = "correct horse";

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

/// Where Debian's libfaketime is: the one for threads. The other shows one thread the right time while another reads
/// the file, some hundred times in 400,000 looks by eight threads.
fn libfaketime() -> String {
    let found = Command::new("dpkg")
        .args(["-L", "libfaketime"])
        .output()
        .unwrap();
    let files = String::from_utf8(found.stdout).unwrap();
    let library = files
        .lines()
        .find(|file| file.ends_with("/libfaketimeMT.so.1"));
    library.expect("libfaketime is installed").to_owned()
}

async fn set_back_and_forth(mode: Mode) {
    let clock = Clock::right();
    let app = clock.app(mode, ("FLUSH_INTERVAL_MS", "20")).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.books).await;
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

mod a_clock_set_back_and_forth_does_no_harm {
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

/// Whose token it is, is told with this clock.
async fn is_good(app: &App, token: &str) {
    let response = app.get_as(token, "/auth/me").await;
    assert_eq!(response.status, 200, "{response:?}");
}

async fn is_refused(app: &App, token: &str) {
    let response = app.get_as(token, "/auth/me").await;
    response.is_error(401, "Not authenticated");
    assert_eq!(response.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn a_token_is_good_while_the_clock_is_between_its_beginning_and_its_end() {
    let clock = Clock::right();
    let app = clock.app(Mode::Embedded, ("LIMIT_LOGIN", "0")).await;
    let token = app.register().await;
    for (offset, good) in [
        ("+1h", true),
        ("+2h", false),
        ("+1h", true),
        ("+0", true),
        // Clocks of instances differ by so much.
        ("-4m", true),
        // From the future: nobody issued it yet.
        ("-1h", false),
        ("+0", true),
    ] {
        clock.set(offset);
        if good {
            is_good(&app, &token).await;
        } else {
            is_refused(&app, &token).await;
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn a_new_log_in_works_after_the_clock_was_set_back() {
    let clock = Clock::right();
    let app = clock.app(Mode::Embedded, ("LIMIT_LOGIN", "0")).await;
    let email = format!("{}@example.org", unique());
    let token = |response: &Response| response.json()["access_token"].as_str().unwrap().to_owned();
    clock.set("+1h");
    let ahead = token(&app.account("/auth/register", &email, PASSWORD).await);
    is_good(&app, &ahead).await;
    clock.set("+0");
    is_refused(&app, &ahead).await;
    let anew = token(&app.account("/auth/login", &email, PASSWORD).await);
    is_good(&app, &anew).await;
    // Both, once the clock is there again.
    clock.set("+1h");
    is_good(&app, &ahead).await;
    is_good(&app, &anew).await;
    app.finish().await;
}

async fn limited(mode: Mode) {
    let clock = Clock::right();
    let app = clock.app(mode, ("LIMIT_LOGIN", "4")).await;
    let email = format!("{}@example.org", unique());
    let tries = async || app.account("/auth/login", &email, PASSWORD).await;
    for offset in ["+0", "-1h", "+1h", "+2h", "-2h"] {
        clock.set(offset);
        // The limit of another minute, which that clock never showed before.
        assert_eq!(tries().await.status, 401, "at {offset}");
        let mut refused = tries().await;
        // The turn of a minute may come in between, and a machine that is busy with other tests answers 503.
        for _ in 0..8 {
            if refused.status != 429 {
                refused = tries().await;
            }
        }
        assert_eq!(refused.status, 429, "at {offset}");
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait} s at {offset}");
    }
    app.finish().await;
}

mod a_limit_refuses_no_client_for_more_than_a_minute_whatever_the_clock_does {
    use super::{Mode, limited};

    #[tokio::test]
    async fn embedded() {
        limited(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        limited(Mode::Production).await;
    }
}
