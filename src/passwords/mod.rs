//! Passwords of accounts and of links: argon2id on threads of their own, a bounded number at once. Log-ins and visitors of links
//! share the permits and have queues of their own, so that neither can starve the other.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::domain::{LinkPassword, Password, PasswordHash as LinkHash};
use crate::limits::{Permit, WaitingRoom};
use crate::telemetry::metrics::{GaugeGuard, HASHES, HASHING, LIMIT_HITS};

mod client;

pub use client::Client;

/// OWASP's figures for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, parallelism 1.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const PARALLELISM: u32 = 1;

/// Requests that may wait, per permit: a longer queue would take longer than the timeout.
const MAX_WAITING_PER_PERMIT: usize = 256;

/// How long a request waits for a permit.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Unix niceness of hashing, which gives it about a third of the share of a worker: redirects come first, and a log-in
/// still takes less than a second beside other busy processes.
const NICENESS: i32 = 5;

/// Hashes and checks passwords; cheap to clone.
#[derive(Clone)]
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    room: WaitingRoom,
    /// Requests that may wait.
    max_waiting: usize,
    /// What is counted when a request is refused.
    limit: &'static str,
    /// Checked when the account does not exist.
    dummy: Arc<str>,
}

/// Passwords cannot be hashed at all: a defect.
#[derive(Debug, thiserror::Error)]
#[error("passwords cannot be hashed: {0}")]
pub struct HasherError(String);

/// Why one password was not hashed.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// Too many passwords are waiting, or this password waited too long.
    #[error("too many passwords wait to be hashed")]
    Busy,
    /// Hashing failed as such: a defect.
    #[error("a password could not be hashed: {0}")]
    Failed(String),
}

impl PasswordHasher {
    /// Hashes `at_once` passwords at once.
    ///
    /// # Errors
    /// When hashing fails as such.
    pub fn new(at_once: usize) -> Result<Self, HasherError> {
        let params = Params::new(MEMORY_KIB, PASSES, PARALLELISM, None)
            .map_err(|error| HasherError(error.to_string()))?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        // Of no password that anybody knows. To check it is as much work as any other, and it costs a start no hashing.
        let (salt, hash) = ("A".repeat(22), "A".repeat(43));
        let dummy =
            format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={PARALLELISM}${salt}${hash}");
        // Published before the first one waits.
        for state in ["waiting", "running"] {
            metrics::gauge!(HASHING, "state" => state).increment(0.0);
        }
        let max_waiting = at_once * MAX_WAITING_PER_PERMIT;
        Ok(Self {
            argon2,
            room: WaitingRoom::new(at_once, max_waiting),
            max_waiting,
            limit: "hashing",
            dummy: dummy.into(),
        })
    }

    /// The same permits for passwords of links, which have a queue of their own.
    #[must_use]
    pub fn for_links(&self) -> Self {
        Self {
            room: self.room.for_another_kind(self.max_waiting),
            limit: "hashing_links",
            ..self.clone()
        }
    }

    /// The hash of a link's new password.
    ///
    /// # Errors
    /// [`HashError`].
    pub async fn hash_of_link(
        &self,
        client: &Client,
        password: &LinkPassword,
    ) -> Result<LinkHash, HashError> {
        let permit = self.permit(client).await?;
        let hash = permit.hash(password.to_password()).await?;
        Ok(LinkHash::from_stored(&hash))
    }

    /// Waits until a password may be hashed. Callers do so before they ask the database: of many requests at once, only
    /// those with a permit cost anything. Clients have their turns one after the other, and one that has left waits no
    /// more.
    ///
    /// # Errors
    /// [`HashError::Busy`]: too many requests are waiting, this request waited too long, or its client has left.
    pub async fn permit(&self, client: &Client) -> Result<HashPermit, HashError> {
        let permit = match self.room.try_enter() {
            Some(permit) => permit,
            None => self.wait(client).await?,
        };
        Ok(HashPermit {
            hasher: self.clone(),
            permit,
        })
    }

    /// The PHC string of a password, for the operator, when no client waits.
    ///
    /// # Errors
    /// [`HashError::Failed`].
    pub async fn hash_alone(&self, password: Password) -> Result<String, HashError> {
        let operator = Client::new("command line".into());
        self.permit(&operator).await?.hash(password).await
    }

    async fn wait(&self, client: &Client) -> Result<Permit, HashError> {
        let _waiting = GaugeGuard::new(metrics::gauge!(HASHING, "state" => "waiting"));
        let entered = tokio::select! {
            biased;
            () = client.left() => return Err(HashError::Busy),
            entered = timeout(TIMEOUT, self.room.enter(client.address())) => entered,
        };
        let Ok(Ok(permit)) = entered else {
            metrics::counter!(LIMIT_HITS, "limit" => self.limit).increment(1);
            return Err(HashError::Busy);
        };
        Ok(permit)
    }
}

/// The permit to hash one password.
pub struct HashPermit {
    hasher: PasswordHasher,
    /// Released when the hash is ready, even if its request has gone.
    permit: Permit,
}

