//! Secrets on the command line, which every user of the machine can read in the list of processes.

use clap::{Args, Command};
use shunt::config::{Config, SecretFiles};

use super::settings_in_force::shown;

/// Warns, once and without the secret, of each secret that is given as a flag.
pub(super) fn warn() {
    let words = std::env::args_os().skip(1);
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let instead = in_flags(&words);
    if !instead.is_empty() {
        tracing::warn!(
            "all users of this machine can read flags, and these flags hold a secret; use the environment or a file instead: {}",
            instead.join("; ")
        );
    }
}

/// The flags that hold a secret, with what to use instead.
fn in_flags(words: &[String]) -> Vec<String> {
    let settings = Config::augment_args(Command::new("settings"));
    let files = SecretFiles::augment_args(Command::new("files"));
    let instead = |arg: &clap::Arg| {
        let (flag, name) = (format!("--{}", arg.get_long()?), arg.get_env()?.to_str()?);
        let value = words.iter().enumerate().find_map(|(at, word)| {
            match word.strip_prefix(&flag)?.strip_prefix('=') {
                Some(value) => Some(value),
                None if *word == flag => words.get(at + 1).map(String::as_str),
                None => None,
            }
        })?;
        let file = format!("{name}_FILE");
        let has_file = files
            .get_arguments()
            .any(|arg| arg.get_env().is_some_and(|name| *name == *file));
        let or_file = if has_file {
            format!(" or {file}")
        } else {
            String::new()
        };
        has_secret(name, value).then(|| format!("{name}{or_file} for {flag}"))
    };
    let secret = |arg: &&clap::Arg| arg.is_hide_env_values_set();
    settings
        .get_arguments()
        .filter(secret)
        .filter_map(instead)
        .collect()
}

/// Whether the value of a secret setting contains a secret: an address may be without a password.
fn has_secret(name: &str, value: &str) -> bool {
    if name.ends_with("_ENDPOINT") {
        return value.contains(['@', '?']);
    }
    !value.is_empty() && shown(name, value, true) != value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_holds_a_secret_if_its_value_has_one() {
        let found = |words: &[&str]| {
            in_flags(
                &words
                    .iter()
                    .map(|word| (*word).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        for words in [
            &["serve", "--database-url", "postgres://ada@db/shunt"][..],
            &[
                "--database-url=sqlite://data/shunt.db",
                "--redis-url",
                "redis://cache:6379",
            ],
            &[
                "--otlp-endpoint",
                "http://localhost:4318",
                "--bind",
                "0.0.0.0:8000",
            ],
            &[
                "--jwt-secret-file",
                "/run/secret",
                "--redis-url-file=/run/a@b",
            ],
        ] {
            assert!(found(words).is_empty(), "{words:?}");
        }
        for (words, instead) in [
            (
                &["serve", "--jwt-secret", "a"][..],
                "JWT_SECRET or JWT_SECRET_FILE for --jwt-secret",
            ),
            (
                &["--jwt-secret-previous=a"],
                "JWT_SECRET_PREVIOUS or JWT_SECRET_PREVIOUS_FILE for --jwt-secret-previous",
            ),
            (
                &["--database-url", "postgres://ada:b@db/shunt"],
                "DATABASE_URL or DATABASE_URL_FILE for --database-url",
            ),
            (
                &["--database-replica-url=postgres://db/shunt?password=b"],
                "DATABASE_REPLICA_URL or DATABASE_REPLICA_URL_FILE for --database-replica-url",
            ),
            (
                &["--redis-url", "redis://cache,redis://:b@cache"],
                "REDIS_URL or REDIS_URL_FILE for --redis-url",
            ),
            (
                &["--otlp-endpoint=http://ada:b@traces"],
                "OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT_FILE for --otlp-endpoint",
            ),
        ] {
            assert_eq!(found(words), [instead], "{words:?}");
        }
    }
}
