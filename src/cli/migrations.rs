//! What `shunt migrate` prints: the database, and what happens to its schema.

use std::io::{Write, stdout};

use serde_json::json;
use shunt::config::{Config, DatabaseUrl};
use shunt::store::migrations::Progress;
use shunt::telemetry::LogFormat;

use super::output::harmless;
use super::settings_in_force::shown;

/// Says which database is meant, before anything is done.
pub(super) fn print_database(config: &Config) {
    let database = match &config.database {
        DatabaseUrl::Sqlite(path) => format!("SQLite, in {}", path.display()),
        DatabaseUrl::Postgres(url) => shown("DATABASE_URL", url, true),
    };
    match config.log_format {
        LogFormat::Text => print(&format!("database: {}", harmless(&database))),
        LogFormat::Json => print(&json!({ "database": database }).to_string()),
    }
}

/// A line for people.
pub(super) fn print_text(progress: &Progress<'_>) {
    let line = match *progress {
        Progress::UpToDate { version } => format!("already at version {version}"),
        Progress::Newer { version, own, .. } => {
            format!(
                "already at version {version}, of a newer shunt; this shunt has migrations up to version {own}"
            )
        }
        Progress::Begins { from: None, to } => format!("empty: creating version {to}"),
        Progress::Begins {
            from: Some(from),
            to,
        } => format!("from version {from} to {to}"),
        Progress::Applied {
            version,
            description,
        } => format!("  {version:>4}  {description}"),
    };
    print(&line);
}

/// The same for machines.
pub(super) fn print_json(progress: &Progress<'_>) {
    let line = match *progress {
        Progress::UpToDate { version } => json!({ "up_to_date": version }),
        Progress::Newer { version, own, .. } => json!({ "up_to_date": version, "own": own }),
        Progress::Begins { from, to } => json!({ "from": from, "to": to }),
        Progress::Applied {
            version,
            description,
        } => json!({ "applied": version, "description": description }),
    };
    print(&line.to_string());
}

/// A closed standard output must not stop a migration half-way.
fn print(line: &str) {
    let _ = writeln!(stdout(), "{line}");
    let _ = stdout().flush();
}
