//! Responses that clients do not read.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, Response, both_modes};

use super::{BY_ADDRESS, connect_from, status};

/// Addresses that read nothing, each with an account of its own and a quarter of the connections.
const ADDRESSES: [&str; 4] = ["127.0.9.1", "127.0.9.2", "127.0.9.3", "127.0.9.4"];
const CONNECTIONS: usize = 512;

/// Each request is sent so often, one after the other.
const PIPELINED: usize = 3;

const MIB: u64 = 1_024;

/// An account by token and by session, with links that take as much memory as links can.
struct Owner {
    token: String,
    session: String,
    code: String,
}

impl Owner {
    async fn new(app: &App) -> Self {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let log_in = app.account("/auth/login", &email, "correct horse").await;
        let token = log_in.json()["access_token"].as_str().unwrap().to_owned();
        let tags: Vec<_> = (0..20)
            .map(|tag| format!("{tag}{}", "\u{1f980}".repeat(45)))
            .collect();
        let link = json!({
            "target_url": format!("https://example.org/{}", "'".repeat(2_000)),
            "title": "\u{1f980}".repeat(200),
            "tags": tags,
        });
        let request = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
        let made = Response::of(request.json(&vec![link; 1_000])).await.json();
        let made: &Value = &made[0];
        assert_eq!(made["status"], 200, "{made}");
        Self {
            token,
            session: browser.cookies["shunt_session"].clone(),
            code: made["short_code"].as_str().unwrap().to_owned(),
        }
    }

    /// The largest responses that there are; every other one is a page of a list.
    fn paths(&self) -> Vec<String> {
        let code = &self.code;
        let others = [
            "/urls/my".to_owned(),
            "/urls/my?sort=-clicks&view=full".to_owned(),
            "/urls/export?format=csv".to_owned(),
            "/urls/export?format=ndjson".to_owned(),
            "/app".to_owned(),
            "/app?sort=-clicks".to_owned(),
            "/app/all".to_owned(),
            "/app/export".to_owned(),
            format!("/app/links/{code}"),
            "/openapi.json".to_owned(),
            "/docs".to_owned(),
            "/metrics".to_owned(),
            format!("/urls/{code}/qr?format=png&size=2048"),
            format!("/urls/{code}/qr?size=2048&ecc=H"),
            format!("/urls/{code}/stats/series?interval=hour&from=2026-09-01&to=2026-11-01"),
        ];
        let list = "/urls/my?limit=1000&view=full".to_owned();
        others
            .into_iter()
            .flat_map(|path| [list.clone(), path])
            .collect()
    }

    fn request(&self, path: &str) -> String {
        let (token, session) = (&self.token, &self.session);
        format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\nCookie: shunt_session={session}\r\n\r\n"
        )
    }

    /// Asks, and reads no more than the first status.
    async fn ask(&self, app: &App, path: &str, address: &str) -> (u16, TcpStream) {
        let mut stream = connect_from(app, address).await;
        let requests = self.request(path).repeat(PIPELINED);
        stream.write_all(requests.as_bytes()).await.unwrap();
        (status(&mut stream).await, stream)
    }
}

