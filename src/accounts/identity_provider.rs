//! The identity provider, and what it brings to a sign-in.

use crate::domain::Principal;
use crate::oidc::{AttemptKey, Provider};

/// The identity provider, and what its words mean here.
pub struct Identities {
    /// The provider.
    pub provider: Provider,
    /// Signs what browsers keep of a sign-in.
    pub attempts: AttemptKey,
    /// The group whose members are administrators.
    pub admin_group: Option<String>,
}

/// What the provider's answer brought to the browser.
#[derive(Clone, Debug, Default)]
pub struct ProviderAnswer {
    /// `code`
    pub code: Option<String>,
    /// `state`
    pub state: Option<String>,
    /// `iss`
    pub issuer: Option<String>,
    /// `error`
    pub error: Option<String>,
}

/// A sign-in that begins.
#[derive(Clone, Debug)]
pub struct BegunSignIn {
    /// Where the person signs in.
    pub url: String,
    /// What the browser keeps meanwhile.
    pub cookie: String,
}

/// A person who has signed in.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The account.
    pub principal: Principal,
    /// The session at the provider; empty if it names none.
    pub session: String,
    /// The page to which the sign-in leads.
    pub next: String,
}

/// How a sign-in goes on.
#[derive(Clone, Debug)]
pub enum Arrived {
    /// The person has signed in.
    SignedIn(Arrival),
    /// There is an account with a password, which the person has to give once. What the browser keeps meanwhile, and the address.
    NeedsPassword(String, String),
}
