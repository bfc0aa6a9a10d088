//! Another e-mail address for an account.

use super::{EmailAddress, UserId};

/// The change of an account's e-mail address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailChange {
    /// The account.
    pub user: UserId,
    /// Its address up to now, as it was given.
    pub from: EmailAddress,
    /// Its address once the change is confirmed, as it was given.
    pub to: EmailAddress,
    /// The tag of the language of its pages; empty: the browser's.
    pub language: String,
}
