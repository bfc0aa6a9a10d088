//! A receiver of events, as an owner of links runs one.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use ring::hmac;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::support::eventually;

/// What it got.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) id: String,
    timestamp: String,
    signatures: Vec<String>,
    body: String,
    pub(super) event: Value,
}

impl Received {
    /// Whether one of the signatures is by this secret.
    pub(super) fn is_signed_by(&self, secret: &str) -> bool {
        use base64::Engine as _;
        use base64::prelude::BASE64_STANDARD as BASE64;
        let secret = BASE64
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let signed = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        self.signatures.iter().any(|signature| {
            let signature = BASE64.decode(signature.strip_prefix("v1,").unwrap());
            hmac::verify(&key, signed.as_bytes(), &signature.unwrap()).is_ok()
        })
    }

    pub(super) fn signatures(&self) -> usize {
        self.signatures.len()
    }

    /// The type of the event and its code.
    pub(super) fn told(&self) -> String {
        let word = |name: &str| self.event[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", word("type"), word("short_code"))
    }
}

/// How it answers an event.
type Answers = dyn Fn(&Value) -> u16 + Send + Sync;

#[derive(Clone)]
struct Shared {
    received: Arc<Mutex<Vec<Received>>>,
    answers: Arc<Mutex<Arc<Answers>>>,
}

pub(super) struct Receiver {
    pub(super) url: String,
    pub(super) port: u16,
    shared: Shared,
}

impl Receiver {
    /// One that takes everything.
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Shared {
            received: Arc::default(),
            answers: Arc::new(Mutex::new(Arc::new(|_: &Value| 204))),
        };
        let router = Router::new().route("/in", post(receive));
        let router = router.with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url: format!("http://127.0.0.1:{port}/in"),
            port,
            shared,
        }
    }

    /// How it answers from now on; 0: not at all.
    pub(super) fn answers(&self, status: impl Fn(&Value) -> u16 + Send + Sync + 'static) {
        *self.shared.answers.lock().unwrap() = Arc::new(status);
    }

    /// All that came.
    pub(super) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// What came, as words.
    pub(super) fn told(&self) -> Vec<String> {
        self.received().iter().map(Received::told).collect()
    }

    /// All that came, once it is so much.
    pub(super) async fn receives(&self, count: usize) -> Vec<Received> {
        eventually("the receiver got the events", async || {
            self.received().len() >= count
        })
        .await;
        self.received()
    }
}

async fn receive(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(headers[header::CONTENT_TYPE], "application/json");
    let event: Value = serde_json::from_slice(&body).unwrap();
    let answers = Arc::clone(&shared.answers.lock().unwrap());
    let status = answers(&event);
    shared.received.lock().unwrap().push(Received {
        id: text("webhook-id"),
        timestamp: text("webhook-timestamp"),
        signatures: text("webhook-signature")
            .split(' ')
            .map(str::to_owned)
            .collect(),
        body: String::from_utf8(body.to_vec()).unwrap(),
        event,
    });
    if status == 0 {
        std::future::pending::<()>().await;
    }
    let status = StatusCode::from_u16(status).unwrap();
    if status.is_redirection() {
        return (status, [(header::LOCATION, "/in")]).into_response();
    }
    status.into_response()
}
