//! `shunt serve`, from the settings to the end of the process.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::cache::LinkCache;
use crate::clicks::Drain;
use crate::config::{BaseUrl, Config, DatabaseUrl};
use crate::domain::{Clock, SystemClock};
use crate::limits::CurrentLimits;
use crate::server::app::App;
use crate::server::bound_socket::BoundSocket;
use crate::server::data_sets::DataSets;
use crate::server::error::ServeError;
use crate::server::file_limit::max_connections;
use crate::server::from_settings::cache_limits;
use crate::server::history::HistoryWatch;
use crate::server::parked::settle_former;
use crate::server::running::{Listeners, Running};
use crate::server::shutdown::Shutdown;
use crate::server::{banner, first_administrator, risks, startup};
use crate::shared_redis::{RedisServers, RedisShards};
use crate::telemetry::LogFilter;
use crate::telemetry::exposition::Exposition;

/// Serves until `shutdown`: connects to the dependencies, answers requests, finishes open requests, and writes pending clicks
/// back. `files` is how many files the process may open.
///
/// # Errors
/// [`ServeError`]: the service could not start, or a part of it died, or it could not stop in time.
pub async fn serve(
    mut config: Config,
    files: Option<u64>,
    metrics: Exposition,
    log: LogFilter,
    shutdown: Shutdown,
) -> Result<(), ServeError> {
    // Checked before any wait.
    if config.jwt_secret.is_none() && matches!(config.database, DatabaseUrl::Postgres(_)) {
        return Err(ServeError::NoSecret);
    }
    // From here on a SIGHUP does not end the process.
    let hangup = signal(SignalKind::hangup())?;
    let settings = config.reloaded()?;
    risks::warn(&config);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let redis = config
        .redis
        .as_ref()
        .map(|urls| RedisServers::parse(&urls.0))
        .transpose()?;
    // Bound before the database is opened: a start that must fail does not change the schema under running instances.
    let public = BoundSocket::bind("BIND", config.bind)?;
    let of_metrics = config
        .metrics_bind
        .map(|address| BoundSocket::bind("METRICS_BIND", address))
        .transpose()?;
    let connecting = async {
        let databases = startup::databases(&config, &clock).await?;
        let store = &databases.store;
        let limits = cache_limits(&config, store);
        let drain = Drain {
            store,
            cache: LinkCache::new(limits, None),
            clock: &clock,
        };
        let started = Instant::now();
        let shards = match &redis {
            Some(servers) => {
                let data_sets = DataSets {
                    servers,
                    config: &config,
                    store,
                    clock: &clock,
                };
                let shards = data_sets.configured(started).await?;
                data_sets.divide(&shards, &drain).await?;
                Some(shards)
            }
            None => None,
        };
        let cache = LinkCache::new(limits, shards.as_ref());
        if let Some(shards) = &shards {
            startup::redis(shards, store, &cache, started).await?;
        }
        settle_former(store, shards.as_ref(), &drain).await?;
        // Before the first request: the database may have gone back while nothing ran.
        let mut watch = HistoryWatch::new(store, &cache, shards.as_ref());
        if let Err(error) = watch.check().await {
            tracing::warn!(%error, "the history of the database is checked later");
        }
        Ok::<_, ServeError>((databases, shards, cache))
    };
    let (databases, redis, cache) = tokio::select! {
        connected = connecting => connected?,
        () = shutdown.requested() => {
            tracing::info!("stopped before all dependencies were there");
            return Ok(());
        }
    };
    let shards = redis.iter().flat_map(RedisShards::iter).count();
    config.guards.max_connections = max_connections(files, shards, &config);
    // Only now: every connection that is accepted is answered.
    let public = public.listen()?;
    let address = public.local_addr()?;
    let base_url = match &config.base_url {
        Some(base_url) => base_url.clone(),
        None => BaseUrl::parse(&format!("http://{address}")).map_err(ServeError::BaseUrl)?,
    };
    let listeners = Listeners {
        public,
        metrics: of_metrics.map(BoundSocket::listen).transpose()?,
    };
    let limits = CurrentLimits::new(settings.limits);
    let app = App::new(&config, databases, redis, cache, &base_url, &limits, clock)?;
    startup::ask_database(|| app.links.reload_hosts()).await?;
    first_administrator::ensure(&app.accounts, &config.administrator).await?;
    if let Err(error) = app.links.lengthen_codes().await {
        tracing::warn!(%error, "the length of new codes is found out later");
    }
    if let Err(error) = app.daily_keys.refresh().await {
        tracing::warn!(%error, "the key of the day is shared later");
    }
    let mut running = Running::start(app, &config, &base_url, listeners, metrics, shutdown)?;
    running.reload_upon(hangup, config.clone(), settings, limits, log);
    banner::print(&config, &base_url, address);
    running.until_stopped(config.shutdown_timeout).await
}
