//! The service behind the nginx of `deploy/nginx`, with Debian's nginx.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use tempfile::TempDir;

use crate::cli::support::{Finished, Person, Service, eventually, run};

const LINKS: usize = 20_000;

/// nginx with the files of `deploy/nginx`; their ports and addresses alone are others.
struct Nginx {
    folder: TempDir,
    child: Child,
    http: u16,
    https: u16,
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Replaces each of these, which have to be there.
fn change(file: &Path, changes: &[(&str, &str)]) {
    let mut text = fs::read_to_string(file).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{} has no {from}", file.display());
        text = text.replace(from, to);
    }
    fs::write(file, text).unwrap();
}

impl Nginx {
    fn before(service: &Service, changes: &[(&str, &str)]) -> Self {
        let http = free_port();
        let listen = format!("listen 127.0.0.1:{http} ");
        Self::start(service, http, 0, |folder| {
            change(&folder.join("nginx.conf"), &[("listen 8080 ", &listen)]);
            change(&folder.join("server.conf"), changes);
        })
    }

    /// As `deploy/README.md` says: without the plain server, and with `tls.conf` and a certificate.
    fn with_tls(service: &Service) -> Self {
        let (http, https) = (free_port(), free_port());
        Self::start(service, http, https, |folder| {
            let file = folder.join("nginx.conf");
            let text = fs::read_to_string(&file).unwrap();
            let (before, server) = text.split_once("    server {\n").unwrap();
            let (_, after) = server.split_once("    }\n").unwrap();
            fs::write(&file, format!("{before}{after}")).unwrap();
            change(&file, &[("#include tls.conf;", "include tls.conf;")]);
            change(
                &folder.join("tls.conf"),
                &[
                    ("    listen [::]:80 default_server reuseport;\n", ""),
                    ("    listen [::]:443 ssl default_server reuseport;\n", ""),
                    ("listen 80 ", &format!("listen 127.0.0.1:{http} ")),
                    ("listen 443 ", &format!("listen 127.0.0.1:{https} ")),
                ],
            );
            let made = Command::new("openssl")
                .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes"])
                .args(["-days", "1", "-subj", "/CN=localhost"])
                .args(["-addext", "subjectAltName=DNS:localhost"])
                .args(["-keyout", "privkey.pem", "-out", "fullchain.pem"])
                .current_dir(folder)
                .output()
                .unwrap();
            assert!(made.status.success(), "{made:?}");
        })
    }

    fn start(service: &Service, http: u16, https: u16, prepare: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/nginx");
        for file in fs::read_dir(files).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
            }
        }
        let instances = folder.path().join("instances.conf");
        change(
            &instances,
            &[("127.0.0.1:8000 ", &format!("{} ", service.address()))],
        );
        prepare(folder.path());
        let log = folder.path().join("log");
        let child = Command::new("nginx")
            .args(["-e", "stderr", "-p"])
            .arg(folder.path())
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .stdout(fs::File::create(folder.path().join("access")).unwrap())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        eventually(Duration::from_secs(30), || {
            std::net::TcpStream::connect(("127.0.0.1", http)).is_ok()
        });
        Self {
            folder,
            child,
            http,
            https,
        }
    }

    fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.http)
    }

    /// The head of a response over TLS, or over plain HTTP.
    fn curl(&self, scheme: &str, line: &[&str], path: &str) -> String {
        let port = if scheme == "https" {
            self.https
        } else {
            self.http
        };
        let mut curl = Command::new("curl");
        curl.args(["-s", "-S", "-i", "--max-time", "30", "--cacert"]);
        curl.arg(self.folder.path().join("fullchain.pem"))
            .args(line);
        curl.arg(format!("{scheme}://localhost:{port}{path}"));
        curl.args(["--resolve", &format!("localhost:{port}:127.0.0.1")]);
        run(&mut curl, "").succeeds().to_ascii_lowercase()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.child.wait();
    }
}

