//! Redis servers of a test's own, for what would disturb other tests.

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

/// A port that nobody listens on. None of those that the system gives to clients: one would have it when a server
/// that was ended is started again.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = 10_000 + u16::try_from(getrandom::u32().unwrap() % 22_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl RedisServer {
    /// Starts one that keeps everything in memory, with further arguments.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let port = free_port();
        let number = port.to_string();
        Self::start_on(port, &[&["--port", &number], arguments].concat()).await
    }

    /// Starts one that answers over TLS alone, with a certificate for 127.0.0.1 by an authority
    /// whose own is `ca.pem` in the same folder, and to whoever knows the password.
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
        server.answers().await;
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

    /// Writes a snapshot and puts it aside: what [`RedisServer::come_back_as_kept`] begins with.
    pub(crate) async fn keep_snapshot(&self) {
        let mut connection = self.connection().await;
        redis::cmd("SAVE")
            .exec_async(&mut connection)
            .await
            .unwrap();
        std::fs::rename(self.snapshot("dump.rdb"), self.snapshot("kept.rdb")).unwrap();
    }

    /// `kill -9`, and a start with the snapshot that was kept.
    pub(crate) async fn come_back_as_kept(&mut self) {
        self.kill();
        std::fs::copy(self.snapshot("kept.rdb"), self.snapshot("dump.rdb")).unwrap();
        self.start_again().await;
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it after a kill, with what is in its folder.
    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(self.folder.path(), &self.arguments);
        self.answers().await;
    }

    async fn answers(&self) {
        super::eventually("Redis answers", async || {
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
