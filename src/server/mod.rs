//! Puts the parts together, serves, and takes them apart again.
//!
//! Two kinds of threads: *workers*, one per core, each with a runtime of its own that reads connections
//! and serves redirects; and the *main* runtime, on which everything else runs (API, database, flusher),
//! so that none of it ever keeps a redirect waiting.

use crate::cache::LinkCache;
use crate::config::{BaseUrl, Config, Database};
use crate::shared::Shards;
use crate::telemetry::metrics::Exposition;

mod assembly;
mod background;
mod bridge;
mod connect;
mod docs;
mod express;
mod health;
mod lifecycle;
mod listener;
mod overload;
mod refusals;
mod router;
mod scrapers;
mod welcome;
mod worker;

use assembly::{Assembly, cache_limits};
pub use connect::migrate;
pub use lifecycle::{ServeError, Stop};
use listener::Taken;

/// Serves until `stop`: takes what is there, finishes what is open, writes back what is pending.
///
/// # Errors
/// [`ServeError`]: it could not start, or a part of it died, or it could not stop in time.
pub async fn serve(config: Config, metrics: Exposition, stop: Stop) -> Result<(), ServeError> {
    // Before anything is waited for.
    if config.jwt_secret.is_none() && matches!(config.database, Database::Postgres(_)) {
        return Err(ServeError::NoSecret);
    }
    let redis = config
        .redis
        .as_ref()
        .map(|urls| Shards::new(&urls.0, &config.redis_prefix, config.click_deadline / 2))
        .transpose()?;
    // First: a start that cannot be must not bring the schema up to date under those who use it.
    let public = Taken::take("BIND", config.bind)?;
    let of_metrics = config
        .metrics_bind
        .map(|address| Taken::take("METRICS_BIND", address))
        .transpose()?;
    let connecting = async {
        let databases = connect::databases(&config).await?;
        let cache = LinkCache::new(cache_limits(&config, &*databases.store), redis.as_ref());
        if let Some(redis) = &redis {
            connect::redis(redis, &*databases.store, &cache).await?;
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
    let metrics_listener = of_metrics.map(Taken::listen).transpose()?;
    let assembly = Assembly::new(&config, databases, redis, cache, &base_url)?;
    let running = lifecycle::start(
        assembly,
        &config,
        &base_url,
        listener,
        metrics_listener,
        metrics,
        stop,
    )?;
    welcome::print(&config, &base_url, address);
    running.until_stopped(config.shutdown_timeout).await
}
