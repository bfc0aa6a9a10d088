//! Security events in the log, by the names of OWASP's logging vocabulary, with the account's number and the client's
//! address. No event has an e-mail address.

use crate::domain::UserId;

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    LoginSuccess,
    LoginFail,
    /// Too many failures: the password was not compared.
    LoginFailMax,
    PasswordChange,
    PasswordChangeFail,
    TokenCreated,
    TokenRevoked,
    /// A read-only key was used to change something.
    AccessDenied,
    UserCreated,
    UserDeleted,
    /// Hashes of the passwords of links were exported.
    SecretsRead,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Self::LoginSuccess => "authn_login_success",
            Self::LoginFail => "authn_login_fail",
            Self::LoginFailMax => "authn_login_fail_max",
            Self::PasswordChange => "authn_password_change",
            Self::PasswordChangeFail => "authn_password_change_fail",
            Self::TokenCreated => "authn_token_created",
            Self::TokenRevoked => "authn_token_revoked",
            Self::AccessDenied => "authz_fail",
            Self::UserCreated => "user_created",
            Self::UserDeleted => "user_deleted",
            Self::SecretsRead => "sensitive_read",
        }
    }

    fn is_failure(self) -> bool {
        matches!(
            self,
            Self::LoginFail | Self::LoginFailMax | Self::PasswordChangeFail | Self::AccessDenied
        )
    }

    /// Writes the event to the log. `user` is `None` if no account has the given address.
    pub(super) fn log(self, user: Option<UserId>, address: &str) {
        let (event, user) = (self.name(), user.map(|user| user.0));
        if self.is_failure() {
            tracing::warn!(event, user, address, "security event");
        } else {
            tracing::info!(event, user, address, "security event");
        }
    }
}
