//! Reads the file of countries again when it changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::runner::every;
use crate::analytics::{Countries, CountriesError};
use crate::domain::Clock;
use crate::telemetry::metrics::COUNTRIES_AGE;

/// Pause between two looks at the file.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn run(countries: Countries, clock: Arc<dyn Clock>) {
    every(PAUSE, "reading GEOIP_DATABASE", || async {
        let reading = countries.clone();
        let refreshed = spawn_blocking(move || reading.refresh()).await;
        if let Some(age) = countries.age(clock.now()) {
            metrics::gauge!(COUNTRIES_AGE).set(age.as_secs_f64());
        }
        if refreshed.unwrap_or(Ok(false))? {
            tracing::info!("GEOIP_DATABASE changed and is in use");
        }
        Ok::<_, CountriesError>(())
    })
    .await;
}
