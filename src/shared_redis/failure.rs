//! Why Redis did not do what it was asked, and whether it may have done it all the same.

use std::fmt::Display;

use redis::RedisError;

/// The first words of Redis's own refusals. Any other error reply may come from a proxy, or from the middle of a script.
const REFUSALS: [&str; 18] = [
    "NOSCRIPT",
    "READONLY",
    "LOADING",
    "MOVED",
    "ASK",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "CROSSSLOT",
    "BUSY",
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "MISCONF",
    "NOREPLICAS",
    "MASTERDOWN",
    "DENIED",
    "NOPROTO",
    "EXECABORT",
];

/// Redis did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedisFailure {
    /// It refused: nothing was done.
    #[error("Redis refused: {0}")]
    Refused(String),
    /// A script refused: the data set is in another term. Nothing was done.
    #[error("Redis is in another term: {0}")]
    OtherTerm(String),
    /// It refused for want of memory: nothing was done. It still answers commands that only read.
    #[error("Redis is full: {0}")]
    Full(String),
    /// No answer in time, or the connection broke: it may or may not have been done.
    #[error("Redis did not answer: {0}")]
    NoAnswer(String),
}

impl RedisFailure {
    /// A refusal for this reason.
    pub(super) fn refused(why: &dyn Display) -> Self {
        Self::Refused(one_line(why))
    }

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

/// The text of an error of the client, which may end with a line break: an event is one line of the log.
fn one_line(error: &dyn Display) -> String {
    let text = error.to_string();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    lines.join(" ")
}

impl From<RedisError> for RedisFailure {
    fn from(error: RedisError) -> Self {
        let why = one_line(&error);
        match error.code() {
            Some("OOM") => Self::Full(why),
            Some("TERM") => Self::OtherTerm(why),
            Some(code) if REFUSALS.contains(&code) => Self::Refused(why),
            _ => Self::NoAnswer(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use redis::{ErrorKind, RedisError, Value};

    use super::*;

    #[test]
    fn a_failure_is_one_line_of_the_log() {
        let failure = RedisFailure::refused(&"the hook failed: refused\r\n  by a proxy\n");
        assert_eq!(
            failure.to_string(),
            "Redis refused: the hook failed: refused by a proxy"
        );
    }

    #[test]
    fn only_refusals_of_redis_itself_mean_that_nothing_was_done() {
        let failure = |reply: &str| {
            let line = format!("-{reply}\r\n");
            let reply = redis::parse_redis_value(line.as_bytes()).and_then(Value::extract_error);
            RedisFailure::from(reply.unwrap_err())
        };
        assert!(matches!(
            failure("TERM 7 is that of the data set"),
            RedisFailure::OtherTerm(_)
        ));
        assert!(matches!(
            failure("OOM command not allowed"),
            RedisFailure::Full(_)
        ));
        for refusal in [
            "NOSCRIPT No matching script",
            "READONLY You can't write",
            "MOVED 1 a:1",
            "BUSY a script",
        ] {
            assert!(
                matches!(failure(refusal), RedisFailure::Refused(_)),
                "{refusal}"
            );
        }
        for unclear in [
            "ERR upstream timeout",
            "UPSTREAM gone",
            "ERR user_script:7: an error",
        ] {
            assert!(
                matches!(failure(unclear), RedisFailure::NoAnswer(_)),
                "{unclear}"
            );
        }
        let broken = RedisError::from((ErrorKind::Io, "the connection broke"));
        assert!(matches!(broken.into(), RedisFailure::NoAnswer(_)));
    }
}
