//! What a person sees at start: where the service listens, what it uses, and the first steps.

use std::io::{Write, stdout};
use std::net::SocketAddr;

use crate::config::{BaseUrl, Config, Database};

/// Prints one screen. A closed standard output is no reason not to serve.
pub(super) fn print(config: &Config, base_url: &BaseUrl, address: SocketAddr) {
    let _ = writeln!(stdout(), "{}", screen(config, base_url, address));
    let _ = stdout().flush();
}

fn screen(config: &Config, base_url: &BaseUrl, address: SocketAddr) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let base = base_url.as_str();
    let database = match &config.database {
        Database::Sqlite(path) => format!("SQLite, in {}", path.display()),
        Database::Postgres(_) => "Postgres".to_owned(),
    };
    let redis = match &config.redis {
        Some(_) => "caches links and gathers clicks",
        None => "not used: clicks go straight to the database",
    };
    format!(
        "shunt {version} is listening on http://{address}
  database   {database}
  Redis      {redis}
  explorer   {base}/docs

Your first short link:
  curl -s {base}/auth/register -H 'content-type: application/json' \\
    -d '{{\"email\":\"you@example.org\",\"password\":\"correct horse\"}}'
  TOKEN=...   # the access_token of the answer
  curl -s -X POST -G {base}/urls/shorten -H \"Authorization: Bearer $TOKEN\" \\
    --data-urlencode 'target_url=https://example.org/'
  curl -i {base}/...   # the short_code of the answer
"
    )
}
