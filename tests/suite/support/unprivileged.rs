//! Servers that refuse to run as root. Where the tests run as root, these run as Debian's user `postgres`.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A folder that an unprivileged server may write to.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if is_root() {
        let mut chown = Command::new("chown");
        let done = chown.arg("postgres").arg(folder.path()).status();
        assert!(done.unwrap().success());
    }
    folder
}

/// The command of an unprivileged server, without arguments.
pub(crate) fn command(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--init-groups"])
        .arg(program);
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
