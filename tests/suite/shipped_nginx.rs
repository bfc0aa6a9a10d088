//! The service behind the nginx of `deploy/nginx`, with its files as they are shipped but for addresses.

use std::process::{Child, Command, Stdio};

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use crate::suite::managed::make;
use crate::support::{Response, both_modes, eventually, free_port, links};

both_modes! {
    async fn the_longest_location_passes_the_shipped_nginx(app) {
        let nginx = Nginx::in_front_of(&app.server.base).await;
        let token = app.register().await;
        let target = "https://example.org/?a=1";
        let mut forwards = links::forwarding(target);
        forwards["custom_code"] = json!("forwards");
        make(app, &token, &forwards).await;
        let longest = format!("https://example.org/{}", "ä".repeat(1_014));
        make(app, &token, &json!({"target_url": longest, "custom_code": "longest"})).await;
        let query = "x".repeat(8_192 - target.len() - 1);
        for (path, location) in [
            (format!("/forwards?{query}"), format!("{target}&{query}")),
            (format!("/urls/r/forwards?{query}"), format!("{target}&{query}")),
            ("/longest".to_owned(), longest.replace('ä', "%C3%A4")),
        ] {
            for method in [Method::GET, Method::HEAD] {
                let answer = nginx.send(&method, &path).await;
                assert_eq!((answer.status.as_u16(), answer.header("location")), (302, &*location), "{method}");
            }
        }
        let too_long = "The target URL with your query added is longer than 8192 bytes; send a shorter query";
        for (length, detail) in [
            (8_192, too_long),
            (16_000, too_long),
            (40_000, "The request URL is too long; send a shorter URL"),
        ] {
            let path = format!("/forwards?{}", "x".repeat(length));
            nginx.send(&Method::GET, &path).await.is_error(414, detail);
        }
        assert_eq!((app.clicks("forwards").await, app.clicks("longest").await), (2, 1));
    }
}

struct Nginx {
    folder: TempDir,
    base: String,
    client: reqwest::Client,
    child: Child,
}

impl Nginx {
    async fn in_front_of(service: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let shipped = include_str!("../../deploy/nginx/nginx.conf");
        let listens = "listen 8080 default_server reuseport;";
        assert!(shipped.contains(listens), "the file listens elsewhere");
        let own = shipped.replace(listens, &format!("listen {address} default_server;"));
        std::fs::write(folder.path().join("nginx.conf"), own).unwrap();
        let server = include_str!("../../deploy/nginx/server.conf");
        std::fs::write(folder.path().join("server.conf"), server).unwrap();
        let instance = service.trim_start_matches("http://");
        let instances = ["redirects", "api"]
            .map(|name| format!("upstream shunt_{name} {{ server {instance} max_fails=0; }}\n"));
        std::fs::write(folder.path().join("instances.conf"), instances.concat()).unwrap();
        let child = Self::command(&folder).spawn().unwrap();
        eventually("nginx listens", async || {
            tokio::net::TcpStream::connect(&address).await.is_ok()
        })
        .await;
        let policy = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().redirect(policy).build().unwrap();
        let base = format!("http://{address}");
        Self {
            folder,
            base,
            client,
            child,
        }
    }

    fn command(folder: &TempDir) -> Command {
        let mut command = Command::new("nginx");
        command
            .arg("-p")
            .arg(folder.path())
            .args(["-e", "stderr", "-c"]);
        command.arg(folder.path().join("nginx.conf"));
        command.stdout(Stdio::null());
        command
    }

    async fn send(&self, method: &Method, path: &str) -> Response {
        Response::of(
            self.client
                .request(method.clone(), format!("{}{path}", self.base)),
        )
        .await
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = Self::command(&self.folder).args(["-s", "stop"]).status();
        let _ = self.child.wait();
    }
}
