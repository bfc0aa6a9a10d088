//! Bounds the connections of clients, so that files are left for connections to the databases.

use crate::config::Config;

/// Open files apart from connections of clients and to databases: listeners, files of SQLite, leftovers of a restart.
const OWN_FILES: u64 = 128;

/// Connections to a shard of Redis apart from those of workers: of the main runtime, of occasional calls, of changes, and
/// of leftovers.
const PER_SHARD: usize = 16;

/// Connections of a worker to a shard: for its clicks and for its look-ups.
const PER_WORKER: usize = 2;

/// How many clients may be connected at the same time if the process may open this many files, and Redis has this many shards.
pub(super) fn max_connections(files: Option<u64>, shards: usize, config: &Config) -> usize {
    let wanted = config.guards.max_connections;
    let Some(files) = files else { return wanted };
    let of_databases = 2 * u64::from(config.database_max_connections);
    let of_redis = shards * (PER_SHARD + PER_WORKER * config.workers);
    let left = files.saturating_sub(OWN_FILES + of_databases + of_redis as u64);
    let fit = usize::try_from(left.max(files / 2)).unwrap_or(usize::MAX);
    if wanted > fit {
        tracing::warn!(
            "MAX_CONNECTIONS is {wanted}, but {files} files may be open: {fit} clients are let in; raise the limit of open files"
        );
    }
    wanted.min(fit)
}
