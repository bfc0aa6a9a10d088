//! `shunt config`: the settings in force and where each comes from, without secrets.

use std::io::Write;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use serde_json::{Map, Value, json};
use shunt::config::Config;

use super::output::{self, ASIDE, HEAD, harmless};
use super::{Failure, check_oidc};

/// Shown in place of a secret.
const HIDDEN: &str = "***";

/// The settings, and how to print them.
#[derive(Args)]
pub(super) struct ConfigArgs {
    #[command(flatten)]
    config: Config,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Ask the identity provider of `OIDC_ISSUER`, and say what is wrong with it or with the settings, and what to register there.
    #[arg(long, conflicts_with = "json")]
    check_oidc: bool,
}

/// A setting as it is shown.
struct SettingRow {
    name: String,
    /// `None`: it is not set and has no default.
    value: Option<String>,
    source: &'static str,
}

/// Checks the settings as a start does, and prints them.
pub(super) fn print(args: ConfigArgs, given: &ArgMatches) -> Result<(), Failure> {
    let config = args.config.checked().map_err(|error| Failure::of(&error))?;
    if args.check_oidc {
        return check_oidc::run(&config);
    }
    // The rows come from the description of the flags: a new setting needs no line here.
    let described = Config::augment_args(Command::new("settings"));
    let rows: Vec<SettingRow> = described
        .get_arguments()
        .filter_map(|arg| row(arg, given, &config))
        .collect();
    if args.json {
        print_json(&rows)
    } else {
        print_table(&rows)
    }
}

fn row(arg: &Arg, given: &ArgMatches, config: &Config) -> Option<SettingRow> {
    let name = arg.get_env()?.to_str()?.to_owned();
    let id = arg.get_id().as_str();
    let raw = given
        .try_get_raw(id)
        .ok()
        .flatten()
        .and_then(|mut raw| raw.next());
    let set = raw
        .map(|raw| raw.to_string_lossy())
        .filter(|raw| !raw.is_empty());
    let source = match given.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    };
    if let Some(file) = config.secret_files.of(&name) {
        return Some(SettingRow {
            name,
            value: Some(format!("{HIDDEN} (in {})", file.display())),
            source: "file",
        });
    }
    let value = match set {
        Some(set) => Some(shown(&name, &set, arg.is_hide_env_values_set())),
        None => computed_default(&name, config),
    };
    Some(SettingRow {
        name,
        value,
        source,
    })
}

/// The default of a setting that is known at start only.
fn computed_default(name: &str, config: &Config) -> Option<String> {
    match name {
        "BASE_URL" => Some(format!("http://{}", config.bind)),
        "WORKERS" => Some(config.workers.to_string()),
        "HASHING_CONCURRENCY" => Some(config.hashing_concurrency.to_string()),
        _ => None,
    }
}

fn print_table(rows: &[SettingRow]) -> Result<(), Failure> {
    let names = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or_default();
    let mut out = output::stdout();
    writeln!(
        out,
        "{HEAD}{:names$}  {:11}  VALUE{HEAD:#}",
        "SETTING", "FROM"
    )?;
    for SettingRow {
        name,
        value,
        source,
    } in rows
    {
        write!(out, "{name:names$}  {ASIDE}{source:11}{ASIDE:#}  ")?;
        match value {
            Some(value) => writeln!(out, "{}", harmless(value))?,
            None => writeln!(out, "{ASIDE}(not set){ASIDE:#}")?,
        }
    }
    Ok(())
}

fn print_json(rows: &[SettingRow]) -> Result<(), Failure> {
    let settings: Map<String, Value> = rows
        .iter()
        .map(|row| {
            (
                row.name.clone(),
                json!({ "value": row.value, "from": row.source }),
            )
        })
        .collect();
    output::json_line(&settings)
}

/// A value without secrets: a secret address loses its password, another secret is hidden whole.
pub(super) fn shown(name: &str, value: &str, secret: bool) -> String {
    let address = value.contains("//") || value.starts_with("sqlite:");
    if secret && !(name.ends_with("_URL") && address) {
        return HIDDEN.into();
    }
    without_password_parameters(&without_passwords(value))
}

/// One address or several with commas between, with each password in `user:password@host` hidden. Works on the text: a
/// password may contain a comma, and a list of addresses cannot be parsed as one.
fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("//") {
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let (authority, behind) = after.split_at(end);
        shown.push_str(before);
        shown.push_str("//");
        shown.push_str(&without_password(authority));
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

fn without_password(authority: &str) -> String {
    let Some((login, host)) = authority.rsplit_once('@') else {
        return authority.to_owned();
    };
    match login.split_once(':') {
        Some((user, _)) => format!("{user}:{HIDDEN}@{host}"),
        None => authority.to_owned(),
    }
}

/// Postgres takes passwords as parameters, too: `?password=…`, `&sslpassword=…`.
fn without_password_parameters(text: &str) -> String {
    let hide = |piece: &str| match piece.split_once('=') {
        Some((key, value)) if key.to_ascii_lowercase().ends_with("password") => {
            let delimiter = if value.ends_with('&') { "&" } else { "" };
            format!("{key}={HIDDEN}{delimiter}")
        }
        _ => piece.to_owned(),
    };
    text.split_inclusive(['?', '&']).map(hide).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_in_addresses_are_hidden() {
        for (value, expected) in [
            ("sqlite://data/shunt.db", "sqlite://data/shunt.db"),
            ("postgres://u:p@h:5432/d", "postgres://u:***@h:5432/d"),
            ("postgres://u:a,b@h/d", "postgres://u:***@h/d"),
            ("postgres://u:a@b@h/d", "postgres://u:***@h/d"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            (
                "postgres://u@h/d?password=p&sslmode=require",
                "postgres://u@h/d?password=***&sslmode=require",
            ),
            ("rediss://:p@h:6379/0", "rediss://:***@h:6379/0"),
            ("redis://:p@a,redis://:q@b", "redis://:***@a,redis://:***@b"),
            (
                "redis://:p@a?protocol=resp3,redis://:q@b",
                "redis://:***@a?protocol=resp3,redis://:***@b",
            ),
            ("postgres:u:p@h", "***"),
        ] {
            assert_eq!(shown("DATABASE_URL", value, true), expected);
        }
        assert_eq!(shown("JWT_SECRET", "sqlite://not-an-address", true), "***");
        assert_eq!(shown("BIND", "127.0.0.1:8000", false), "127.0.0.1:8000");
    }

    proptest! {
        #[test]
        fn no_password_survives(
            user in "[a-z]{0,8}",
            password in "[!$%&'()*+,;=:@._~A-Z0-9-]{1,40}Q",
            host in "[a-z]{1,20}",
        ) {
            let address = format!("redis://{user}:{password}@{host}:6379/0");
            let text = shown("REDIS_URL", &format!("{address},{address}"), true);
            prop_assert!(!text.contains(&password), "{text}");
        }
    }
}
