//! Links that are mailed to owners of accounts, made by hand: most services of the tests send no mail.

use serde_json::{Value, json};
use shunt::domain::OneTimeToken;

use super::{App, Backend};

/// The token of a link by which the owner of an account chooses another password.
pub(crate) async fn reset_token(app: &App, email: &str) -> String {
    mailed_link(app, json!({ "purpose": "password", "email": email })).await
}

/// The token of a link by which an account confirms another address.
pub(crate) async fn email_token(app: &App, email: &str, new_email: &str) -> String {
    let link = json!({ "purpose": "email", "email": email, "new_email": new_email });
    mailed_link(app, link).await
}

async fn mailed_link(app: &App, mut link: Value) -> String {
    let token = OneTimeToken::generate().unwrap();
    let hash = token
        .hash()
        .as_bytes()
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    link["hash"] = hash.into();
    let sql = match app.backend {
        Backend::Production { .. } => {
            "INSERT INTO mailed_links (user_id, purpose, token_key, hash, created_at, expires_at, new_email)
             SELECT id, link ->> 'purpose', token_key, decode(link ->> 'hash', 'hex'), 0, 9000000000000000, link ->> 'new_email'
             FROM users, (SELECT $1::text::json AS link) AS given WHERE email = link ->> 'email'"
        }
        Backend::Embedded { .. } => {
            "INSERT INTO mailed_links (user_id, purpose, token_key, hash, created_at, expires_at, new_email)
             SELECT id, link ->> 'purpose', token_key, unhex(link ->> 'hash'), 0, 9000000000000000, link ->> 'new_email'
             FROM users, (SELECT $1 AS link) AS given WHERE email = link ->> 'email'"
        }
    };
    app.backend.execute(sql, &link.to_string()).await;
    token.expose().to_owned()
}
