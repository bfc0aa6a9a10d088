//! The real nginx and the real Caddy, with what was exported.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::eventually;

/// What matters of an answer: its status, where it leads, and what it says to search engines.
pub(super) type Answer = (u16, String, String);

/// A server of another kind; it ends when it is dropped.
pub(super) struct Other {
    child: Child,
    /// How it is asked to end, if a signal is not enough.
    folder: TempDir,
}

/// The answer to a visit of a path at a host.
pub(super) async fn answer(base: &str, host: &str, path: &str) -> Answer {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let request = client.build().unwrap().get(format!("{base}{path}"));
    let response = request.header("host", host).send().await.unwrap();
    let header = |name: &str| {
        let value = response.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    (
        response.status().as_u16(),
        header("location"),
        header("x-robots-tag"),
    )
}

impl Other {
    /// nginx with this text in `http`.
    pub(super) async fn nginx(http: &str, port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display();
        let text = format!(
            "daemon off; worker_processes 1; pid {here}/pid; error_log {here}/error.log;
            events {{ worker_connections 512; }}
            http {{
                access_log off; client_body_temp_path {here}/a; proxy_temp_path {here}/b; fastcgi_temp_path {here}/c;
                uwsgi_temp_path {here}/d; scgi_temp_path {here}/e;
                {http}
            }}"
        );
        fs::write(folder.path().join("nginx.conf"), text).unwrap();
        let tested = nginx(folder.path()).arg("-t").output().unwrap();
        let said = String::from_utf8_lossy(&tested.stderr).into_owned();
        assert!(
            tested.status.success() && !said.contains("map_hash"),
            "{said}"
        );
        let child = nginx(folder.path()).spawn().unwrap();
        Self::listening(child, folder, port).await
    }

    /// Caddy with this Caddyfile.
    pub(super) async fn caddy(caddyfile: &str, port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Caddyfile");
        fs::write(
            &file,
            format!("{{\n\tadmin off\n\tauto_https off\n}}\n{caddyfile}"),
        )
        .unwrap();
        let mut caddy = Command::new("caddy");
        caddy
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(file);
        caddy
            .env("HOME", folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .env("XDG_CONFIG_HOME", folder.path());
        let child = caddy
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self::listening(child, folder, port).await
    }

    async fn listening(child: Child, folder: TempDir, port: u16) -> Self {
        let mut other = Self { child, folder };
        eventually("the other server listens", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        })
        .await;
        assert!(
            other.child.try_wait().unwrap().is_none(),
            "the other server has ended"
        );
        other
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let pid = self.folder.path().join("pid");
        if pid.exists() {
            let _ = nginx(self.folder.path()).args(["-s", "quit"]).status();
        } else {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn nginx(folder: &Path) -> Command {
    let mut command = Command::new("nginx");
    command
        .arg("-p")
        .arg(folder)
        .arg("-c")
        .arg(folder.join("nginx.conf"));
    command.arg("-e").arg(folder.join("error.log"));
    command
}
