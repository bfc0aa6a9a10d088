//! An nginx in front of instances: where one does not answer, nginx tries the next.

use std::path::Path;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::support::redis_server::free_port;

pub(crate) struct Nginx {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Nginx {
    pub(crate) fn in_front_of(bases: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        configure(folder.path(), port, bases);
        let child = command(folder.path()).spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        let listens = || std::net::TcpStream::connect(&address).is_ok();
        while !listens() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Self {
            folder,
            port,
            child,
        }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = command(self.folder.path()).args(["-s", "stop"]).status();
        let _ = self.child.wait();
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new("nginx");
    command
        .arg("-p")
        .arg(folder)
        .arg("-c")
        .arg(folder.join("nginx.conf"));
    command.arg("-e").arg(folder.join("error.log"));
    command
}

fn configure(folder: &Path, port: u16, bases: &[&str]) {
    let server =
        |base: &&str| format!("server {} max_fails=0;", base.trim_start_matches("http://"));
    let servers = bases.iter().map(server).collect::<Vec<_>>().join(" ");
    let here = folder.display();
    let text = format!(
        "daemon off; worker_processes 1; pid {here}/pid; error_log {here}/error.log;
        events {{ worker_connections 512; }}
        http {{
            access_log off; keepalive_requests 1000000;
            client_body_temp_path {here}/a; proxy_temp_path {here}/b; fastcgi_temp_path {here}/c;
            uwsgi_temp_path {here}/d; scgi_temp_path {here}/e;
            upstream shunt {{ {servers} keepalive 16; }}
            server {{
                listen 127.0.0.1:{port};
                location / {{
                    proxy_pass http://shunt; proxy_http_version 1.1; proxy_set_header Connection '';
                    proxy_next_upstream error timeout;
                }}
            }}
        }}"
    );
    std::fs::write(folder.join("nginx.conf"), text).unwrap();
}
