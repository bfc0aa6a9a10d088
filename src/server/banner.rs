//! The screen at the start: where the service listens, what it uses, and the first steps. In a log for machines it is a line
//! as any other.

use std::io::{Write, stdout};
use std::net::SocketAddr;

use crate::config::{BaseUrl, Config, DatabaseUrl};
use crate::telemetry::LogFormat;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints one screen, or logs one line where machines read it. A closed standard output is no reason not to serve.
pub(super) fn print(config: &Config, base_url: &BaseUrl, address: SocketAddr) {
    match config.log_format {
        LogFormat::Text => {
            let _ = writeln!(stdout(), "{}", screen(config, base_url, address));
            let _ = stdout().flush();
        }
        LogFormat::Json => tracing::info!(
            target: "shunt::listening",
            %address,
            base_url = base_url.as_str(),
            version = VERSION,
            revision = env!("SHUNT_REVISION"),
            database = database(config),
            redis = config.redis.is_some(),
            "listening"
        ),
    }
}

fn database(config: &Config) -> String {
    match &config.database {
        DatabaseUrl::Sqlite(path) => format!("SQLite, in {}", path.display()),
        DatabaseUrl::Postgres(_) => "Postgres".to_owned(),
    }
}

fn screen(config: &Config, base_url: &BaseUrl, address: SocketAddr) -> String {
    let base = base_url.as_str();
    let database = database(config);
    let redis = match &config.redis {
        Some(_) => "caches links and gathers clicks",
        None => "not used: clicks go straight to the database",
    };
    format!(
        "shunt {VERSION} is listening on http://{address}
  database   {database}
  Redis      {redis}
  explorer   {base}/docs

Your first short link:
  curl -s {base}/auth/register -H 'content-type: application/json' \\
    -d '{{\"email\":\"you@example.org\",\"password\":\"correct horse\"}}'
  TOKEN=...   # the access_token of the response
  curl -s -X POST -G {base}/urls/shorten -H \"Authorization: Bearer $TOKEN\" \\
    --data-urlencode 'target_url=https://example.org/'
  curl -i {base}/...   # the short_code of the response
"
    )
}
