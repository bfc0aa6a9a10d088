//! Accounts, which own links.

use serde::Serialize;
use utoipa::ToSchema;

use super::EmailAddress;

/// Identifier of a user: the database's own, always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(transparent)]
pub struct UserId(pub i64);

/// A registered user, without the stored form of the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Identifier.
    pub id: UserId,
    /// E-mail address as given at registration.
    pub email: EmailAddress,
}
