//! A connection of one's own.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use super::home::Home;
use super::{Call, RedisFailure, SharedRedis};

/// A multiplexed connection that neither waits behind other parts' commands nor outlives a failure.
///
/// It belongs to the runtime on which it is used first.
pub struct Lane {
    redis: SharedRedis,
    slot: Mutex<Option<Link>>,
}

/// A connection to one home, perhaps still being made.
struct Link {
    home: Arc<Home>,
    begun: Instant,
    opening: Opening,
}

type Opening = Shared<BoxFuture<'static, Result<MultiplexedConnection, RedisFailure>>>;

impl Lane {
    pub(super) fn new(redis: SharedRedis) -> Self {
        Self {
            redis,
            slot: Mutex::new(None),
        }
    }

    /// Makes a call within the deadline of the handle. A failure trips Redis for everybody; a missing
    /// answer also closes the connection, since the answer may still come.
    ///
    /// Connecting has a deadline of its own, which nobody waits for: while it takes longer than half of
    /// the deadline, calls are refused.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(&self, call: &Call) -> Result<T, RedisFailure> {
        let deadline = Instant::now() + self.redis.deadline();
        let outcome = match self.connection().await {
            Some(Ok(mut connection)) => timeout_at(deadline, call.send(&mut connection))
                .await
                .unwrap_or_else(|_| Err(RedisFailure::late())),
            Some(Err(failure)) => {
                self.close();
                Err(failure)
            }
            // Not a failure of Redis: it may be far away.
            None => return Err(RedisFailure::Refused("still connecting".into())),
        };
        if let Err(failure) = &outcome {
            self.redis.trip(failure);
            if matches!(failure, RedisFailure::NoAnswer(_)) {
                self.close();
            }
        }
        outcome
    }

    /// `None` while it is still being made.
    async fn connection(&self) -> Option<Result<MultiplexedConnection, RedisFailure>> {
        let home = match self.redis.home() {
            Ok(home) => home,
            Err(failure) => return Some(Err(failure)),
        };
        let (begun, opening) = {
            let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
            let link = match slot.take() {
                Some(link) if Arc::ptr_eq(&link.home, &home) => link,
                _ => Link::open(home),
            };
            let link = slot.insert(link);
            (link.begun, link.opening.clone())
        };
        if let Some(made) = opening.peek() {
            return Some(made.clone());
        }
        timeout_at(begun + self.redis.deadline() / 2, opening)
            .await
            .ok()
    }

    fn close(&self) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Link {
    /// Connects in a task of its own: whoever gives up waiting does not stop it.
    fn open(home: Arc<Home>) -> Self {
        let connecting = Arc::clone(&home);
        let task = Handle::current().spawn(async move { connecting.connect().await });
        let opening = async move {
            task.await
                .unwrap_or_else(|error| Err(RedisFailure::Refused(error.to_string())))
        };
        Self {
            home,
            begun: Instant::now(),
            opening: opening.boxed().shared(),
        }
    }
}
