//! Background jobs: one file each, and each gets only the parts that it works with.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::task::JoinSet;

use crate::config::Config;
use crate::domain::Shard;
use crate::events::Feeds;
use crate::links::publishes;
use crate::server::app::App;
use crate::server::history::HistoryWatch;
use crate::server::redis_recovery::RedisRecovery;
use crate::server::shutdown::Shutdown;
use crate::shared_redis::RedisShard;
use crate::telemetry::exposition::Exposition;

mod blocklist;
mod code_length;
mod countries;
mod daily_keys;
mod database;
mod details;
mod events;
mod flush;
mod flush_times;
mod follow;
mod history;
mod hooks;
mod hosts;
mod invalidation;
mod maintain;
mod measure;
mod memory_only;
mod outbox;
mod probe;
mod provider;
mod prune;
mod removals;
mod replica;
mod retention;
mod runner;
mod settle;
mod terms;

pub(super) use flush::last_flush;
use flush_times::FlushTimes;
use measure::Measured;
use runner::Background;

/// Spawns the jobs that end when the service drains. Returns the jobs that probe Redis: they run for as long as the caller
/// keeps them, because clicks that are only in memory may need Redis during the shutdown, too.
pub(super) fn spawn(
    tasks: &mut JoinSet<()>,
    app: &App,
    feeds: Arc<Feeds>,
    config: &Config,
    metrics: Exposition,
    shutdown: &Shutdown,
) -> JoinSet<()> {
    let flush_interval = config.flush_interval;
    let store = || app.store.clone();
    let flusher = || Arc::clone(&app.flusher);
    let cache = || app.cache.clone();
    let flush_times = Arc::new(match &app.redis {
        Some(shards) => FlushTimes::new(shards.iter().map(RedisShard::shard)),
        None => FlushTimes::new([Shard::ONLY].into_iter()),
    });
    let measured = Measured {
        cache: cache(),
        flush_times: Arc::clone(&flush_times),
        store: store(),
        replica: app.replica.clone(),
        redis: app.redis.clone(),
    };
    let mut jobs = Background { tasks, shutdown };
    jobs.spawn(flush::run(flusher(), flush_times, flush_interval));
    if app.flusher.merges_apart() {
        jobs.spawn(flush::run_merges(flusher()));
    }
    jobs.spawn(measure::run(measured, metrics));
    let publishes = publishes(&app.store, &app.cache);
    jobs.spawn(measure::run_stores(
        store(),
        app.redis.clone(),
        publishes,
        app.database_max,
    ));
    jobs.spawn(code_length::run(Arc::clone(&app.links)));
    jobs.spawn(hosts::run(Arc::clone(&app.links)));
    jobs.spawn(prune::run(flusher()));
    jobs.spawn(daily_keys::run(app.daily_keys.clone()));
    let links = Arc::clone(&app.links);
    jobs.spawn(removals::run(Arc::clone(&app.abuse), links));
    let list = app.links.refusals.blocklist.clone();
    jobs.spawn(blocklist::run(
        app.blocklist.clone(),
        list,
        Arc::clone(&app.abuse),
    ));
    jobs.spawn(maintain::run(store()));
    jobs.spawn(database::run(store()));
    jobs.spawn(memory_only::run(Arc::clone(&app.memory_only)));
    let watch = HistoryWatch::new(&app.store, &app.cache, app.redis.as_ref());
    jobs.spawn(history::run(watch));
    jobs.spawn(retention::run(store(), Arc::clone(&app.clock), config.kept));
    jobs.spawn(events::run(feeds));
    // It gives its hooks back when the service drains.
    let draining = shutdown.draining_token();
    jobs.tasks
        .spawn(hooks::run(app.hook_worker(), draining).boxed());
    jobs.spawn(hooks::measure(store()));
    let details = || Arc::clone(&app.store.details);
    jobs.spawn(details::run_sums(
        app.store.clone(),
        app.redis.clone(),
        flush_interval,
        app.analytics_settings.analytics_rows_per_day,
    ));
    jobs.spawn(details::run_removals(
        details(),
        Arc::clone(&app.clock),
        app.analytics_settings.analytics_detail_days,
    ));
    if app.countries.are_known() {
        jobs.spawn(countries::run(
            app.countries.clone(),
            Arc::clone(&app.clock),
        ));
    }
    if let Some(identity_provider) = app.accounts.provider() {
        jobs.spawn(provider::run(identity_provider.clone()));
    }
    if publishes {
        let link_changes = Arc::clone(&app.link_changes);
        let redis = app.redis.clone();
        jobs.spawn(outbox::run(app.store.clone(), cache(), link_changes, redis));
    } else {
        jobs.spawn(follow::run(Arc::clone(&app.link_changes)));
    }
    if let Some(replica) = &app.replica {
        jobs.spawn(replica::run(Arc::clone(replica)));
    }
    let mut probes = JoinSet::new();
    if let Some(shards) = &app.redis {
        jobs.spawn(settle::run(shards.clone(), app.store.clone(), cache()));
        jobs.spawn(terms::run(shards.clone(), app.store.clone(), flusher()));
        let recovery = RedisRecovery::new(&app.store, &app.cache);
        for redis in shards.iter() {
            jobs.spawn(invalidation::run(cache(), redis.clone()));
            probes.spawn(probe::run(redis.clone(), recovery.clone()));
        }
    }
    probes
}
