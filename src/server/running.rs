//! The running service: its parts are started here, watched, and stopped in order. A part that dies stops the service
//! with an error.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::Signal;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::api;
use crate::compat;
use crate::config::{BaseUrl, Config, Reloaded};
use crate::http::{Admission, Cors, RequestIds, TrustedProxies};
use crate::limits::CurrentLimits;
use crate::server::app::App;
use crate::server::connections::Connections;
use crate::server::error::ServeError;
use crate::server::http1::dispatch::Api;
use crate::server::post::Post;
use crate::server::redirect_worker::RedirectWorker;
use crate::server::shutdown::Shutdown;
use crate::server::workers::Workers;
use crate::server::{jobs, listener, metrics_listener, reload};
use crate::store::Store;
use crate::telemetry::LogFilter;
use crate::telemetry::exposition::Exposition;
use crate::web::{self, ErrorPages, Site};

/// A service that accepts requests.
pub(super) struct Running {
    shutdown: Shutdown,
    workers: Workers,
    /// Ends the recorders: after the connections, before the last flush.
    drained: CancellationToken,
    tasks: JoinSet<()>,
    /// Probes Redis to the very end: clicks that are only in memory may need it.
    probes: JoinSet<()>,
    app: App,
}

/// The sockets of the service.
pub(super) struct Listeners {
    pub(super) public: TcpListener,
    /// `None` if metrics are served on the public listener.
    pub(super) metrics: Option<TcpListener>,
}

impl Running {
    /// Starts every thread and task of the service. Tasks with a lifetime as long as the service's are spawned here, in
    /// [`jobs`] and in [`Workers`] only.
    pub(super) fn start(
        app: App,
        config: &Config,
        base_url: &BaseUrl,
        listeners: Listeners,
        metrics: Exposition,
        shutdown: Shutdown,
    ) -> Result<Self, ServeError> {
        let drained = CancellationToken::new();
        let mut tasks = JoinSet::new();
        // The API has a redirect path, too.
        let RedirectWorker {
            redirect,
            tasks: redirect_tasks,
        } = app.redirect_worker();
        let delivering = redirect_tasks.spawn(&drained);
        // Boxed, as all long tasks: so one kind of task is compiled, and not one for each.
        let delivering = async move { delivering.await.expect("its panic is this task's, too") };
        tasks.spawn(delivering.boxed());
        let granting = Arc::clone(&app.grants).run(drained.clone().cancelled_owned());
        tasks.spawn(granting.boxed());

        let live = app.live_counts(&shutdown);
        let site = Site::new(config, base_url, app.links.hosts.current.clone());
        let post = Post::start(&mut tasks, &app, config, &site, &shutdown)?;
        let mut state = app.api_state(
            redirect,
            base_url,
            metrics.clone(),
            Arc::clone(&live),
            api::QrLogo(config.site.qr_logo.clone()),
            &shutdown,
        );
        let (feeds, hooks) = (Arc::clone(&state.feeds), Arc::clone(&state.hooks));
        state.account_mail = post.account_mail.clone();
        state.invitation_mail = post.invitation_mail.clone();
        let proxies = TrustedProxies(config.trusted_proxies.clone().into());
        let admission = Admission::new(&config.guards);
        let pages = web::router(
            post.beside(app.web_state(site.clone(), base_url, live, hooks)),
            &config.guards,
            &admission,
        );
        let pages = compat::beside(
            pages,
            app.compat_services(base_url),
            config.clients.compat.wanted,
            &config.guards,
            &admission,
        );
        let router = api::router(
            state,
            proxies.clone(),
            base_url,
            &config.guards,
            &admission,
            listeners.metrics.is_none(),
            pages,
        );
        if let Some(listener) = listeners.metrics {
            let serving = metrics_listener::serve(listener, metrics.clone(), shutdown.clone());
            tasks.spawn(serving.boxed());
        }
        let workers = Workers::start(
            config.workers,
            &app,
            &Api {
                router,
                pages: ErrorPages::new(site, Arc::clone(&app.abuse), Handle::current()),
                admission,
                proxies: proxies.clone(),
                cors: Cors::new(&config.clients.cors.cors_origins),
            },
            &config.guards,
            &shutdown,
            &drained,
        )?;
        let accepting = listener::accept(
            listeners.public,
            workers.inboxes(),
            Connections::new(&config.guards, proxies),
            RequestIds::new().map_err(io::Error::from)?,
            shutdown.clone(),
        );
        tasks.spawn(accepting.boxed());
        let probes = jobs::spawn(&mut tasks, &app, feeds, config, metrics, &shutdown);
        Ok(Self {
            shutdown,
            workers,
            drained,
            tasks,
            probes,
            app,
        })
    }

    /// Reads settings again upon a signal, for as long as the service runs.
    pub(super) fn reload_upon(
        &mut self,
        hangup: Signal,
        config: Config,
        current: Reloaded,
        limits: CurrentLimits,
        log: LogFilter,
    ) {
        let draining = self.shutdown.draining_token();
        let reloading = reload::run(hangup, config, current, limits, log);
        let reloading = async move {
            draining.run_until_cancelled(reloading).await;
        };
        self.tasks.spawn(reloading.boxed());
    }

    /// Serves until a shutdown is requested or a part of the service dies, then stops within `limit`.
    pub(super) async fn until_stopped(mut self, limit: Duration) -> Result<(), ServeError> {
        let died = tokio::select! {
            // First: tasks also end because of the shutdown.
            biased;
            () = self.shutdown.draining() => None,
            () = self.workers.first_death() => Some("a worker ended".to_owned()),
            ended = self.tasks.join_next() => Some(format!("{ended:?}")),
            Some(ended) = self.probes.join_next() => Some(format!("{ended:?}")),
        };
        let Some(died) = died else {
            return self.stop(limit).await;
        };
        tracing::error!("a part of the service died: {died}; it is stopped");
        self.shutdown.request();
        self.shutdown.drain();
        // Clicks may be only in memory at this moment.
        if let Err(error) = self.stop(limit).await {
            tracing::error!(%error, "and it did not end well");
        }
        Err(ServeError::Died(died))
    }

    /// Stops a service that drains already.
    async fn stop(mut self, limit: Duration) -> Result<(), ServeError> {
        let deadline = Instant::now() + limit;
        // The other half of the time is for the clicks: a client that takes longer is cut off.
        if timeout(limit / 2, self.workers.connections_closed())
            .await
            .is_err()
        {
            tracing::warn!("connections that are still busy are cut off");
        }
        self.drained.cancel();
        let ended = async {
            let mut outcome = self.workers.ended().await;
            while let Some(ended) = self.tasks.join_next().await {
                if let Err(error) = ended {
                    outcome = Err(ServeError::Died(error.to_string()));
                }
            }
            outcome
        };
        let outcome = timeout_at(deadline, ended).await.unwrap_or_else(|_| {
            Err(ServeError::Late(match self.app.memory_only.clicks() {
                0 => "something did not end in time".to_owned(),
                clicks => format!("{clicks} clicks are only in memory, and given up"),
            }))
        });
        if let Err(ServeError::Late(_)) = outcome {
            return outcome;
        }
        jobs::last_flush(&self.app.flusher, deadline).await;
        close_database(&self.app.store, deadline).await;
        if outcome.is_ok() {
            tracing::info!("stopped");
        }
        outcome
    }
}

/// Closes the database, which may tidy it up.
async fn close_database(store: &Store, deadline: Instant) {
    match timeout_at(deadline, store.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the database could not be tidied up"),
        Err(_) => tracing::debug!("there was no time to tidy the database up"),
    }
}