both_modes! {
    with &[BY_ADDRESS];

    async fn the_process_stays_below_512_mib_whatever_clients_ask_for_and_do_not_read(app) {
        let mut owners = Vec::new();
        for address in ADDRESSES {
            owners.push((Owner::new(app).await, address));
        }
        let (owners, shared) = (&owners, &*app);
        let asking = (0..CONNECTIONS).map(|number| async move {
            let (owner, address) = &owners[number % ADDRESSES.len()];
            let paths = owner.paths();
            let path = &paths[number / ADDRESSES.len() % paths.len()];
            let (status, stream) = owner.ask(shared, path, address).await;
            assert!([200, 429, 503].contains(&status), "{status} of {path}");
            (status, stream)
        });
        let unread = join_all(asking).await;
        let sent = unread.iter().filter(|(status, _)| *status == 200).count();
        assert!(sent > CONNECTIONS / 8, "{sent} were sent");
        let peak = app.server.peak_kib();
        assert!(peak < 512 * MIB, "{} MiB", peak / MIB);
        // A client that reads is served: small responses at any time, and large ones while the four addresses do not hold everything.
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(app.get_as(&token, "/urls/my").await.status, 200);
        drop(unread);
    }

    async fn an_address_that_reads_nothing_takes_a_quarter_of_the_memory(app) {
        let (owner, other) = (Owner::new(app).await, Owner::new(app).await);
        let path = "/urls/my?limit=1000&view=full";
        let asking = (0..16).map(|_| owner.ask(app, path, "127.0.9.1"));
        let unread = join_all(asking).await;
        let refused = unread.iter().filter(|(status, _)| *status == 429).count();
        assert!((1..16).contains(&refused), "{refused}");
        // On a busy machine some long pages of the account wait for their turn for too long.
        let (full, waited) = (app.limit_hits("buffers_of_client").await, app.limit_hits("searches").await);
        assert!(full >= 1 && full + waited >= refused as u64, "{full} and {waited} of {refused}");
        let page = app.get_as(&other.token, path).await;
        assert_eq!((page.status.as_u16(), page.json().as_array().unwrap().len()), (200, 1_000));
        drop(unread);
        crate::support::eventually("what was given up makes room", async || {
            app.get_as(&owner.token, path).await.status == 200
        })
        .await;
    }
}

/// What the system keeps of responses that the service has sent, by connection.
fn sent_and_not_taken(app: &App) -> Vec<u64> {
    let (_, port) = app.server.base.rsplit_once(':').unwrap();
    let port = format!(":{:04X}", port.parse::<u16>().unwrap());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let connections = table.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (local, queues) = (fields.get(1)?, fields.get(4)?);
        let (to_send, _) = queues.split_once(':')?;
        local
            .ends_with(&port)
            .then(|| u64::from_str_radix(to_send, 16).ok())?
    });
    connections.collect()
}

#[tokio::test]
async fn the_system_keeps_little_of_what_a_client_does_not_read() {
    let app = App::start(Mode::Embedded).await;
    let owner = Owner::new(&app).await;
    let (_, stream) = owner
        .ask(&app, "/urls/my?limit=1000&view=full", "127.0.9.1")
        .await;
    let mut before = Vec::new();
    // Until nothing more is taken: the connection has what it gets.
    loop {
        let now = sent_and_not_taken(&app);
        if now == before && now.iter().any(|bytes| *bytes > 0) {
            break;
        }
        before = now;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert!(
        before.iter().all(|bytes| *bytes <= 256 * 1_024),
        "{before:?}"
    );
    drop(stream);
    app.finish().await;
}

/// The same rule as for whole lists.
#[tokio::test]
async fn a_client_that_reads_a_page_too_slowly_is_cut_off_and_counted() {
    let settings = [("MIN_READ_BYTES_PER_SECOND", "100000000")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let owner = Owner::new(&app).await;
    let paths = ["/urls/my?limit=1000&view=full", "/openapi.json"];
    let mut slow = Vec::new();
    for path in paths {
        let mut stream = connect_from(&app, "127.0.9.1").await;
        let requests = owner.request(path).repeat(200);
        stream.write_all(requests.as_bytes()).await.unwrap();
        assert_eq!(status(&mut stream).await, 200);
        slow.push(stream);
    }
    for _ in 0..600 {
        if app.limit_hits("read_rate").await == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(app.limit_hits("read_rate").await, 2);
    for stream in &mut slow {
        // A reset is an end, too.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    let in_time = app.get_as(&owner.token, paths[0]).await;
    assert_eq!(in_time.json().as_array().unwrap().len(), 1_000);
    app.finish().await;
}
