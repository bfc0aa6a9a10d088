//! The certified `OpenID` provider of the tests (`tests/oidc`): one process for all of them, which is started by the first.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

/// A client of the provider.
pub(crate) struct OidcClient {
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// The address of the provider, which is its issuer.
pub(crate) fn provider() -> &'static str {
    // It ends with its standard input, which ends with this process.
    static PROVIDER: OnceLock<(String, Child)> = OnceLock::new();
    &PROVIDER.get_or_init(start).0
}

fn start() -> (String, Child) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc/run");
    let mut child = Command::new(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut address).unwrap();
    let address = address.trim().to_owned();
    assert!(!address.is_empty(), "the provider did not start");
    (address, child)
}

/// Registers the service at `base` as a client whose ID tokens are signed in this way.
pub(crate) async fn register_client(base: &str, algorithm: &str) -> OidcClient {
    let client = json!({
        "redirect_uris": [format!("{base}/app/oidc/callback")],
        "post_logout_redirect_uris": [format!("{base}/app/login")],
        "backchannel_logout_uri": format!("{base}/app/oidc/backchannel-logout"),
        "id_token_signed_response_alg": algorithm,
    });
    let registering = reqwest::Client::new()
        .post(format!("{}/reg", provider()))
        .header("content-type", "application/json")
        .body(client.to_string());
    let registered = registering.send().await.unwrap().text().await.unwrap();
    let registered: Value = serde_json::from_str(&registered).unwrap();
    let text = |name: &str| registered[name].as_str().expect(name).to_owned();
    OidcClient {
        id: text("client_id"),
        secret: text("client_secret"),
    }
}

/// What the provider says of a person from now on.
pub(crate) async fn set_person(subject: &str, claims: Value) {
    let setting = reqwest::Client::new()
        .put(format!("{}/_people/{subject}", provider()))
        .body(claims.to_string());
    assert_eq!(setting.send().await.unwrap().status(), 200);
}

/// Gives the provider new keys.
pub(crate) async fn rotate_keys() {
    let rotating = reqwest::Client::new().post(format!("{}/_rotate", provider()));
    assert_eq!(rotating.send().await.unwrap().status(), 200);
}
