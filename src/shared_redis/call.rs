//! Commands and calls of scripts, ready to be sent.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, ServerErrorKind, ToRedisArgs, Value};

use super::failure::RedisFailure;

/// A Lua script. Calls name it by its hash; its text is sent where Redis does not know it yet.
pub struct Script {
    body: &'static str,
    hash: String,
}

impl Script {
    /// The script with this text.
    #[must_use]
    pub fn new(body: &'static str) -> Self {
        let hash = redis::Script::new(body).get_hash().to_owned();
        Self { body, hash }
    }

    /// A call of this script; arguments may follow with [`Call::arg`].
    #[must_use]
    pub fn call(&self, keys: &[&str]) -> Call {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        Call {
            command,
            body: Some(self.body),
        }
    }
}

/// One command, ready to be sent.
pub struct Call {
    command: Cmd,
    body: Option<&'static str>,
}

impl Call {
    /// A call of a plain command.
    #[must_use]
    pub fn plain(command: Cmd) -> Self {
        Self {
            command,
            body: None,
        }
    }

    /// Adds an argument, or several from a slice.
    pub fn arg(&mut self, value: impl ToRedisArgs) -> &mut Self {
        self.command.arg(value);
        self
    }

    pub(super) async fn send(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Value, RedisFailure> {
        let reply = self.command.query_async(connection).await;
        let (Some(body), Err(error)) = (self.body, &reply) else {
            return reply.map_err(RedisFailure::from);
        };
        if error.kind() != ErrorKind::Server(ServerErrorKind::NoScript) {
            return reply.map_err(RedisFailure::from);
        }
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(body);
        load.exec_async(connection).await?;
        Ok(self.command.query_async(connection).await?)
    }
}
