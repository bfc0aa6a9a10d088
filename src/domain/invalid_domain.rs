//! Why a host is refused.

/// Bytes of a file below `/.well-known/` at most.
pub(super) const MAX_WELL_KNOWN_FILE: usize = 64 * 1024;

/// Why a domain is refused; the text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDomain {
    /// No host.
    #[error("host: must be a host such as go.example.org, maybe with a port")]
    Host,
    /// The service's own host.
    #[error("host: must not be the service's own host")]
    Own,
    /// No place to lead to, for this reason.
    #[error("{0}: {1}")]
    Url(&'static str, String),
    /// A place on the same host.
    #[error("{0}: must not lead back to this host")]
    LeadsBack(&'static str),
    /// Not JSON, or of another shape.
    #[error("{0}: must be JSON")]
    File(&'static str),
    /// More than 64 KiB.
    #[error("{0}: must be at most {MAX_WELL_KNOWN_FILE} bytes of JSON")]
    LargeFile(&'static str),
    /// Not the addresses of accounts.
    #[error("owners: must be all, or the e-mail addresses of accounts")]
    Owners,
    /// More owners than this.
    #[error("owners: must be at most {0}")]
    ManyOwners(usize),
    /// No account has this address.
    #[error("owners: no account has the address {0}")]
    NoAccount(String),
}
