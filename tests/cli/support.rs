//! A service, and a person with a home of their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// The password of every account here.
pub(crate) const PASSWORD: &str = "correct horse";

/// A running embedded service; killed when dropped.
pub(crate) struct Service {
    child: Child,
    pub(crate) base: String,
    _folder: TempDir,
}

/// What the program said, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Somebody at a terminal, with a home of their own.
pub(crate) struct Person {
    home: TempDir,
    url: String,
}

/// The program, deaf to the environment of whoever runs the tests.
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
pub(crate) fn run(command: &mut Command, input: &str) -> Said {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that ends without reading closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Service {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}/shunt.db", folder.path().display());
        let mut child = shunt()
            .env("BIND", "127.0.0.1:0")
            .env("DATABASE_URL", database)
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
        thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        Self {
            child,
            base,
            _folder: folder,
        }
    }

    /// Address without its scheme.
    pub(crate) fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }

    /// Follows a short link; answers the status line and the headers.
    pub(crate) fn visit(&self, short_url: &str) -> String {
        let path = short_url.strip_prefix(&self.base).unwrap();
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let patience = Some(Duration::from_secs(30));
        stream.set_read_timeout(patience).unwrap();
        let host = self.address();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Said {
    /// It went well; what was printed.
    #[track_caller]
    pub(crate) fn good(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.err, "", "what goes well is quiet");
        self.out
    }

    /// It went well; what was printed, without the end of the line.
    #[track_caller]
    pub(crate) fn line(self) -> String {
        let out = self.good();
        assert_eq!(out.lines().count(), 1, "{out}");
        out.trim_end().to_owned()
    }

    /// It went well and printed JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.good()).unwrap()
    }

    /// It failed with this code and one line that holds these words.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.contains(words), "{self:?}");
    }
}

impl Person {
    /// Who uses this service, and has no account there yet.
    pub(crate) fn of(service: &Service) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            url: service.base.clone(),
        }
    }

    /// The same with an account.
    pub(crate) fn registered(service: &Service, email: &str) -> Self {
        let person = Self::of(service);
        person.says_with(&["register", email], PASSWORD).good();
        person
    }

    /// The program with a command line of theirs.
    pub(crate) fn command(&self, line: &[&str]) -> Command {
        let mut command = shunt();
        command.args(line);
        command.env("HOME", self.home.path());
        command.env("SHUNT_URL", &self.url);
        command
    }

    pub(crate) fn says(&self, line: &[&str]) -> Said {
        self.says_with(line, "")
    }

    /// A command with something on standard input.
    pub(crate) fn says_with(&self, line: &[&str], input: &str) -> Said {
        run(&mut self.command(line), input)
    }

    /// Where their tokens are.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.home.path().join(".config/shunt/token.json")
    }
}
