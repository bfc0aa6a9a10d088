//! New passwords of links: hashed before the database is asked, as passwords of accounts are.

use std::borrow::Cow;

use super::{LinkError, LinkService};
use crate::domain::{FieldEdit, LinkEdit, LinkPassword, LinkRequest, PasswordHash};
use crate::passwords::Client;

/// Passwords of one call that makes many links: each takes as long as a log-in.
pub(super) const MAX_AT_ONCE: usize = 100;

impl LinkService {
    /// The request with the hash of its password.
    pub(super) async fn hashed<'a>(
        &self,
        request: &'a LinkRequest,
        address: &str,
    ) -> Result<Cow<'a, LinkRequest>, LinkError> {
        let Some(password) = &request.new_password else {
            return Ok(Cow::Borrowed(request));
        };
        let mut request = request.clone();
        request.properties.password = Some(self.hash(password, address).await?);
        Ok(Cow::Owned(request))
    }

    /// The edit with the hash of its password.
    pub(super) async fn hashed_edit<'a>(
        &self,
        edit: &'a LinkEdit,
        address: &str,
    ) -> Result<Cow<'a, LinkEdit>, LinkError> {
        let Some(password) = &edit.new_password else {
            return Ok(Cow::Borrowed(edit));
        };
        let hash = self.hash(password, address).await?;
        let password = FieldEdit::Set(hash);
        Ok(Cow::Owned(LinkEdit {
            password,
            ..edit.clone()
        }))
    }

    async fn hash(
        &self,
        password: &LinkPassword,
        address: &str,
    ) -> Result<PasswordHash, LinkError> {
        let client = Client::new(address.to_owned());
        Ok(self.hasher.hash_of_link(&client, password).await?)
    }

    /// What tells the password of a request from others, for its fingerprint: nobody can try passwords on it without the
    /// service's secret.
    pub(super) fn password_tag(&self, request: &LinkRequest) -> Option<u64> {
        let password = request.new_password.as_ref()?;
        let hasher = self.limiter.hasher();
        Some(hasher.hash("password of a link", &[&password.prepared()]))
    }
}
