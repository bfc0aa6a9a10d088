//! Connects to the replica, at the start and each time that it was away, and measures how far it lags behind.

use std::sync::Arc;
use std::time::Duration;

use super::runner::ticks;
use crate::store::PostgresReplica;
use crate::telemetry::metrics::{REPLICA_LAG, REPLICA_UP};

/// Pause between two probes: how long a replica that is back may stay unused.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(replica: Arc<PostgresReplica>) {
    let mut ticks = ticks(PAUSE);
    loop {
        ticks.tick().await;
        let lag = replica.probe().await;
        metrics::gauge!(REPLICA_UP).set(u8::from(lag.is_some()));
        let lag = lag.map_or(f64::NAN, |lag| lag.as_secs_f64());
        metrics::gauge!(REPLICA_LAG).set(lag);
    }
}
