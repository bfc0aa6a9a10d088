//! The database's history, as Redis remembers it: an instance compares the database with it.

use std::time::Duration;

use super::call::Call;
use super::{RedisFailure, RedisShard};

/// How long one command may take, in the background.
const TIMEOUT: Duration = Duration::from_secs(1);

impl RedisShard {
    /// What was remembered last; `None` before the first time.
    ///
    /// # Errors
    /// When Redis fails.
    pub async fn history(&self) -> Result<Option<String>, RedisFailure> {
        let mut get = redis::cmd("GET");
        get.arg(self.keys().history());
        self.query(&Call::plain(get), TIMEOUT).await
    }

    /// Remembers this instead.
    ///
    /// # Errors
    /// When Redis fails.
    pub async fn remember_history(&self, note: &str) -> Result<(), RedisFailure> {
        let mut set = redis::cmd("SET");
        set.arg(self.keys().history()).arg(note);
        self.query(&Call::plain(set), TIMEOUT).await
    }
}
