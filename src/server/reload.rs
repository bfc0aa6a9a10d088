//! SIGHUP: the settings that may change are read again.

use tokio::signal::unix::Signal;

use crate::config::{Config, Reloaded};
use crate::limits::CurrentLimits;
use crate::telemetry::LogFilter;

/// Reads the settings again at each signal, and puts them in force. A wrong one changes nothing.
pub(super) async fn run(
    mut hangup: Signal,
    config: Config,
    mut current: Reloaded,
    limits: CurrentLimits,
    log: LogFilter,
) {
    while hangup.recv().await.is_some() {
        if config.settings_file.is_none() {
            tracing::info!("SIGHUP: SETTINGS_FILE is not set, so that nothing can be read again");
            continue;
        }
        let newer = match config.reloaded() {
            Ok(newer) => newer,
            Err(error) => {
                tracing::warn!("SIGHUP: {error}; the settings stay as they were");
                continue;
            }
        };
        if let Err(error) = log.set(&newer.log_filter) {
            tracing::warn!("SIGHUP: RUST_LOG: {error}; the settings stay as they were");
            continue;
        }
        limits.set(newer.limits);
        match &current.changes(&newer)[..] {
            [] => tracing::info!("SIGHUP: the settings were read again; nothing changed"),
            changes => {
                for change in changes {
                    tracing::info!("SIGHUP: {change}");
                }
            }
        }
        current = newer;
    }
}
