//! Places of live counts: 4,096 in all.

use futures_util::future::join_all;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::suite::web::browser::Browser;
use crate::support::{App, both_modes};

use super::{connect_from, status};

/// A quarter of all.
const PART: usize = 1_024;

const AT_ONCE: usize = 32;

/// One that watches a link's count, by the API or on the link's page.
struct Watcher {
    code: String,
    token: String,
    session: String,
}

impl Watcher {
    async fn new(app: &App) -> Self {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let code = browser
            .make(&[("target_url", "https://example.org/")])
            .await;
        let log_in = app.account("/auth/login", &email, "correct horse").await;
        let token = log_in.json()["access_token"].as_str().unwrap().to_owned();
        let session = browser.cookies["shunt_session"].clone();
        Self {
            code,
            token,
            session,
        }
    }

    async fn watch(&self, app: &App, path: &str, address: &str) -> (u16, TcpStream) {
        let mut stream = connect_from(app, address).await;
        let (token, session) = (&self.token, &self.session);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\nCookie: shunt_session={session}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        (status(&mut stream).await, stream)
    }

    async fn by_token(&self, app: &App, address: &str) -> (u16, TcpStream) {
        let path = format!("/urls/{}/stats/live", self.code);
        self.watch(app, &path, address).await
    }

    async fn by_session(&self, app: &App, address: &str) -> (u16, TcpStream) {
        let path = format!("/app/links/{}/live", self.code);
        self.watch(app, &path, address).await
    }

    /// Takes so many places.
    async fn take(&self, app: &App, places: usize, address: &str) -> Vec<TcpStream> {
        let mut open = Vec::new();
        while open.len() < places {
            let watching = (0..AT_ONCE).map(|_| self.by_token(app, address));
            for (status, stream) in join_all(watching).await {
                assert_eq!(status, 200);
                open.push(stream);
            }
        }
        open
    }
}

fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

both_modes! {
    async fn an_account_has_a_quarter_of_the_places_from_all_its_addresses(app) {
        allow_many_files();
        let (owner, other) = (Watcher::new(app).await, Watcher::new(app).await);
        let mut open = owner.take(app, PART / 2, "127.0.9.1").await;
        open.extend(owner.take(app, PART / 2, "127.0.9.2").await);
        assert_eq!(owner.by_token(app, "127.0.9.3").await.0, 429);
        assert_eq!(owner.by_session(app, "127.0.9.3").await.0, 429);
        assert_eq!(app.limit_hits("live").await, 2);
        assert_eq!(other.by_token(app, "127.0.9.3").await.0, 200);
        assert_eq!(other.by_session(app, "127.0.9.3").await.0, 200);
    }

    async fn an_address_has_a_quarter_of_the_places_for_all_its_accounts(app) {
        allow_many_files();
        let (one, two, three) = (Watcher::new(app).await, Watcher::new(app).await, Watcher::new(app).await);
        let mut open = one.take(app, PART / 2, "127.0.9.1").await;
        open.extend(two.take(app, PART / 2, "127.0.9.1").await);
        assert_eq!(three.by_token(app, "127.0.9.1").await.0, 429);
        assert_eq!(three.by_session(app, "127.0.9.1").await.0, 429);
        assert_eq!(three.by_token(app, "127.0.9.2").await.0, 200);
    }
}
