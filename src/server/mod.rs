//! Puts the parts together, serves, and takes them apart again.
//!
//! Two kinds of threads: *workers*, one per core, each with a runtime of its own that reads connections
//! and serves redirects; and the *main* runtime, on which everything else runs (API, database, flusher),
//! so that none of it ever keeps a redirect waiting.

use std::sync::Arc;

use crate::cache::LinkCache;
use crate::config::{BaseUrl, Config, Database};
use crate::domain::{Clock, SystemClock};
use crate::redis::RedisShards;
use crate::telemetry::metrics::Exposition;

mod app;
mod banner;
mod http1;
mod jobs;
mod lifecycle;
mod listener;
mod metrics_listener;
mod startup;
mod workers;

use app::{App, cache_limits};
pub use lifecycle::{ServeError, Shutdown};
use listener::BoundSocket;
pub use startup::migrate;

/// Serves until `stop`: takes what is there, finishes what is open, writes back what is pending.
///
/// # Errors
/// [`ServeError`]: it could not start, or a part of it died, or it could not stop in time.
pub async fn serve(config: Config, metrics: Exposition, stop: Shutdown) -> Result<(), ServeError> {
    // Before anything is waited for.
    if config.jwt_secret.is_none() && matches!(config.database, Database::Postgres(_)) {
        return Err(ServeError::NoSecret);
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let redis = config
        .redis
        .as_ref()
        .map(|urls| {
            RedisShards::new(
                &urls.0,
                &config.redis_prefix,
                config.click_deadline / 2,
                &clock,
            )
        })
        .transpose()?;
    // First: a start that cannot be must not bring the schema up to date under those who use it.
    let public = BoundSocket::take("BIND", config.bind)?;
    let of_metrics = config
        .metrics_bind
        .map(|address| BoundSocket::take("METRICS_BIND", address))
        .transpose()?;
    let connecting = async {
        let databases = startup::databases(&config, &clock).await?;
        let cache = LinkCache::new(cache_limits(&config, &databases.store), redis.as_ref());
        if let Some(redis) = &redis {
            startup::redis(redis, &databases.store, &cache).await?;
        }
        Ok::<_, ServeError>((databases, cache))
    };
    let (databases, cache) = tokio::select! {
        connected = connecting => connected?,
        () = stop.door_closes() => {
            tracing::info!("stopped before everything it needs was there");
            return Ok(());
        }
    };
    // Only now: a connection that is let in is answered.
    let listener = public.listen()?;
    let address = listener.local_addr()?;
    let base_url = match &config.base_url {
        Some(base_url) => base_url.clone(),
        None => BaseUrl::parse(&format!("http://{address}")).map_err(ServeError::BaseUrl)?,
    };
    let metrics_listener = of_metrics.map(BoundSocket::listen).transpose()?;
    let app = App::new(&config, databases, redis, cache, &base_url, clock)?;
    let running = lifecycle::start(
        app,
        &config,
        &base_url,
        listener,
        metrics_listener,
        metrics,
        stop,
    )?;
    banner::print(&config, &base_url, address);
    running.until_stopped(config.shutdown_timeout).await
}