/// A table of links with codes of their own.
fn table(folder: &TempDir) -> String {
    let mut text = String::from("target_url,custom_code,title\n");
    for n in 0..LINKS {
        let title = "A title of a usual length as people write them";
        writeln!(text, "https://example.org/a/path/{n},imported-{n},{title}").unwrap();
    }
    let file = folder.path().join("links.csv");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn imports_all(service: &Service, nginx: &Nginx) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let file = table(&folder);
    let ada = Person::of(service);
    let there = nginx.base();
    let register = ["register", "ada@example.org", "--server", &there];
    ada.runs_with_input(&register, crate::cli::support::PASSWORD)
        .succeeds();
    ada.runs(&[
        "import", &file, "--from", "csv", "--json", "--server", &there,
    ])
}

fn is_whole(finished: Finished) {
    let summary = finished.json();
    assert_eq!(summary["imported"], LINKS, "{summary}");
    assert_eq!(summary["refused"], 0, "{summary}");
}

#[test]
fn an_import_of_20_000_links_goes_through_nginx_as_shipped() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let nginx = Nginx::before(&service, &[]);
    is_whole(imports_all(&service, &nginx));
    assert!(
        service
            .follow(&format!("{}/imported-19999", service.base))
            .starts_with("HTTP/1.1 302")
    );
}

#[test]
fn an_import_sends_smaller_batches_to_a_proxy_that_takes_less() {
    let service = Service::start_with(&[("LIMIT_CREATE", "0")]);
    let less = [("client_max_body_size 64m;", "client_max_body_size 20k;")];
    let nginx = Nginx::before(&service, &less);
    is_whole(imports_all(&service, &nginx));
    let access = || fs::read_to_string(nginx.folder.path().join("access")).unwrap();
    eventually(Duration::from_secs(30), || {
        access().contains("\"status\":413")
    });
    let refused = access().matches("\"status\":413").count();
    assert!((1..10).contains(&refused), "the size is kept: {refused}");
}

#[test]
fn a_body_that_is_too_large_for_its_route_is_refused_in_one_shape() {
    let service = Service::start();
    let nginx = Nginx::before(&service, &[]);
    let body = nginx.folder.path().join("body");
    fs::write(&body, vec![b' '; 100 * 1024]).unwrap();
    let body = format!("@{}", body.display());
    let refused = nginx.curl("http", &["--data-binary", &body], "/auth/login");
    assert!(refused.starts_with("http/1.1 413"), "{refused}");
    assert!(refused.contains("{\"detail\":\""), "{refused}");
    assert!(!refused.contains("strict-transport-security"), "{refused}");
}

#[test]
fn with_tls_plain_http_leads_to_https_and_every_response_says_to_stay_there() {
    let service = Service::start_with(&[("TRUSTED_PROXIES", "127.0.0.1")]);
    let ada = Person::registered(&service, "ada@example.org");
    ada.runs(&["shorten", "https://example.org/", "--code", "spring-sale"])
        .line();
    let nginx = Nginx::with_tls(&service);
    for (line, path) in [
        (&[][..], "/spring-sale?a=b"),
        (&["-X", "POST"], "/auth/login"),
    ] {
        let moved = nginx.curl("http", line, path);
        assert!(moved.starts_with("http/1.1 308"), "{moved}");
        assert!(
            moved.contains(&format!("location: https://localhost{path}\r")),
            "{moved}"
        );
    }
    for (status, path) in [
        (302, "/spring-sale"),
        (404, "/nothing-here"),
        (200, "/health"),
        (404, "/metrics"),
    ] {
        let answered = nginx.curl("https", &[], path);
        assert!(
            answered.starts_with(&format!("http/1.1 {status}")),
            "{answered}"
        );
        let count = answered
            .matches("strict-transport-security: max-age=31536000\r")
            .count();
        assert_eq!(count, 1, "{path}: {answered}");
    }
}
