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
    /// A link to choose another password was made, to be mailed.
    PasswordResetAsked,
    /// A link to confirm another e-mail address was made, to be mailed.
    EmailChangeAsked,
    /// The account has another e-mail address.
    EmailChange,
    TokenCreated,
    TokenRevoked,
    /// A read-only key was used to change something.
    AccessDenied,
    UserCreated,
    UserDeleted,
    /// Hashes of the passwords of links were exported.
    SecretsRead,
    /// A person of the identity provider was joined to an account that was there.
    IdentityJoined,
    /// A group at the identity provider gave or took the role.
    RoleChange,
    /// A second factor was added.
    FactorAdded,
    /// The owner removed a second factor.
    FactorRemoved,
    /// A recovery code stood for the second factor.
    RecoveryCodeUsed,
    /// The owner got other recovery codes.
    RecoveryCodesChanged,
    /// A group was made, renamed or ended, has another member, or a member has another role.
    GroupChange,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Self::LoginSuccess => "authn_login_success",
            Self::LoginFail => "authn_login_fail",
            Self::LoginFailMax => "authn_login_fail_max",
            Self::PasswordChange => "authn_password_change",
            Self::PasswordChangeFail => "authn_password_change_fail",
            Self::PasswordResetAsked => "authn_password_reset",
            Self::TokenCreated => "authn_token_created",
            Self::TokenRevoked => "authn_token_revoked",
            Self::AccessDenied => "authz_fail",
            Self::UserCreated => "user_created",
            Self::UserDeleted => "user_deleted",
            Self::SecretsRead => "sensitive_read",
            Self::EmailChangeAsked => "user_update_asked",
            Self::IdentityJoined | Self::EmailChange => "user_updated",
            Self::RoleChange | Self::GroupChange => "authz_change",
            Self::FactorAdded => "authn_factor_added",
            Self::FactorRemoved => "authn_factor_removed",
            Self::RecoveryCodeUsed => "authn_recovery_code_used",
            Self::RecoveryCodesChanged => "authn_recovery_codes_changed",
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

    /// The same of a failure, with what was wrong.
    pub(super) fn log_failed(self, user: UserId, address: &str, wrong: &str) {
        let (event, user) = (self.name(), user.0);
        tracing::warn!(event, user, address, wrong, "security event");
    }

    /// The same of an account, with what was done.
    pub(super) fn log_with(self, user: UserId, address: &str, done: &str) {
        let (event, user) = (self.name(), user.0);
        tracing::info!(event, user, address, done, "security event");
    }
}
