//! Links for forgotten passwords, made by hand: most services of the tests send no mail.

use shunt::domain::OneTimeToken;

use super::{App, Backend};

/// The token of a link by which the owner of an account chooses another password.
pub(crate) async fn reset_token(app: &App, email: &str) -> String {
    let token = OneTimeToken::generate().unwrap();
    let hash = token
        .hash()
        .as_bytes()
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let sql = match app.backend {
        Backend::Production { .. } => {
            "INSERT INTO password_resets (user_id, token_key, hash, created_at, expires_at)
             SELECT id, token_key, decode(split_part($1, ' ', 2), 'hex'), 0, 9000000000000000 FROM users WHERE email = split_part($1, ' ', 1)"
        }
        Backend::Embedded { .. } => {
            "INSERT INTO password_resets (user_id, token_key, hash, created_at, expires_at)
             SELECT id, token_key, unhex(substr($1, instr($1, ' ') + 1)), 0, 9000000000000000 FROM users WHERE email = substr($1, 1, instr($1, ' ') - 1)"
        }
    };
    app.backend.execute(sql, &format!("{email} {hash}")).await;
    token.expose().to_owned()
}
