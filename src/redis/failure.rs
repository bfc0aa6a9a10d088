//! Why Redis did not do what it was asked, and whether it may have done it all the same.

use redis::{ErrorKind, RedisError};

/// Redis did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedisFailure {
    /// It refused: nothing was done.
    #[error("Redis refused: {0}")]
    Refused(String),
    /// It refused for want of memory: nothing was done. It still answers commands that only read.
    #[error("Redis is full: {0}")]
    Full(String),
    /// No answer in time, or the connection broke: it may or may not have been done.
    #[error("Redis did not answer: {0}")]
    NoAnswer(String),
}

impl RedisFailure {
    pub(super) fn late() -> Self {
        Self::NoAnswer("the deadline passed".into())
    }

    /// The same failure of a command that changes nothing, so that nothing is in doubt.
    pub(super) fn of_a_read(self) -> Self {
        match self {
            Self::NoAnswer(why) => Self::Refused(why),
            refused => refused,
        }
    }
}

impl From<RedisError> for RedisFailure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            _ if error.code() == Some("OOM") => Self::Full(error.to_string()),
            // An error reply: the server read the command and did nothing.
            ErrorKind::Server(_) | ErrorKind::Extension => Self::Refused(error.to_string()),
            _ => Self::NoAnswer(error.to_string()),
        }
    }
}
