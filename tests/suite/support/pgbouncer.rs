//! A PgBouncer of a test's own.

use std::path::Path;
use std::process::{Child, Stdio};

use tempfile::TempDir;

use super::redis_server::free_port;
use super::unprivileged;

/// A PgBouncer in transaction mode with few connections; killed when dropped.
pub(crate) struct PgBouncer {
    port: u16,
    child: Child,
    /// The folder of its configuration.
    _folder: TempDir,
}

impl PgBouncer {
    /// Connections to Postgres per database.
    pub(crate) const SERVERS: i64 = 4;

    /// Starts a PgBouncer in front of a Postgres, with further settings.
    pub(crate) async fn start(postgres_url: &str, settings: &str) -> Self {
        let folder = unprivileged::folder();
        let port = free_port();
        let file = folder.path().join("pgbouncer.ini");
        let users = folder.path().join("users");
        let postgres = url::Url::parse(postgres_url).unwrap();
        let password = postgres.password().unwrap_or_default();
        let user = format!("\"{}\" \"{password}\"", postgres.username());
        std::fs::write(&users, user).unwrap();
        let text = configuration(port, &postgres, &users, settings);
        std::fs::write(&file, text).unwrap();
        let child = unprivileged::command(Path::new("pgbouncer"))
            .arg("--quiet")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pgbouncer = Self {
            port,
            child,
            _folder: folder,
        };
        super::eventually("PgBouncer answers", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        })
        .await;
        pgbouncer
    }

    /// The URL of the same database through this PgBouncer.
    pub(crate) fn url_of(&self, database_url: &str) -> String {
        let mut url = url::Url::parse(database_url).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.port)).unwrap();
        url.into()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(port: u16, postgres: &url::Url, users: &Path, settings: &str) -> String {
    format!(
        "[databases]
        * = host={} port={}
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = trust
        auth_file = {}
        pool_mode = transaction
        default_pool_size = {}
        {settings}
        ",
        postgres.host_str().unwrap(),
        postgres.port().unwrap_or(5432),
        users.display(),
        PgBouncer::SERVERS,
    )
}
