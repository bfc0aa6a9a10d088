//! A connection of one's own.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use super::master::Master;
use super::{Call, RedisFailure, RedisShard};
use crate::telemetry::metrics::REDIS_ERRORS;

/// A multiplexed connection that neither waits behind other parts' commands nor outlives a failure.
///
/// It belongs to the runtime on which it is used first.
pub struct DedicatedConnection {
    redis: RedisShard,
    line: Mutex<Option<PendingConnection>>,
}

/// A connection to one master, perhaps still being made.
struct PendingConnection {
    master: Arc<Master>,
    /// How often connections had been cut when it was begun.
    cuts: u64,
    begun: Instant,
    opening: Opening,
}

type Opening = Shared<BoxFuture<'static, Result<MultiplexedConnection, RedisFailure>>>;

/// An answer, and whether Redis may have heard the call twice.
pub struct Reply<T> {
    /// What it said last.
    pub value: T,
    /// Whether the call was sent before, over a connection that broke.
    pub was_resent: bool,
}

/// Why one try brought no answer.
enum AttemptError {
    /// It is still being connected, which is no failure of Redis: it may be far away.
    Connecting,
    /// The connection was made before and broke.
    Broken(RedisFailure),
    Failed(RedisFailure),
}

impl DedicatedConnection {
    pub(super) fn new(redis: RedisShard) -> Self {
        Self {
            redis,
            line: Mutex::new(None),
        }
    }

    /// Makes a call within the deadline of the handle, which may reach Redis twice: a connection that was cut says
    /// nothing of Redis, so it is made anew, once. A failure trips Redis for everybody; a missing answer also
    /// closes the connection, since the answer may still come.
    ///
    /// Connecting has a deadline of its own, which nobody waits for: while it takes longer than half of
    /// the deadline, calls are refused.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(&self, call: &Call) -> Result<T, RedisFailure> {
        let answer = self.query_noting_resend(call).await?;
        Ok(answer.value)
    }

    /// The same for whom it makes a difference that Redis may have heard it twice.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query_noting_resend<T: FromRedisValue>(
        &self,
        call: &Call,
    ) -> Result<Reply<T>, RedisFailure> {
        let deadline = Instant::now() + self.redis.deadline();
        let failure = match self.attempt(call, deadline).await {
            Ok(value) => {
                return Ok(Reply {
                    value,
                    was_resent: false,
                });
            }
            Err(AttemptError::Connecting) => {
                return Err(RedisFailure::Refused("still connecting".into()));
            }
            Err(AttemptError::Failed(failure)) => failure,
            // Whatever becomes of the second try: the first may have been heard.
            Err(AttemptError::Broken(failure)) => match self.attempt(call, deadline).await {
                Ok(value) => {
                    return Ok(Reply {
                        value,
                        was_resent: true,
                    });
                }
                Err(_) => failure,
            },
        };
        metrics::counter!(REDIS_ERRORS).increment(1);
        self.redis.trip(&failure);
        Err(failure)
    }

    async fn attempt<T: FromRedisValue>(
        &self,
        call: &Call,
        deadline: Instant,
    ) -> Result<T, AttemptError> {
        let master = self.redis.master().map_err(AttemptError::Failed)?;
        let cuts = self.redis.cuts();
        let (begun, connection) = self.connection(master, cuts).await;
        let mut connection = match connection {
            Some(Ok(connection)) => connection,
            Some(Err(failure)) => {
                self.close(begun);
                return Err(AttemptError::Failed(failure));
            }
            None => return Err(AttemptError::Connecting),
        };
        let failure = match timeout_at(deadline, call.send(&mut connection)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure @ RedisFailure::NoAnswer(_))) => {
                // Other lanes send nothing over theirs: it would be in doubt.
                self.redis.note_cut(cuts);
                AttemptError::Broken(failure)
            }
            Ok(Err(refused)) => return Err(AttemptError::Failed(refused)),
            Err(_) => AttemptError::Failed(RedisFailure::late()),
        };
        self.close(begun);
        Err(failure)
    }

    /// The connection and when it was begun; `None` while it is still being made.
    async fn connection(
        &self,
        master: Arc<Master>,
        cuts: u64,
    ) -> (Instant, Option<Result<MultiplexedConnection, RedisFailure>>) {
        let (begun, opening) = {
            let mut held = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            let line = match held.take() {
                Some(line) if Arc::ptr_eq(&line.master, &master) && line.cuts == cuts => line,
                _ => PendingConnection::open(master, cuts),
            };
            let line = held.insert(line);
            (line.begun, line.opening.clone())
        };
        if let Some(made) = opening.peek() {
            return (begun, Some(made.clone()));
        }
        let made = timeout_at(begun + self.redis.deadline() / 2, opening).await;
        (begun, made.ok())
    }

    /// Closes the connection that was begun then, unless it is closed and another is in its place.
    fn close(&self, begun: Instant) {
        let mut held = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        held.take_if(|line| line.begun == begun);
    }
}

impl PendingConnection {
    /// Connects in a task of its own: whoever gives up waiting does not stop it.
    fn open(master: Arc<Master>, cuts: u64) -> Self {
        let connecting = Arc::clone(&master);
        let task = Handle::current().spawn(async move { connecting.connect().await });
        let opening = async move {
            task.await
                .unwrap_or_else(|error| Err(RedisFailure::Refused(error.to_string())))
        };
        Self {
            master,
            cuts,
            begun: Instant::now(),
            opening: opening.boxed().shared(),
        }
    }
}
