//! A time of day that the service alone sees, by libfaketime.

use std::path::PathBuf;
use std::process::Command;

use shunt::domain::Timestamp;
use tempfile::TempDir;

use super::{App, Mode, unix_seconds};

/// The clock of a service.
pub(crate) struct FakeClock {
    folder: TempDir,
}

impl FakeClock {
    /// The real time, until it is set.
    pub(crate) fn right() -> Self {
        let clock = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        clock.set("+0");
        clock
    }

    /// Sets the clock by an offset from the real time, such as `-1h`.
    pub(crate) fn set(&self, offset: &str) {
        // Replaced in one step, as the service reads the file all the time.
        let fresh = self.folder.path().join("fresh");
        std::fs::write(&fresh, offset).unwrap();
        std::fs::rename(fresh, self.file()).unwrap();
    }

    /// Sets the clock to a moment, from which it goes on.
    pub(crate) fn set_to(&self, moment: &str) {
        let moment: Timestamp = moment.parse().unwrap();
        let (moment, now) = (moment.unix_seconds(), unix_seconds());
        self.set(&format!("{:+}", i128::from(moment) - i128::from(now)));
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    /// A service with this clock, and further settings.
    pub(crate) async fn app(&self, mode: Mode, further: &[(&str, &str)]) -> App {
        let (library, file) = (libfaketime(), self.file().display().to_string());
        let mut settings = vec![
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", file.as_str()),
            ("FAKETIME_NO_CACHE", "1"),
            // Durations are measured by the monotonic clock, which never jumps.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        settings.extend(further);
        App::start_with(mode, &settings).await
    }
}

/// The path of Debian's libfaketime for threads. The plain one sometimes shows a thread the real time while another
/// thread reads the file: some hundred times in 400,000 reads by eight threads.
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
