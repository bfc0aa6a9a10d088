//! Passwords: argon2id on threads of their own, only so many at once.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::domain::Password;
use crate::http::ApiError;
use crate::telemetry::metrics::{Gauged, HASHES, HASHING, LIMIT_HITS};

/// OWASP's figures for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Requests that may wait for their turn, per turn: beyond that waiting would be longer than patience.
const MOST_WAITING_PER_TURN: usize = 256;

/// How long a request waits for a turn in time that nobody else wants. Where all cores are busy for longer
/// than that, one hash at a time gets a small share of its own.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(8);

/// How long a request waits for its turn in all.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The small share: Unix niceness.
const NICENESS: i32 = 10;

/// Hashes and checks passwords; cheap to clone.
#[derive(Clone)]
pub struct PasswordHasher {
    argon2: Argon2<'static>,
    turns: Arc<Semaphore>,
    late_turns: Arc<Semaphore>,
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
            late_turns: Arc::new(Semaphore::new(1)),
            places: Arc::new(Semaphore::new(at_once * (MOST_WAITING_PER_TURN + 1))),
            dummy: dummy.into(),
        })
    }

    /// Waits until a password may be hashed. To be asked for before the database is: of many who come at
    /// once, only those whose turn it is cost anything.
    ///
    /// # Errors
    /// There are too many already, or it took too long.
    pub(super) async fn turn(&self) -> Result<Turn, ApiError> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Err(busy());
        };
        let waiting = Gauged::new(metrics::gauge!(HASHING, "state" => "waiting"));
        let turn = timeout(TIMEOUT, self.next()).await;
        drop(waiting);
        let Ok(Some((turn, share))) = turn else {
            return Err(busy());
        };
        Ok(Turn {
            hasher: self.clone(),
            share,
            held: (turn, place),
        })
    }

    async fn next(&self) -> Option<(OwnedSemaphorePermit, Share)> {
        let late_turn = async {
            sleep(LEFTOVER_TIMEOUT).await;
            Arc::clone(&self.late_turns).acquire_owned().await
        };
        tokio::select! {
            biased;
            turn = Arc::clone(&self.turns).acquire_owned() => Some((turn.ok()?, Share::Leftover)),
            turn = late_turn => Some((turn.ok()?, Share::Small)),
        }
    }
}

/// Leave to hash one password.
pub(super) struct Turn {
    hasher: PasswordHasher,
    share: Share,
    /// Given back when the hash is there, also where nobody waits for it any more.
    held: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl Turn {
    /// The PHC string of a password.
    pub(super) async fn hash(self, password: Password) -> Result<String, ApiError> {
        let argon2 = self.hasher.argon2.clone();
        self.work(move || {
            argon2
                .hash_password(password.expose())
                .map(|hash| hash.to_string())
                .map_err(|error| ApiError::internal(&error.to_string()))
        })
        .await
    }

    /// Whether the password is that of `hash`; without one it is not, after the same work.
    pub(super) async fn verify(
        self,
        password: Password,
        hash: Option<String>,
    ) -> Result<bool, ApiError> {
        let argon2 = self.hasher.argon2.clone();
        let dummy = Arc::clone(&self.hasher.dummy);
        self.work(move || {
            let known = hash.is_some();
            let hash = hash.as_deref().unwrap_or(&dummy);
            let parsed =
                PasswordHash::new(hash).map_err(|error| ApiError::internal(&error.to_string()))?;
            // The parameters are those of the hash, so that they can be raised one day.
            Ok(argon2.verify_password(password.expose(), &parsed).is_ok() && known)
        })
        .await
    }

    async fn work<T: Send + 'static>(
        self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let running = Gauged::new(metrics::gauge!(HASHING, "state" => "running"));
        let (result, done) = oneshot::channel();
        let Self { share, held, .. } = self;
        // A thread of its own: what it stands back for would hold for later work of a shared one, too. The turn
        // goes with the work: a client that leaves does not make room for more at once.
        let begun = thread::Builder::new()
            .name("hashing".into())
            .spawn(move || {
                share.take();
                // Whoever asked may be gone.
                let _ = result.send(work());
                drop((held, running));
            });
        let result = match begun {
            Ok(_) => done
                .await
                .unwrap_or_else(|_| Err(ApiError::internal("a password's hash was lost"))),
            Err(error) => Err(ApiError::internal(&error.to_string())),
        };
        result.inspect(|_| metrics::counter!(HASHES).increment(1))
    }
}

/// How much of a core a hash gets where cores are short: redirects come first.
#[derive(Clone, Copy)]
enum Share {
    /// What nobody else wants. The scheduler takes the core away from it the moment somebody does.
    Leftover,
    /// About a tenth.
    Small,
}

impl Share {
    /// Nothing of the kind is known here: all are equal.
    #[cfg(not(target_os = "linux"))]
    fn take(self) {}

    /// For the calling thread. Where the system does not allow it, all are equal.
    #[cfg(target_os = "linux")]
    fn take(self) {
        use thread_priority::ThreadPriority;
        use thread_priority::unix::{
            NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
            thread_native_id,
        };
        match self {
            Self::Leftover => {
                let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
                let _ =
                    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
            }
            Self::Small => {
                let _ = rustix::process::setpriority_process(None, NICENESS);
            }
        }
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
        let turn = hasher.turn().await.unwrap();
        let hash = turn.hash(password("correct horse")).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        assert!(
            hasher
                .turn()
                .await
                .unwrap()
                .verify(password("correct horse"), Some(hash.clone()))
                .await
                .unwrap()
        );
        assert!(
            !hasher
                .turn()
                .await
                .unwrap()
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
                .turn()
                .await
                .unwrap()
                .verify(password("nobody has this password"), None)
                .await
                .unwrap()
        );
    }
}
