//! `OpenID` Connect, as the client of one provider: discovery, keys, the code flow with PKCE, ID tokens and logout tokens.
//!
//! | file | what it does |
//! | --- | --- |
//! | `provider` | what the service asks the provider; discovery and keys, cached |
//! | `attempt` | a sign-in under way: its cookie, and what follows from it |
//! | `metadata` | how the provider describes itself |
//! | `keys`, `signed` | the provider's keys; what they have signed |
//! | `claims` | what an ID token and a logout token must say |
//! | `requests` | the requests themselves: a deadline, a bound of the body, no redirects |
//! | `checks` | what is wrong with the settings or the provider, for `shunt config --check-oidc` |
//!
//! Signatures are checked by ring, by three algorithms and no other: RS256, ES256 and `EdDSA` with Ed25519. The kind of the key decides
//! which of them it is, so that no token chooses how it is checked.

mod attempt;
mod checks;
mod claims;
mod fault;
mod keys;
mod metadata;
mod provider;
mod requests;
mod signed;

pub use attempt::{AttemptKey, BegunAttempt, ResumedAttempt};
pub use checks::Finding;
pub use claims::{Claims, LogoutClaims};
pub use fault::{ProviderFault, TokenFault};
pub use provider::{Provider, ProviderSettings};
pub use requests::word;
