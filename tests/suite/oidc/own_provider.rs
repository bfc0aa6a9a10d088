//! A provider that sends what it is told to, also what a certified provider cannot be made to send.

use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::unix_seconds;

/// The client's secret.
pub(crate) const SECRET: &str = "a-secret-that-only-the-provider-knows";

/// What it answers.
pub(crate) struct Script {
    pub(crate) discovery: Value,
    pub(crate) keys: Value,
    /// The ID token for the next code.
    pub(crate) token: String,
    /// How often its keys were read.
    pub(crate) reads_of_keys: usize,
}

/// The provider; it ends when it is dropped.
pub(crate) struct OwnProvider {
    pub(crate) base: String,
    script: Arc<Mutex<Script>>,
    key: EcdsaKeyPair,
    serving: JoinHandle<()>,
}

impl Drop for OwnProvider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl OwnProvider {
    pub(crate) async fn start() -> Self {
        Self::start_at(0).await
    }

    pub(crate) async fn start_at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap();
        let script = Script {
            discovery: json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/auth"),
                "token_endpoint": format!("{base}/token"),
                "jwks_uri": format!("{base}/jwks"),
                "id_token_signing_alg_values_supported": ["ES256"],
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }),
            keys: json!({"keys": [
                {"kty": "unknown", "kid": "other"},
                jwk("known", key.public_key().as_ref()),
            ]}),
            token: String::new(),
            reads_of_keys: 0,
        };
        let script = Arc::new(Mutex::new(script));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(keys))
            .route("/token", post(token))
            .with_state(Arc::clone(&script));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            base,
            script,
            key,
            serving,
        }
    }

    /// What it answers, to be changed.
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// The settings of a service whose people sign in by it.
    pub(crate) fn settings(&self) -> Vec<(&str, &str)> {
        vec![
            ("OIDC_ISSUER", &self.base),
            ("OIDC_CLIENT_ID", "shunt"),
            ("OIDC_CLIENT_SECRET", SECRET),
        ]
    }

    /// The claims of a good ID token for the sign-in with this nonce, with changes; `null` leaves a claim out.
    pub(crate) fn claims(&self, nonce: &str, changes: &Value) -> Value {
        let now = unix_seconds();
        let mut claims = json!({
            "iss": self.base, "aud": "shunt", "sub": "ada", "nonce": nonce, "iat": now, "exp": now + 300,
            "email": "ada@example.org", "email_verified": true,
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        claims
    }

    /// A token with these claims, signed by its key under this header.
    pub(crate) fn signed(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = self
            .key
            .sign(&SystemRandom::new(), message.as_bytes())
            .unwrap();
        format!("{message}.{}", BASE64.encode(signature))
    }
}

/// A token that is signed by the secret of the client.
pub(crate) fn signed_by_secret(claims: &Value) -> String {
    let message = message(&json!({"alg": "HS256", "kid": "known"}), claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    format!(
        "{message}.{}",
        BASE64.encode(hmac::sign(&key, message.as_bytes()))
    )
}

/// A token without a signature.
pub(crate) fn unsigned(claims: &Value) -> String {
    format!("{}.", message(&json!({"alg": "none"}), claims))
}

fn message(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn jwk(id: &str, point: &[u8]) -> Value {
    let (x, y) = point[1..].split_at(32);
    json!({
        "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": BASE64.encode(x), "y": BASE64.encode(y),
    })
}

type Shared = State<Arc<Mutex<Script>>>;

async fn discovery(State(script): Shared) -> String {
    script.lock().unwrap().discovery.to_string()
}

async fn keys(State(script): Shared) -> String {
    let mut script = script.lock().unwrap();
    script.reads_of_keys += 1;
    script.keys.to_string()
}

async fn token(State(script): Shared, form: String) -> (StatusCode, String) {
    assert!(form.contains("code_verifier="), "{form}");
    let token = script.lock().unwrap().token.clone();
    if token.is_empty() {
        let refusal = json!({"error": "invalid_grant", "error_description": "of no use"});
        return (StatusCode::BAD_REQUEST, refusal.to_string());
    }
    let answer =
        json!({"id_token": token, "access_token": "an-access-token", "token_type": "Bearer"});
    (StatusCode::OK, answer.to_string())
}
