//! The redirect path of links with a password.
//!
//! A cached link has only what tells its password from others. The password is compared with the hash in the database, by the
//! permits that log-ins have and in a queue of its own (`passwords`). Wrong passwords are limited by link and address together, and by
//! link. The visitor is then known to have that password, and follows the link as any other visitor: if the link gets another password
//! meanwhile, what was given no longer opens it.

use super::{Redirect, RedirectError, Redirected};
use crate::analytics::Visitor;
use crate::cache::CachedLink;
use crate::clicks::Wanted;
use crate::domain::{Password, PasswordMark, ShortCode};
use crate::limits::FailureLimiter;
use crate::passwords::{Client, HashError, PasswordHasher};
use crate::store::Store;
use crate::telemetry::metrics::LINK_PASSWORDS;

/// What becomes of a password.
const RESULTS: [&str; 4] = ["right", "wrong", "limited", "unavailable"];

/// Compares passwords of links.
pub struct LinkPasswords {
    store: Store,
    hasher: PasswordHasher,
    failures: FailureLimiter,
}

impl LinkPasswords {
    /// Of the links in `store`.
    #[must_use]
    pub fn new(store: Store, hasher: PasswordHasher, failures: FailureLimiter) -> Self {
        // Published before the first one comes.
        for result in RESULTS {
            metrics::counter!(LINK_PASSWORDS, "result" => result).increment(0);
        }
        Self {
            store,
            hasher,
            failures,
        }
    }

    /// Follows a code with a password. Of a link that needs none, the password is not looked at.
    ///
    /// # Errors
    /// As of [`Redirect::follow`]; [`RedirectError::WrongPassword`].
    pub async fn follow(
        &self,
        redirect: &Redirect,
        code: &ShortCode,
        visitor: &Visitor<'_>,
        client: &Client,
        password: Password,
    ) -> Result<Redirected, RedirectError> {
        match redirect.follow(code, visitor).await {
            Err(RedirectError::Locked) => {}
            followed => return followed,
        }
        let checked = self.check(code, client, password).await;
        let result = match &checked {
            Ok(_) => 0,
            Err(RedirectError::WrongPassword) => 1,
            Err(RedirectError::TooMany(_)) => 2,
            Err(_) => 3,
        };
        metrics::counter!(LINK_PASSWORDS, "result" => RESULTS[result]).increment(1);
        let visitor = Visitor {
            unlocked: checked?,
            ..*visitor
        };
        match redirect.follow(code, &visitor).await {
            // The link got another password meanwhile.
            Err(RedirectError::Locked) => Err(RedirectError::WrongPassword),
            followed => followed,
        }
    }

    /// What tells the password of the link from others, if it is this one; `None` if the link no longer has a password.
    async fn check(
        &self,
        code: &ShortCode,
        client: &Client,
        password: Password,
    ) -> Result<Option<PasswordMark>, RedirectError> {
        // The permit comes first: visitors with the right password who come at the same moment are no failures then.
        let permit = self.hasher.permit(client).await;
        let permit = permit.map_err(|error| unavailable(&error))?;
        let Some((own_code, hash)) = self.store.link_password(code).await? else {
            return Ok(None);
        };
        // By the link's own code: its aliases are no further tries.
        let attempt = self
            .failures
            .begin(own_code.as_str(), client.address(), async { false });
        let attempt = attempt.await?;
        match permit.verify_of_link(password, &hash).await {
            Ok(true) => {
                attempt.forgive().await;
                Ok(Some(hash.mark()))
            }
            Ok(false) => Err(RedirectError::WrongPassword),
            Err(error) => {
                attempt.forgive().await;
                Err(unavailable(&error))
            }
        }
    }
}

fn unavailable(error: &HashError) -> RedirectError {
    if let HashError::Failed(why) = error {
        tracing::error!(why, "the password of a link could not be compared");
    }
    RedirectError::Unavailable(error.to_string())
}

impl Redirect {
    /// Fails unless the link is open to the visitor.
    pub(super) async fn check_password(
        &self,
        code: &ShortCode,
        link: &CachedLink,
        visitor: &Visitor<'_>,
    ) -> Result<(), RedirectError> {
        if link.is_open_with(visitor.unlocked) {
            return Ok(());
        }
        // Boxed: seldom needed, and every connection would have room for it.
        Box::pin(self.locked(code, link)).await
    }

    /// A link whose clicks are used up is answered so, whether it has a password or not.
    async fn locked(&self, code: &ShortCode, link: &CachedLink) -> Result<(), RedirectError> {
        if link.options.is_limited {
            self.ask(code, link, Wanted::Preview, None).await?;
        }
        Err(RedirectError::Locked)
    }
}
