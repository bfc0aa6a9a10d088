//! Sessions of browsers: a cookie of its own kind, which no route of the API takes.

use std::fmt::Write;
use std::time::Duration;

use ring::digest::{SHA256, digest};

use super::events::Event;
use super::{AccountError, Accounts};
use crate::domain::{Principal, TokenKey};
use crate::store::{OpenSession, SessionBy, WebSession};

/// How long a session lasts at most.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(14 * 24);

/// Random bytes of a cookie.
const BYTES: usize = 24;

/// Longest description of a browser that is kept, in characters.
const MAX_AGENT: usize = 120;

impl Accounts {
    /// The account that the token of a log-in names; it may be deleted since, or have another key.
    ///
    /// # Errors
    /// [`AccountError::Refused`].
    pub fn principal_of(&self, token: &str) -> Result<Principal, AccountError> {
        Ok(self.tokens.principal(token)?)
    }

    /// Begins a session of an account that was just logged in to. Returns the cookie, of which only a hash is kept.
    ///
    /// # Errors
    /// [`AccountError::NoKey`], [`AccountError::Store`].
    pub async fn begin_session(
        &self,
        owner: Principal,
        agent: &str,
        by: SessionBy<'_>,
    ) -> Result<String, AccountError> {
        let cookie = random_text().map_err(|error| AccountError::NoKey(error.to_string()))?;
        let agent: String = agent.chars().filter(|char| !char.is_control()).collect();
        let agent: String = agent.chars().take(MAX_AGENT).collect();
        let now = self.clock.now();
        let new = crate::store::NewSession {
            owner,
            hash: hash(&cookie),
            agent: &agent,
            created_at: now,
            expires_at: now.after(SESSION_LIFETIME),
            by,
        };
        self.store.begin_session(new).await?;
        Ok(cookie)
    }

    /// The open session that a cookie names; `None` if it has ended, or the cookie is invalid.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn session(&self, cookie: &str) -> Result<Option<OpenSession>, AccountError> {
        let is_shaped =
            cookie.len() == 2 * BYTES && cookie.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_shaped {
            return Ok(None);
        }
        Ok(self.store.session(hash(cookie), self.clock.now()).await?)
    }

    /// The open sessions of an account, newest first.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn sessions(&self, owner: Principal) -> Result<Vec<WebSession>, AccountError> {
        Ok(self.store.sessions_of(owner, self.clock.now()).await?)
    }

    /// Ends one session of an account, on every instance at once.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn end_session(
        &self,
        address: &str,
        owner: Principal,
        id: i64,
    ) -> Result<bool, AccountError> {
        let is_ended = self.store.end_session(owner, id).await?;
        if is_ended {
            Event::TokenRevoked.log(Some(owner.user), address);
        }
        Ok(is_ended)
    }
}

/// A text that cannot be guessed: 192 random bits in hexadecimal digits.
///
/// # Errors
/// When the system's random source fails.
pub fn random_text() -> Result<String, getrandom::Error> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random)?;
    let mut text = String::new();
    for byte in random {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// A plain digest is enough: 2^192 cookies are too many to try.
fn hash(cookie: &str) -> TokenKey {
    let digest = digest(&SHA256, cookie.as_bytes());
    TokenKey::from_bytes(&digest.as_ref()[..16]).expect("half of a digest of 32 bytes has 16")
}
