//! A Postgres of a test's own, which can be stopped and killed.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::support::redis_server::free_port;
use crate::support::unprivileged;

pub(crate) struct Postgres {
    folder: TempDir,
    port: u16,
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let folder = unprivileged::folder();
        let postgres = Self {
            folder,
            port: free_port(),
        };
        let mut initdb = postgres.program("initdb");
        run(initdb
            .args(["-A", "trust", "-U", "postgres", "--no-sync", "-D"])
            .arg(postgres.data()));
        postgres.start_again();
        postgres
    }

    /// A streaming replica of this server, with a further setting.
    pub(crate) fn replica(&self, setting: &str) -> Self {
        let replica = Self {
            folder: unprivileged::folder(),
            port: free_port(),
        };
        let mut copy = replica.program("pg_basebackup");
        copy.args([
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
            "-h",
            "127.0.0.1",
        ])
        .args(["-U", "postgres", "-p", &self.port.to_string(), "-D"]);
        run(copy.arg(replica.data()));
        let settings = replica.data().join("postgresql.auto.conf");
        let mut settings = OpenOptions::new().append(true).open(settings).unwrap();
        writeln!(settings, "{setting}").unwrap();
        replica.start_again();
        replica
    }

    pub(crate) async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// A dump as the runbook makes it.
    pub(crate) fn dump(&self, file: &Path) {
        let mut dump = self.client("pg_dump");
        dump.args(["-Fc", "postgres"]);
        let done = dump.stdout(File::create(file).unwrap()).status().unwrap();
        assert!(done.success());
    }

    /// Restores a dump into an empty database of this name, as the runbook does; returns its URL.
    pub(crate) fn restore(&self, dump: &Path, database: &str) -> String {
        run(self.client("createdb").arg(database));
        let mut restore = self.client("pg_restore");
        restore.args(["-d", database, "--exit-on-error", "--single-transaction"]);
        run(restore.stdin(File::open(dump).unwrap()));
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn client(&self, name: &str) -> Command {
        let mut client = self.program(name);
        client.args([
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &self.port.to_string(),
        ]);
        client
    }

    pub(crate) fn start_again(&self) {
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off",
            self.port
        );
        let mut start = self.program("pg_ctl");
        start
            .args(["-w", "-t", "60", "-o", &options, "-l"])
            .arg(self.folder.path().join("log"));
        run(start.arg("-D").arg(self.data()).arg("start"));
    }

    /// Cuts all connections and stops at once.
    pub(crate) fn stop(&self) {
        let mut stop = self.program("pg_ctl");
        run(stop
            .args(["-m", "immediate", "-D"])
            .arg(self.data())
            .arg("stop"));
    }

    /// A copy of all files of a server that is stopped.
    pub(crate) fn copy(&self) -> TempDir {
        let copy = unprivileged::folder();
        copy_all(&self.data(), &copy.path().join("data"));
        copy
    }

    /// Puts the files of such a copy in the place of those of this server, which is stopped.
    pub(crate) fn put_back(&self, copy: &TempDir) {
        std::fs::remove_dir_all(self.data()).unwrap();
        copy_all(&copy.path().join("data"), &self.data());
    }

    /// Starts this standby, which is stopped, under the address of a server that is gone, and makes it the primary.
    pub(crate) async fn take_over(&mut self, from: &Self) {
        self.port = from.port;
        self.start_again();
        let promoted = sqlx::query_scalar("SELECT pg_promote()");
        let promoted: bool = promoted
            .fetch_one(&mut self.connection().await)
            .await
            .unwrap();
        assert!(promoted);
    }

    /// `kill -9` of all its processes.
    pub(crate) fn kill(&self) {
        let postmaster = self.postmaster();
        let signal = |name: &str, pids: &[&str]| {
            let mut kill = Command::new("kill");
            kill.arg(format!("-{name}"))
                .args(pids)
                .stderr(Stdio::null())
                .status()
                .unwrap();
        };
        // So that the postmaster starts no further process while they are listed.
        signal("STOP", &[&postmaster]);
        let children = Command::new("pgrep").args(["-P", &postmaster]).output();
        let children = String::from_utf8(children.unwrap().stdout).unwrap();
        let all: Vec<_> = children.lines().chain([postmaster.as_str()]).collect();
        signal("KILL", &all);
        while all.iter().any(|pid| is_running(pid)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        // A start would take this number for a running server, where zombies are not reaped.
        std::fs::remove_file(self.data().join("postmaster.pid")).unwrap();
    }

    fn postmaster(&self) -> String {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        file.lines().next().unwrap().to_owned()
    }

    /// Sends a signal, such as `STOP`, to all its processes.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.postmaster();
        run(Command::new("kill").arg(format!("-{name}")).arg(&pid));
        run(Command::new("pkill")
            .arg(format!("-{name}"))
            .args(["-P", &pid]));
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = unprivileged::command(&programs().join(name));
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["-m", "immediate", "-D"])
            .arg(self.data())
            .arg("stop");
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Whether a process runs, and is no zombie.
fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| !status.contains(") Z ") && !status.contains(") X "))
}

fn copy_all(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").args([from, to]));
}

fn run(command: &mut Command) {
    let done = command.stdout(Stdio::null()).status().unwrap();
    assert!(done.success(), "{command:?}");
}

/// The folder of Debian's newest Postgres; empty where `PATH` has to find it.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let newest = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .max();
    newest.unwrap_or_else(|| Path::new("").to_owned())
}
