//! Settings as clap parses them: by a function whose error names the setting.

use std::ffi::OsStr;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Arg, Command};

use super::ConfigError;
use super::parse::{address, within};

/// A parser of one setting's text. Its errors are [`ConfigError`]s, which name the setting.
#[derive(Clone)]
pub(super) struct Setting<T>(Arc<Parse<T>>);

type Parse<T> = dyn Fn(&str) -> Result<T, String> + Send + Sync;

/// Has clap parse a setting by a function.
pub(super) fn setting<T>(
    parse: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
) -> Setting<T> {
    Setting(Arc::new(parse))
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Setting<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let name = arg.and_then(Arg::get_env).unwrap_or_default();
        let wrong = |fault| ConfigError::new(&name.to_string_lossy(), fault);
        let parsed = match value.to_str() {
            Some(text) => (self.0)(text),
            None => Err("is not UTF-8 text".into()),
        };
        let outcome = parsed.map_err(wrong);
        // Only clap can build an error with a source, and does so for a closure that fails. The value is left out.
        let repeat = move |_: &str| outcome.clone();
        repeat.parse_ref(command, arg, OsStr::new(""))
    }
}

/// A setting that is absent if the text is empty.
pub(super) fn optional<T>(
    parse: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
) -> Setting<Option<T>> {
    setting(move |raw: &str| match raw {
        "" => Ok(None),
        raw => parse(raw).map(Some),
    })
}

/// A whole number.
pub(super) fn number<T>(range: RangeInclusive<T>) -> Setting<T>
where
    T: FromStr + PartialOrd + Display + Send + Sync + 'static,
{
    setting(move |raw: &str| within(&range, raw))
}

/// A value that is absent where the setting is empty: `--redis-url=` takes back what the environment says. Clap would
/// take a field of type `Option` for a flag without a default, and parse an empty value.
pub(super) type Optional<T> = Option<T>;

/// A whole number, or a default that is known at start only.
pub(super) fn number_or(default: usize, range: RangeInclusive<usize>) -> Setting<usize> {
    setting(move |raw: &str| match raw {
        "" => Ok(default),
        raw => within(&range, raw),
    })
}

/// A whole number of seconds.
pub(super) fn seconds(range: RangeInclusive<u64>) -> Setting<Duration> {
    setting(move |raw: &str| within(&range, raw).map(Duration::from_secs))
}

/// A whole number of milliseconds.
pub(super) fn milliseconds(range: RangeInclusive<u64>) -> Setting<Duration> {
    setting(move |raw: &str| within(&range, raw).map(Duration::from_millis))
}

/// A whole number of mebibytes, as bytes.
pub(super) fn mebibytes(range: RangeInclusive<u64>) -> Setting<u64> {
    setting(move |raw: &str| within(&range, raw).map(|number| number << 20))
}

/// The parser of BIND, for the command that asks the service on this machine.
#[must_use]
pub fn bind() -> impl TypedValueParser<Value = SocketAddr> {
    setting(|raw: &str| address(raw, 8000))
}
