//! A service, and a person with a home of their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The password of every account here.
pub(crate) const PASSWORD: &str = "correct horse";

/// A running embedded service; killed when dropped.
pub(crate) struct Service {
    child: Child,
    pub(crate) base: String,
    /// What it printed at its start.
    banner: Receiver<String>,
    _folder: TempDir,
}

/// The output of a program that has ended, and its exit code.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A person who uses the client commands, with a home of their own.
pub(crate) struct Person {
    home: TempDir,
    url: String,
}

/// The program, without the environment of the person who runs the tests.
pub(crate) fn shunt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shunt"));
    command.env_clear();
    // Where the coverage of a child process goes, if it is measured.
    if let Some(profile) = std::env::var_os("LLVM_PROFILE_FILE") {
        command.env("LLVM_PROFILE_FILE", profile);
    }
    command
}

/// Runs a command to its end, with this on standard input.
pub(crate) fn run(command: &mut Command, input: &str) -> Finished {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that ends without reading closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Finished {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Service {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a service with further settings.
    pub(crate) fn start_with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}/shunt.db", folder.path().display());
        let mut child = shunt()
            .env("BIND", "127.0.0.1:0")
            .env("DATABASE_URL", database)
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let base = loop {
            line.clear();
            assert!(
                stdout.read_line(&mut line).unwrap() > 0,
                "the service did not start"
            );
            if let Some((_, address)) = line.split_once("listening on ") {
                break address.trim().to_owned();
            }
        };
        // Reads on: a full pipe would stop the service.
        let (sender, banner) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The test may not want the banner.
                let _ = sender.send(line);
            }
        });
        Self {
            child,
            base,
            banner,
            _folder: folder,
        }
    }

    /// The banner's lines below the first, up to this one.
    pub(crate) fn banner_up_to(&self, last: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while lines.last().is_none_or(|line| !line.contains(last)) {
            lines.push(self.banner.recv_timeout(Duration::from_secs(30)).unwrap());
        }
        lines
    }

    /// Address without its scheme.
    pub(crate) fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }

    /// Follows a short link; returns the status line and the headers.
    pub(crate) fn follow(&self, short_url: &str) -> String {
        let path = short_url.strip_prefix(&self.base).unwrap();
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).unwrap();
        let host = self.address();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Checks that it succeeded; returns what it printed.
    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.err, "", "success is silent on standard error");
        self.out
    }

    /// Checks that it succeeded and printed one line; returns that line.
    #[track_caller]
    pub(crate) fn line(self) -> String {
        let out = self.succeeds();
        assert_eq!(out.lines().count(), 1, "{out}");
        out.trim_end().to_owned()
    }

    /// Checks that it succeeded; returns the JSON that it printed.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.succeeds()).unwrap()
    }

    /// Checks that it failed with this code and one line that contains these words.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.contains(words), "{self:?}");
    }
}

impl Person {
    /// A user of this service without an account.
    pub(crate) fn of(service: &Service) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            url: service.base.clone(),
        }
    }

    /// A user of this service with an account.
    pub(crate) fn registered(service: &Service, email: &str) -> Self {
        let person = Self::of(service);
        person
            .runs_with_input(&["register", email], PASSWORD)
            .succeeds();
        person
    }

    /// The program with a command line of this person.
    pub(crate) fn command(&self, line: &[&str]) -> Command {
        let mut command = shunt();
        command.args(line);
        command.env("HOME", self.home.path());
        command.env("SHUNT_URL", &self.url);
        command
    }

    pub(crate) fn runs(&self, line: &[&str]) -> Finished {
        self.runs_with_input(line, "")
    }

    /// A command with something on standard input.
    pub(crate) fn runs_with_input(&self, line: &[&str], input: &str) -> Finished {
        run(&mut self.command(line), input)
    }

    /// The file with this person's tokens.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.home.path().join(".config/shunt/token.json")
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn eventually(within: Duration, is_so: impl Fn() -> bool) {
    let end = Instant::now() + within;
    while !is_so() {
        assert!(Instant::now() < end, "it did not become so in time");
        thread::sleep(Duration::from_millis(20));
    }
}
