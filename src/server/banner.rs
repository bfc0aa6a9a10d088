//! The screen at the start: where the service listens, what it uses, and the first steps. In a log for machines it is an
//! ordinary line.

use std::io::{Write, stdout};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::{BaseUrl, Config, DatabaseUrl, LOCAL_URL};
use crate::telemetry::LogFormat;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints one screen, or logs one line for machines. The service also starts if standard output is closed.
pub(super) fn print(config: &Config, base_url: &BaseUrl, address: SocketAddr) {
    if config.base_url.is_none() && address.ip().is_unspecified() {
        tracing::warn!(
            "BASE_URL is not set, and {} leads nowhere: the API document and links to further pages name it, and a target \
             on this service's own host is not recognised; set BASE_URL to the public address",
            base_url.as_str()
        );
    }
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
    let database = database(config);
    let redis = match &config.redis {
        Some(_) => "caches links and gathers clicks",
        None => "not used: clicks go straight to the database",
    };
    let sign_in = match &config.oidc.oidc_issuer {
        Some(issuer) => format!(
            "\n  sign-in    {}, where {}/app/oidc/callback is registered",
            issuer.as_str(),
            base_url.as_str()
        ),
        None => String::new(),
    };
    let base = match &config.base_url {
        Some(_) => base_url.as_str().to_owned(),
        None => format!("http://{}", on_this_machine(address)),
    };
    let url = if base == LOCAL_URL {
        String::new()
    } else {
        format!(" --server {base}")
    };
    format!(
        "shunt {VERSION} is listening on http://{address}
  database   {database}
  Redis      {redis}
  explorer   {base}/docs{sign_in}

Your first short link, from another terminal:
  shunt register you@example.org{url}
  shunt shorten https://example.org/{url}

The same without this program:
  TOKEN=$(curl -s {base}/auth/register -H 'content-type: application/json' \\
    -d '{{\"email\":\"you@example.org\",\"password\":\"correct horse\"}}' | cut -d '\"' -f 4)
  curl -s -G -X POST -H \"Authorization: Bearer $TOKEN\" \\
    --data-urlencode target_url=https://example.org/ {base}/urls/shorten
"
    )
}

/// The address of a listener, as seen from its own machine.
fn on_this_machine(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
