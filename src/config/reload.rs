//! The settings that a running service reads again.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;

use clap::builder::Resettable;
use clap::{Arg, Args, Command, FromArgMatches};

use super::{Config, ConfigError};
use crate::domain::{Limits, io_reason};

/// Their names. All others need a restart.
const RELOADED: [&str; 10] = [
    "RUST_LOG",
    "LIMIT_LOGIN",
    "LIMIT_LOGIN_FAILURES",
    "LIMIT_ACCOUNT_FAILURES",
    "LIMIT_REGISTER",
    "LIMIT_REGISTER_DAY",
    "LIMIT_CREATE",
    "LIMIT_CREATE_DAY_MIB",
    "LIMIT_MISSES",
    "LINKS_PER_ACCOUNT",
];

/// Longest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Settings that may change while the service runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// What is logged.
    pub log_filter: String,
    /// What accounts and addresses may do.
    pub limits: Limits,
}

impl Reloaded {
    /// What is different in `newer`, as `NAME: old, now new`.
    #[must_use]
    pub fn changes(&self, newer: &Self) -> Vec<String> {
        fn change(name: &str, old: impl Display, new: impl Display) -> Option<String> {
            let (old, new) = (old.to_string(), new.to_string());
            (old != new).then(|| format!("{name}: {old}, now {new}"))
        }
        let (old, new) = (&self.limits, &newer.limits);
        [
            change("RUST_LOG", &self.log_filter, &newer.log_filter),
            change("LIMIT_LOGIN", old.login, new.login),
            change(
                "LIMIT_LOGIN_FAILURES",
                old.failures_from_address,
                new.failures_from_address,
            ),
            change(
                "LIMIT_ACCOUNT_FAILURES",
                old.failures_of_account,
                new.failures_of_account,
            ),
            change("LIMIT_REGISTER", old.register, new.register),
            change(
                "LIMIT_REGISTER_DAY",
                old.accounts_per_day,
                new.accounts_per_day,
            ),
            change("LIMIT_CREATE", old.create, new.create),
            change(
                "LIMIT_CREATE_DAY_MIB",
                old.link_bytes_per_day >> 20,
                new.link_bytes_per_day >> 20,
            ),
            change("LIMIT_MISSES", old.misses, new.misses),
            change(
                "LINKS_PER_ACCOUNT",
                old.links_per_account,
                new.links_per_account,
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Config {
    /// The settings that may change, as far as `SETTINGS_FILE` names them. Its other lines are ignored, so that it may be the
    /// environment file of a service manager.
    ///
    /// # Errors
    /// The file cannot be read, or a value of it is wrong.
    pub fn reloaded(&self) -> Result<Reloaded, ConfigError> {
        let mut reloaded = Reloaded {
            log_filter: self.log_filter.clone(),
            limits: self.limits(),
        };
        let Some(path) = &self.settings_file else {
            return Ok(reloaded);
        };
        let text = read(path)
            .map_err(|error| wrong(&format!("{}: {}", path.display(), io_reason(&error))))?;
        for (name, value) in lines(&text) {
            if let Some(name) = RELOADED.iter().find(|known| **known == name) {
                let given = Self::parsed(name, value)?;
                reloaded = reloaded.with(name, given.log_filter.clone(), given.limits());
            }
        }
        Ok(reloaded)
    }

    /// The defaults with one value, parsed as its flag is.
    fn parsed(name: &str, value: &str) -> Result<Self, ConfigError> {
        let is_named = |arg: &Arg| arg.get_env().is_some_and(|known| known == name);
        let command = Self::augment_args(Command::new("settings").no_binary_name(true));
        let flag = command
            .get_arguments()
            .find(|arg| is_named(arg))
            .and_then(Arg::get_long);
        let flag = format!("--{}={value}", flag.unwrap_or_default());
        let command = command.mut_args(|arg| {
            if is_named(&arg) {
                arg
            } else {
                arg.env(Resettable::Reset)
            }
        });
        let parsed = command
            .try_get_matches_from([flag])
            .and_then(|given| Self::from_arg_matches(&given));
        parsed.map_err(|refusal| match ConfigError::behind(&refusal) {
            Some(refused) => wrong(&refused.to_string()),
            None => wrong(&format!("{name}: cannot be read")),
        })
    }
}

impl Reloaded {
    /// With the value that one setting has elsewhere.
    fn with(mut self, name: &str, log_filter: String, limits: Limits) -> Self {
        match name {
            "RUST_LOG" => self.log_filter = log_filter,
            "LIMIT_LOGIN" => self.limits.login = limits.login,
            "LIMIT_LOGIN_FAILURES" => {
                self.limits.failures_from_address = limits.failures_from_address;
            }
            "LIMIT_ACCOUNT_FAILURES" => {
                self.limits.failures_of_account = limits.failures_of_account;
            }
            "LIMIT_REGISTER" => self.limits.register = limits.register,
            "LIMIT_MISSES" => self.limits.misses = limits.misses,
            "LIMIT_REGISTER_DAY" => self.limits.accounts_per_day = limits.accounts_per_day,
            "LIMIT_CREATE" => self.limits.create = limits.create,
            "LIMIT_CREATE_DAY_MIB" => self.limits.link_bytes_per_day = limits.link_bytes_per_day,
            _ => self.limits.links_per_account = limits.links_per_account,
        }
        self
    }
}

fn wrong(fault: &str) -> ConfigError {
    ConfigError::new("SETTINGS_FILE", fault)
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let text = String::from_utf8(fs::read(path)?);
    text.map_err(|_| io::Error::other("is not UTF-8"))
}

/// The lines `NAME=value`, with or without quotes around the value, as `EnvironmentFile` of systemd has them.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.starts_with(['#', ';']))
        .filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            let value = value.trim();
            let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            Some((name.trim(), value))
        })
}
