//! Why a sign-in by the identity provider failed, and the line of it in the log.

use super::AccountError;
use crate::domain::UserId;
use crate::limits::TooMany;
use crate::oidc::ProviderFault;
use crate::store::StoreError;
use crate::telemetry::metrics::PROVIDER_SIGN_INS;

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// There is no identity provider.
    #[error("no identity provider is set up")]
    NotOffered,
    /// It took too long, began in another browser, or was used before.
    #[error("the sign-in began in another browser, took too long, or was used before")]
    Expired,
    /// The provider says no, by a word of the standard.
    #[error("the identity provider answered {0}")]
    Denied(String),
    /// The provider cannot be asked, or is not believed.
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    /// It names no e-mail address.
    #[error(
        "the identity provider names no valid e-mail address; is `email` in OIDC_SCOPES, and does the person have one?"
    )]
    NoEmail,
    /// It does not vouch for the address.
    #[error(
        "the identity provider does not say that the e-mail address is verified (email_verified)"
    )]
    UnverifiedEmail,
    /// Another person of the provider has the account with the address.
    #[error(
        "the account with this e-mail address belongs to another subject of the identity provider"
    )]
    OfAnother,
    /// The account is banned.
    #[error("the account is banned")]
    Banned(UserId),
    /// The account cannot be used or created.
    #[error(transparent)]
    Account(#[from] AccountError),
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        Self::Account(error.into())
    }
}

impl From<TooMany> for SignInError {
    fn from(error: TooMany) -> Self {
        Self::Account(error.into())
    }
}

impl SignInError {
    /// Its name in metrics.
    fn result(&self) -> &'static str {
        match self {
            Self::Provider(fault) => match fault {
                ProviderFault::Token(_) => "token",
                ProviderFault::Unreachable(..) | ProviderFault::Busy => "unreachable",
                _ => "answer",
            },
            Self::NotOffered | Self::Account(_) => "failed",
            Self::Expired => "expired",
            Self::Denied(_) => "denied",
            Self::NoEmail | Self::UnverifiedEmail => "email",
            Self::OfAnother | Self::Banned(_) => "refused",
        }
    }
}

/// One line in the log, without a code, a token or an address of a person.
pub(super) fn note(error: &SignInError, address: &str) {
    metrics::counter!(PROVIDER_SIGN_INS, "result" => error.result()).increment(1);
    let user = match error {
        SignInError::Banned(user) => Some(user.0),
        // The limit is counted, and the database has a line of its own.
        SignInError::Account(AccountError::TooMany(_) | AccountError::Store(_)) => return,
        _ => None,
    };
    tracing::warn!(
        event = "authn_login_fail",
        user,
        address,
        reason = %error,
        "a sign-in by the identity provider failed"
    );
}
