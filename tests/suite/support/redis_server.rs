//! Redis servers of a test's own, for faults that would disturb other tests.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;

/// A Redis with its own folder; killed when dropped.
pub(crate) struct RedisServer {
    pub(crate) folder: TempDir,
    port: u16,
    arguments: Vec<String>,
    pub(crate) child: Child,
}

/// A free port outside the range for outgoing connections, which could take it while a server is being restarted.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = 10_000 + u16::try_from(getrandom::u32().unwrap() % 22_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl RedisServer {
    /// Starts a server that keeps everything in memory, with further arguments.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let port = free_port();
        let number = port.to_string();
        Self::start_on(port, &[&["--port", &number], arguments].concat()).await
    }

    /// Starts a server that speaks TLS alone and requires a password. The folder has its certificate for 127.0.0.1,
    /// and `ca.pem`, that of the authority.
    pub(crate) async fn start_with_tls(password: &str, folder: &Path) -> Self {
        let port = free_port();
        let number = port.to_string();
        let file = |name: &str| folder.join(name).display().to_string();
        let (ca, certificate, key) = (file("ca.pem"), file("redis.pem"), file("redis.key"));
        let arguments = [
            ["--port", "0"],
            ["--tls-port", &number],
            ["--tls-cert-file", &certificate],
            ["--tls-key-file", &key],
            ["--tls-ca-cert-file", &ca],
            ["--tls-auth-clients", "no"],
            ["--requirepass", password],
        ];
        Self::start_on(port, arguments.as_flattened()).await
    }

    async fn start_on(port: u16, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let child = spawn(folder.path(), &arguments);
        let server = Self {
            folder,
            port,
            arguments,
            child,
        };
        server.is_ready().await;
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// Writes a snapshot and puts it aside, for [`RedisServer::roll_back_to_snapshot`].
    pub(crate) async fn save_snapshot(&self) {
        let mut connection = self.connection().await;
        redis::cmd("SAVE")
            .exec_async(&mut connection)
            .await
            .unwrap();
        std::fs::rename(self.snapshot("dump.rdb"), self.snapshot("kept.rdb")).unwrap();
    }

    /// `kill -9`, and a start with the saved snapshot.
    pub(crate) async fn roll_back_to_snapshot(&mut self) {
        self.kill();
        std::fs::copy(self.snapshot("kept.rdb"), self.snapshot("dump.rdb")).unwrap();
        self.start_again().await;
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the server without ending it: connections to it stay open and are not answered.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    /// Goes on after [`RedisServer::pause`].
    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.unwrap().success());
    }

    /// Starts the server after a kill, with the files in its folder.
    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(self.folder.path(), &self.arguments);
        self.is_ready().await;
    }

    async fn is_ready(&self) {
        super::eventually("Redis is_ready", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", self.port))
                .await
                .is_ok()
        })
        .await;
    }

    fn snapshot(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &Path, arguments: &[String]) -> Child {
    Command::new("redis-server")
        .args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
        ])
        .arg(folder)
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}
