//! Signing in by `OpenID` Connect, with a certified provider. What that provider cannot be made to send (malformed and foreign tokens,
//! silence) a small provider of the tests' own sends.

mod away;
mod check;
mod own_provider;
pub(crate) mod person;
mod policy;
mod roles;
mod sign_in;
mod sign_out;
mod tokens;
mod two_factors;

/// Makes two tests of each: `embedded::name` and `production::name`. Each starts a service with settings of its own.
macro_rules! in_both_modes {
    ($($(#[$doc:meta])* async fn $name:ident($mode:ident: Mode) $body:block)+) => {
        mod embedded {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::support::Mode::Embedded).await;
            })+
        }
        mod production {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::support::Mode::Production).await;
            })+
        }
        $($(#[$doc])* async fn $name($mode: crate::support::Mode) $body)+
    };
}
pub(crate) use in_both_modes;
