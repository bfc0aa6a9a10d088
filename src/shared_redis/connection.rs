//! A dedicated connection to Redis, for commands for which a redirect waits.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisError, Value};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use super::call::Call;
use super::failure::RedisFailure;
use super::master::Master;
use super::shard::RedisShard;
use crate::telemetry::metrics::{REDIS_ERRORS, counter_of_shard};

/// A multiplexed connection of one part of the program: no commands of other parts delay its own, and it is closed after
/// a failure.
///
/// It belongs to the Tokio runtime on which it is used first.
pub struct DedicatedConnection {
    redis: RedisShard,
    current: Mutex<Option<PendingConnection>>,
}

/// A connection to one master, perhaps still being made.
struct PendingConnection {
    master: Arc<Master>,
    /// How often connections had been found broken when this one was started.
    cuts: u64,
    started: Instant,
    opening: Opening,
}

type Opening = Shared<BoxFuture<'static, Result<MultiplexedConnection, RedisFailure>>>;

/// Why one attempt brought no reply.
enum AttemptError {
    /// The connection is still being made. That is no failure of Redis, which may be far away.
    Connecting,
    /// The connection had been made before, and broke.
    Broken(RedisFailure),
    Failed(RedisFailure),
}

impl RedisShard {
    /// A dedicated connection, made when it is first used.
    #[must_use]
    pub fn dedicated_connection(&self) -> DedicatedConnection {
        DedicatedConnection {
            redis: self.clone(),
            current: Mutex::new(None),
        }
    }
}

impl DedicatedConnection {
    /// Makes a call within the deadline of the shard. Redis may receive it twice: a broken connection does not mean that
    /// Redis is away, so it is made anew, once. After a failure Redis is away for the whole process. A late reply also
    /// closes the connection, since it could be taken for the reply to the next call.
    ///
    /// Connecting has a deadline of its own, for which no caller waits: calls are refused while connecting takes longer
    /// than half of the deadline.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(&self, call: &Call) -> Result<T, RedisFailure> {
        let reply = self.reply(call).await?;
        T::from_redis_value(reply).map_err(|error| self.failed(RedisError::from(error).into()))
    }

    async fn reply(&self, call: &Call) -> Result<Value, RedisFailure> {
        let deadline = Instant::now() + self.redis.deadline();
        self.redis.count_command();
        let failure = match self.attempt(call, deadline).await {
            Ok(value) => return Ok(value),
            Err(AttemptError::Connecting) => {
                return Err(RedisFailure::Refused("still connecting".into()));
            }
            Err(AttemptError::Failed(failure)) => failure,
            // If the second attempt fails, too, its failure does not count: Redis may have received the first.
            Err(AttemptError::Broken(failure)) => match self.attempt(call, deadline).await {
                Ok(value) => return Ok(value),
                Err(_) => failure,
            },
        };
        Err(self.failed(failure))
    }

    fn failed(&self, failure: RedisFailure) -> RedisFailure {
        counter_of_shard(REDIS_ERRORS, self.redis.shard()).increment(1);
        self.redis.trip(&failure);
        failure
    }

    async fn attempt(&self, call: &Call, deadline: Instant) -> Result<Value, AttemptError> {
        let master = self.redis.master().map_err(AttemptError::Failed)?;
        let cuts = self.redis.cuts();
        let (started, connection) = self.connection(master, cuts).await;
        let mut connection = match connection {
            Some(Ok(connection)) => connection,
            Some(Err(failure)) => {
                self.close(started);
                return Err(AttemptError::Failed(failure));
            }
            None => return Err(AttemptError::Connecting),
        };
        let failure = match timeout_at(deadline, call.send(&mut connection)).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(failure @ RedisFailure::NoAnswer(_))) => {
                // Other dedicated connections of this age send nothing more: it would be in doubt.
                self.redis.note_cut(cuts);
                AttemptError::Broken(failure)
            }
            Ok(Err(refused)) => return Err(AttemptError::Failed(refused)),
            Err(_) => AttemptError::Failed(RedisFailure::late()),
        };
        self.close(started);
        Err(failure)
    }

    /// The connection and when it was started; `None` while it is still being made.
    async fn connection(
        &self,
        master: Arc<Master>,
        cuts: u64,
    ) -> (Instant, Option<Result<MultiplexedConnection, RedisFailure>>) {
        let (started, opening) = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            let pending = match current.take() {
                Some(pending) if Arc::ptr_eq(&pending.master, &master) && pending.cuts == cuts => {
                    pending
                }
                _ => PendingConnection::open(master, cuts),
            };
            let pending = current.insert(pending);
            (pending.started, pending.opening.clone())
        };
        if let Some(made) = opening.peek() {
            return (started, Some(made.clone()));
        }
        let made = timeout_at(started + self.redis.deadline() / 2, opening).await;
        (started, made.ok())
    }

    /// Closes the connection that was started then, unless another one has taken its place.
    fn close(&self, started: Instant) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|pending| pending.started == started);
    }
}

impl PendingConnection {
    /// Connects in a task of its own, which goes on when its callers give up.
    fn open(master: Arc<Master>, cuts: u64) -> Self {
        let connecting = Arc::clone(&master);
        let task = Handle::current().spawn(async move { connecting.connect().await });
        let opening = async move {
            task.await
                .unwrap_or_else(|error| Err(RedisFailure::refused(&error)))
        };
        Self {
            master,
            cuts,
            started: Instant::now(),
            opening: opening.boxed().shared(),
        }
    }
}
