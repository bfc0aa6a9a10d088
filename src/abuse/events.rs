//! Security events in the log, by the names of OWASP's logging vocabulary, as for accounts.

use crate::domain::UserId;

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// An account without the role asked for what only administrators may.
    AccessDenied,
    /// An administrator did something.
    Administration,
    /// All tokens of a banned account ended.
    TokenRevoked,
}

impl Event {
    /// Writes the event to the log, with what was done.
    pub(super) fn log(self, user: UserId, address: &str, done: &str) {
        let user = user.0;
        match self {
            Self::AccessDenied => {
                tracing::warn!(event = "authz_fail", user, address, "security event");
            }
            Self::Administration => {
                tracing::info!(event = "authz_admin", user, address, done, "security event");
            }
            Self::TokenRevoked => {
                let event = "authn_token_revoked";
                tracing::info!(event, user, address, done, "security event");
            }
        }
    }
}
