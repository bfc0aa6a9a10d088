//! Who asks: the account of a key, and where the request comes from.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::services::Services;
use crate::accounts::Access;
use crate::domain::{Principal, User};
use crate::http::{Admitted, ApiError, ClientAddress};

/// Where a request comes from, and the shares that it holds.
pub(super) struct Asking {
    pub(super) address: ClientAddress,
    admitted: Option<Arc<Admitted>>,
}

impl<S: Sync> FromRequestParts<S> for Asking {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self {
            address: ClientAddress::from_request_parts(parts, state).await?,
            admitted: parts.extensions.get().cloned(),
        })
    }
}

/// The account of a key. Its operations compare the key again.
pub(super) struct Caller {
    pub(super) principal: Principal,
    pub(super) user: User,
    /// Whether the key may read links, as opposed to a key that only makes them.
    pub(super) sees_links: bool,
    pub(super) address: String,
}

impl Services {
    /// The account of a key that may do this. All rooms ask here, and nowhere else.
    pub(super) async fn caller(
        &self,
        asking: &Asking,
        key: &str,
        access: Access,
    ) -> Result<Caller, ApiError> {
        let address = asking.address.as_str();
        let principal = self.accounts.key_owner(key, access, address).await?;
        if let Some(admitted) = &asking.admitted {
            admitted.belongs_to(principal.user)?;
        }
        Ok(Caller {
            principal,
            sees_links: self.accounts.may_read(key),
            user: self.accounts.user(principal).await?,
            address: address.to_owned(),
        })
    }
}