impl HashPermit {
    /// The PHC string of a password.
    ///
    /// # Errors
    /// [`HashError::Failed`].
    pub async fn hash(self, password: Password) -> Result<String, HashError> {
        let argon2 = self.hasher.argon2.clone();
        self.work(move || {
            argon2
                .hash_password(password.expose())
                .map(|hash| hash.to_string())
                .map_err(|error| HashError::Failed(error.to_string()))
        })
        .await
    }

    /// Whether the password is that of `hash`; without a hash it is not, after the same work.
    ///
    /// # Errors
    /// [`HashError::Failed`].
    pub async fn verify(self, password: Password, hash: Option<String>) -> Result<bool, HashError> {
        let argon2 = self.hasher.argon2.clone();
        let dummy = Arc::clone(&self.hasher.dummy);
        self.work(move || {
            let known = hash.is_some();
            let hash = hash.as_deref().unwrap_or(&dummy);
            let parsed =
                PasswordHash::new(hash).map_err(|error| HashError::Failed(error.to_string()))?;
            // The parameters come from the hash, so that they can be raised one day.
            let is_of_hash = |bytes: &[u8]| argon2.verify_password(bytes, &parsed).is_ok();
            let matches =
                is_of_hash(password.expose()) || password.expose_given().is_some_and(is_of_hash);
            Ok(matches && known)
        })
        .await
    }

    /// Whether the password is that of a link with this hash.
    ///
    /// # Errors
    /// [`HashError::Failed`].
    pub async fn verify_of_link(
        self,
        password: Password,
        hash: &LinkHash,
    ) -> Result<bool, HashError> {
        let hash = hash.clone();
        if !hash.is_bcrypt() {
            return self.verify(password, Some(hash.expose().to_owned())).await;
        }
        self.work(move || {
            // Other services hash the bytes as they came.
            let given = password.expose_given();
            let texts = [Some(password.expose()), given].into_iter().flatten();
            for text in texts {
                let matches = bcrypt::verify(text, hash.expose());
                if matches.map_err(|error| HashError::Failed(error.to_string()))? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .await
    }

    async fn work<T: Send + 'static>(
        self,
        work: impl FnOnce() -> Result<T, HashError> + Send + 'static,
    ) -> Result<T, HashError> {
        let running = GaugeGuard::new(metrics::gauge!(HASHING, "state" => "running"));
        let (result, done) = oneshot::channel();
        let permit = self.permit;
        // A thread of its own: its low priority would stay with a shared thread's later work. The permit goes with the
        // work: a client that disconnects does not let more hashes run at once.
        let started = thread::Builder::new()
            .name("hashing".into())
            .spawn(move || {
                lower_priority();
                // The request may be gone.
                let _ = result.send(work());
                drop((permit, running));
            });
        let result = match started {
            Ok(_) => done
                .await
                .unwrap_or_else(|_| Err(HashError::Failed("its thread died".into()))),
            Err(error) => Err(HashError::Failed(error.to_string())),
        };
        result.inspect(|_| metrics::counter!(HASHES).increment(1))
    }
}

/// Lowers the priority of the calling thread. If the system does not allow that, all threads are equal; so they are on systems
/// where all threads of a process share a niceness.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(raw: &str) -> Password {
        Password::parse(raw.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_password_is_hashed_with_owasps_figures_for_argon2id_and_verified() {
        let hasher = PasswordHasher::new(1).unwrap();
        let client = Client::new("198.51.100.1".to_owned());
        let permit = hasher.permit(&client).await.unwrap();
        let hash = permit.hash(password("correct horse")).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        assert!(
            hasher
                .permit(&client)
                .await
                .unwrap()
                .verify(password("correct horse"), Some(hash.clone()))
                .await
                .unwrap()
        );
        assert!(
            !hasher
                .permit(&client)
                .await
                .unwrap()
                .verify(password("wrong horse"), Some(hash))
                .await
                .unwrap()
        );
    }

    #[tokio::test]
    async fn a_hash_of_the_version_before_is_that_of_the_bytes_as_they_were_given() {
        let hasher = PasswordHasher::new(1).unwrap();
        let client = Client::new("198.51.100.1".to_owned());
        let given = "correct ho\u{308}rse";
        let hash = hasher.argon2.hash_password(given.as_bytes()).unwrap();
        let hash = Some(hash.to_string());
        for (typed, expected) in [(given, true), ("correct horse", false)] {
            let permit = hasher.permit(&client).await.unwrap();
            let matches = permit.verify(password(typed), hash.clone()).await;
            assert_eq!(matches.unwrap(), expected, "{typed}");
        }
    }

    #[tokio::test]
    async fn without_an_account_every_password_is_wrong() {
        let hasher = PasswordHasher::new(1).unwrap();
        let client = Client::new("198.51.100.1".to_owned());
        assert!(
            !hasher
                .permit(&client)
                .await
                .unwrap()
                .verify(password("nobody has this password"), None)
                .await
                .unwrap()
        );
        // It takes the same time.
        let real = hasher.argon2.hash_password(b"correct horse").unwrap();
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(hasher.dummy.starts_with(parameters), "{}", hasher.dummy);
        assert_eq!(hasher.dummy.len(), real.to_string().len());
    }
}
