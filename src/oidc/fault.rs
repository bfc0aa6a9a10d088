//! What goes wrong between the service and the provider. No text has a code, a token or a secret.

/// Why the provider is of no help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFault {
    /// It cannot be reached, or does not answer in time.
    #[error("the identity provider cannot be reached at {0}: {1}")]
    Unreachable(String, String),
    /// Too many sign-ins wait for it.
    #[error("too many sign-ins wait for the identity provider")]
    Busy,
    /// It answered with another status than 200.
    #[error("the identity provider answered {1} at {0}{2}")]
    Status(String, u16, String),
    /// It answered something else than what the standard says.
    #[error("the identity provider's {0} {1}")]
    Answer(&'static str, String),
    /// It calls itself by another name.
    #[error(
        "the identity provider calls itself {0}, letter by letter; set OIDC_ISSUER to exactly that"
    )]
    OtherIssuer(String),
    /// It signed nothing that can be believed.
    #[error("the identity provider's token {0}")]
    Token(#[from] TokenFault),
}

/// Why a token is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is not a signed token.
    #[error("is malformed")]
    Malformed,
    /// It is unsigned, or signed in a way that is not accepted.
    #[error("is signed by {0}; only RS256, ES256 and EdDSA are accepted")]
    Algorithm(String),
    /// It asks for an extension.
    #[error("asks for an extension (crit) that is not supported")]
    Extension,
    /// The provider has no such key.
    #[error("is signed by a key that the provider does not publish")]
    UnknownKey,
    /// The signature is not the key's.
    #[error("has a wrong signature")]
    Signature,
    /// A claim is missing, or of another kind.
    #[error("has no valid {0}")]
    Claim(&'static str),
    /// It is another provider's.
    #[error("is of another issuer (iss)")]
    Issuer,
    /// It is for another client.
    #[error("is for another client (aud)")]
    Audience,
    /// It was issued to another client.
    #[error("was issued to another client (azp)")]
    AuthorizedParty,
    /// Its time is over.
    #[error("has expired (exp); are both clocks right?")]
    Expired,
    /// Its time has not come.
    #[error("is of the future (iat or nbf); are both clocks right?")]
    Early,
    /// It answers another sign-in.
    #[error("is of another sign-in (nonce)")]
    Nonce,
    /// It is of another person than the rest of the answer.
    #[error("is of another subject (sub) than the user info")]
    Subject,
}
