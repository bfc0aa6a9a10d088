//! Passwords: argon2id on threads of their own, only so many at once.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::domain::Password;
use crate::http::ApiError;
use crate::telemetry::metrics::{HASHING, LIMIT_HITS};

/// OWASP's figures for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Requests that may wait for their turn, per turn: beyond that waiting would be longer than patience.
const MOST_WAITING_PER_TURN: usize = 256;

/// How much threads that hash stand back where cores are short: redirects come first. Unix niceness.
const NICENESS: i32 = 10;

/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Hashes and checks passwords; cheap to clone.
#[derive(Clone)]
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Checked when there is no account.
    dummy: Arc<str>,
}

/// Passwords cannot be hashed: a defect, or no randomness.
#[derive(Debug, thiserror::Error)]
#[error("passwords cannot be hashed: {0}")]
pub struct HashingError(String);

impl PasswordHasher {
    /// Hashes `at_once` passwords at once.
    ///
    /// # Errors
    /// When hashing fails as such.
    pub fn new(at_once: usize) -> Result<Self, HashingError> {
        let failed = |error: String| HashingError(error);
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
            .map_err(|error| failed(error.to_string()))?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let dummy = argon2
            .hash_password(b"nobody has this password")
            .map_err(|error| failed(error.to_string()))?
            .to_string();
        Ok(Self {
            argon2,
            turns: Arc::new(Semaphore::new(at_once)),
            places: Arc::new(Semaphore::new(at_once * (MOST_WAITING_PER_TURN + 1))),
            dummy: dummy.into(),
        })
    }

    /// The PHC string of a password.
    pub(super) async fn hash(&self, password: Password) -> Result<String, ApiError> {
        let argon2 = self.argon2.clone();
        self.in_turn(move || {
            argon2
                .hash_password(password.expose())
                .map(|hash| hash.to_string())
                .map_err(|error| ApiError::internal(&error.to_string()))
        })
        .await?
    }

    /// Whether the password is that of `hash`; without one it is not, after the same work.
    pub(super) async fn verify(
        &self,
        password: Password,
        hash: Option<String>,
    ) -> Result<bool, ApiError> {
        let argon2 = self.argon2.clone();
        let dummy = Arc::clone(&self.dummy);
        self.in_turn(move || {
            let known = hash.is_some();
            let hash = hash.as_deref().unwrap_or(&dummy);
            let parsed =
                PasswordHash::new(hash).map_err(|error| ApiError::internal(&error.to_string()))?;
            // The parameters are those of the hash, so that they can be raised one day.
            Ok(argon2.verify_password(password.expose(), &parsed).is_ok() && known)
        })
        .await?
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let Ok(_place) = self.places.try_acquire() else {
            return Err(busy());
        };
        let waiting = metrics::gauge!(HASHING, "state" => "waiting");
        waiting.increment(1);
        let turn = timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await;
        waiting.decrement(1);
        let Ok(Ok(turn)) = turn else {
            return Err(busy());
        };
        let running = metrics::gauge!(HASHING, "state" => "running");
        running.increment(1);
        // The turn goes with the work: a client that leaves does not make room for more at once.
        let done = tokio::task::spawn_blocking(move || {
            // On Linux this is the calling thread alone. Where it is not allowed, all are equal.
            let _ = rustix::process::setpriority_process(None, NICENESS);
            let result = work();
            drop(turn);
            result
        });
        let result = done
            .await
            .map_err(|error| ApiError::internal(&error.to_string()));
        running.decrement(1);
        result
    }
}

fn busy() -> ApiError {
    metrics::counter!(LIMIT_HITS, "limit" => "hashing").increment(1);
    ApiError::overloaded()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(raw: &str) -> Password {
        Password::parse(raw.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_with_owasps_figures_and_checked() {
        let hasher = PasswordHasher::new(1).unwrap();
        let hash = hasher.hash(password("correct horse")).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        assert!(
            hasher
                .verify(password("correct horse"), Some(hash.clone()))
                .await
                .unwrap()
        );
        assert!(
            !hasher
                .verify(password("wrong horse"), Some(hash))
                .await
                .unwrap()
        );
    }

    #[tokio::test]
    async fn without_an_account_no_password_is_right() {
        let hasher = PasswordHasher::new(1).unwrap();
        assert!(
            !hasher
                .verify(password("nobody has this password"), None)
                .await
                .unwrap()
        );
    }
}
