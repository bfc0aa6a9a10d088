//! All parts, put together from the settings: the parts themselves do not know the settings.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, Semaphore};

use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::analytics::{Analytics, Classifier, Countries, DailyKeys};
use crate::api::{
    ApiState, BaseAddress, QrLogo, Readiness, SecurityContact, csv_of_links, ndjson_of_links,
};
use crate::cache::LinkCache;
use crate::clicks::counts::Counts;
use crate::clicks::{
    ClicksBeforeLimit, Delivery, Flusher, Grants, JournalDeadline, LinkChanges, MemoryOnly,
    Recorders, RedisSink, Sinks,
};
use crate::compat::{self, Services};
use crate::config::{AnalyticsSettings, BaseUrl, Config};
use crate::domain::{Clock, CurrentBlocklist, HookTargets, Location, OwnHost};
use crate::events::{Feeds, HookWorker, Hooks};
use crate::http::paths;
use crate::limits::{AtOnce, CallerHasher, CurrentLimits, Limiter, MissLimiter, Searches};
use crate::links::{
    ClickOrders, CodeLength, Creations, KnownHosts, LinkService, LiveCounts, turns_of_long_pages,
};
use crate::redirect::{LinkPasswords, Lookups, Pools, Redirect, ReplicaReads, RuleChoice};
use crate::server::account_service::accounts;
use crate::server::error::ServeError;
use crate::server::from_settings::{
    analytics, blocklist, database_runtime, journal_deadlines, secrets, statement_key,
};
use crate::server::redirect_worker::{RedirectTasks, RedirectWorker};
use crate::server::shutdown::Shutdown;
use crate::server::startup::Databases;
use crate::shared_redis::{RedisShard, RedisShards, random_id};
use crate::statements::Statements;
use crate::store::{PostgresReplica, Refusals, Store};
use crate::telemetry::exposition::Exposition;
use crate::telemetry::redirects::{LookupMetrics, RedirectMetrics};
use crate::web::{ExportForm, ExportLinks, Health, LinkDocuments, Site, WebState};

/// How long a redirect waits for the database.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(2);

fn abuse(
    config: &Config,
    store: &Store,
    searches: &Searches,
    blocklist: &CurrentBlocklist,
    hosts: &KnownHosts,
    clock: &Arc<dyn Clock>,
) -> Abuse {
    let (searches, blocklist) = (searches.clone(), blocklist.clone());
    let hosts = hosts.current.clone();
    Abuse::new(store.clone(), searches, blocklist, hosts, Arc::clone(clock))
        .with_two_factors(config.oidc.require_two_factors)
}

fn own_host(config: &Config, base_url: &BaseUrl, hosts: &KnownHosts) -> OwnHost {
    (base_url.own_host().clone())
        .with_private_refused(config.private_targets)
        .with_others(hosts.current.clone())
}

/// Signs what the service of links counts.
fn statements(config: &Config, links: &LinkService) -> Result<Statements, ServeError> {
    Ok(Statements {
        store: links.store.clone(),
        counts: links.counts.clone(),
        cache: links.cache.clone(),
        hosts: links.hosts.current.clone(),
        key: statement_key(config)?,
        knows_bots: config.analytics.are_on,
        room: links.room.clone(),
        limiter: links.limiter.clone(),
        clock: Arc::clone(&links.clock),
    })
}

/// Look-ups of redirects. Has to be called on the main runtime.
fn lookups(config: &Config, store: &Store, replica: Option<&Arc<PostgresReplica>>) -> Lookups {
    Lookups {
        store: store.clone(),
        replica: replica.map(|both| Arc::new(ReplicaReads::new(Arc::clone(both)))),
        at_once: Arc::new(Semaphore::new(config.lookup_concurrency)),
        deadline: LOOKUP_DEADLINE,
        runtime: Handle::current(),
        metrics: LookupMetrics::default(),
        log: Arc::default(),
    }
}

/// The parts of a running service.
pub(super) struct App {
    pub(super) store: Store,
    pub(super) replica: Option<Arc<PostgresReplica>>,
    pub(super) redis: Option<RedisShards>,
    pub(super) cache: LinkCache,
    pub(super) link_changes: Arc<LinkChanges>,
    pub(super) memory_only: Arc<MemoryOnly>,
    pub(super) flusher: Arc<Flusher>,
    pub(super) grants: Arc<Grants>,
    pools: Arc<Pools>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) links: Arc<LinkService>,
    pub(super) abuse: Arc<Abuse>,
    pub(super) accounts: Arc<Accounts>,
    statements: Arc<Statements>,
    link_passwords: Arc<LinkPasswords>,
    lookups: Lookups,
    misses: MissLimiter,
    security_contact: Option<Arc<str>>,
    before_limit: Arc<ClicksBeforeLimit>,
    database_runtime: Option<Handle>,
    analytics: Analytics,
    /// The keys by which a visitor is known again on the same day.
    pub(super) daily_keys: DailyKeys,
    pub(super) countries: Countries,
    pub(super) analytics_settings: AnalyticsSettings,
    noindex: bool,
    /// Where an unknown code leads.
    not_found: Option<Arc<Location>>,
    /// The file of the blocklist.
    pub(super) blocklist: Option<PathBuf>,
    /// How large the database may be; 0: any size.
    pub(super) database_max: u64,
    /// Where events may be sent.
    hook_targets: HookTargets,
    /// The deadline of the journal before and after it was late.
    journal_deadlines: (Duration, Duration),
}

impl App {
    /// Puts the parts together. Has to be called on the main runtime.
    pub(super) fn new(
        config: &Config,
        databases: Databases,
        redis: Option<RedisShards>,
        cache: LinkCache,
        base_url: &BaseUrl,
        limits: &CurrentLimits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ServeError> {
        let (Databases { store, replica }, memory_only) = (databases, Arc::<MemoryOnly>::default());
        let counts = Counts::new(
            store.clone(),
            Arc::clone(&memory_only),
            redis.as_ref(),
            &cache,
            Arc::clone(&clock),
        );
        let before_limit = ClicksBeforeLimit::new(
            store.clone(),
            counts.clone(),
            cache.clone(),
            Arc::clone(&memory_only),
            store.has_one_process(),
        );
        let secrets = secrets(config)?;
        let hasher = CallerHasher::new(&secrets.current).with_previous(secrets.previous.as_ref());
        let limiter = Limiter::new(limits.clone(), redis.clone(), hasher, Arc::clone(&clock));
        let misses = MissLimiter::new(limits.clone(), Arc::clone(&clock));
        let (accounts, hasher, link_passwords) = accounts(
            config,
            &store,
            redis.as_ref(),
            base_url,
            (limits, &limiter),
            &secrets,
            &clock,
        )?;
        let blocklist = blocklist(config)?;
        let (searches, hosts) = (Searches::default(), KnownHosts::default());
        let abuse = abuse(config, &store, &searches, &blocklist, &hosts, &clock);
        let refusals = Refusals::new(&store, blocklist);
        let links = LinkService {
            store: store.clone(),
            room: store.room.clone(),
            refusals: refusals.clone(),
            audit_days: config.kept.audit_days,
            trash_days: config.kept.trash_days,
            stats_audience: config.analytics.stats,
            counts,
            details: Arc::clone(&store.details),
            detail_days: config.analytics.analytics_detail_days,
            before_limit: Arc::clone(&before_limit),
            cache: cache.clone(),
            click_orders: ClickOrders::new(store.clone(), Arc::clone(&clock)),
            searches,
            hasher,
            limiter,
            misses: misses.clone(),
            limits: limits.clone(),
            lists_at_once: AtOnce::lists(),
            bulk_calls_at_once: AtOnce::bulk_calls(),
            bulk_results: AtOnce::bulk_results(),
            long_pages: turns_of_long_pages(),
            creations: Creations::default(),
            code_length: CodeLength::new(config.code_length),
            custom_code_min: config.custom_code_min,
            own_host: own_host(config, base_url, &hosts),
            hosts,
            is_reserved: paths::is_reserved,
            knows_countries: config.analytics.geoip_database.is_some(),
            report_letter: OnceLock::new(),
            clock: Arc::clone(&clock),
        };
        let lookups = lookups(config, &store, replica.as_ref());
        let (countries, analytics) = analytics(config, redis.as_ref())?;
        let daily_keys = DailyKeys::new(redis.clone(), Arc::clone(&clock));
        let flusher = Flusher::new(redis.clone(), store.clone(), Arc::clone(&clock));
        Ok(Self {
            journal_deadlines: journal_deadlines(config, redis.is_some()),
            pools: Pools::new(refusals, &lookups, Arc::clone(&clock)),
            grants: Grants::new(store.clicks.clone(), Arc::clone(&clock)),
            link_changes: Arc::new(LinkChanges::new(store.clone(), cache.clone())),
            flusher: Arc::new(flusher),
            store,
            replica,
            redis,
            cache,
            memory_only,
            clock,
            accounts: Arc::new(accounts),
            statements: Arc::new(statements(config, &links)?),
            links: Arc::new(links),
            link_passwords: Arc::new(link_passwords),
            abuse: Arc::new(abuse),
            lookups,
            misses,
            security_contact: config.security_contact.as_deref().map(Arc::from),
            before_limit,
            database_runtime: database_runtime(config),
            analytics,
            daily_keys,
            countries,
            analytics_settings: config.analytics.clone(),
            noindex: config.noindex,
            not_found: config.site.not_found(),
            blocklist: config.blocklist.clone(),
            database_max: config.database_max_mib,
            hook_targets: config.hooks.hook_targets,
        })
    }

    /// Counts as they rise, until the shutdown.
    pub(super) fn live_counts(&self, shutdown: &Shutdown) -> Arc<LiveCounts> {
        let links = Arc::clone(&self.links);
        Arc::new(LiveCounts::new(links, shutdown.draining_token()))
    }

    /// The feeds of events, until the shutdown.
    fn feeds(&self, shutdown: &Shutdown) -> Arc<Feeds> {
        let clock = Arc::clone(&self.clock);
        let ended = shutdown.draining_token();
        Arc::new(Feeds::new(self.store.clone(), clock, ended))
    }

    /// Receivers of events.
    fn hooks(&self, feeds: &Arc<Feeds>) -> Arc<Hooks> {
        let (feeds, clock) = (Arc::clone(feeds), Arc::clone(&self.clock));
        Arc::new(Hooks::new(
            self.store.clone(),
            feeds,
            clock,
            self.hook_targets,
        ))
    }

    /// Sends events to their receivers, under the name of this process.
    pub(super) fn hook_worker(&self) -> Arc<HookWorker> {
        Arc::new(HookWorker::new(
            self.store.clone(),
            self.links.hosts.current.clone(),
            self.hook_targets,
            format!("{:016x}", random_id()),
        ))
    }

    fn base_address(&self, base_url: &BaseUrl) -> BaseAddress {
        BaseAddress::new(base_url, self.links.hosts.current.clone())
    }

    /// The state of the API's handlers.
    pub(super) fn api_state(
        &self,
        redirect: Redirect,
        base_url: &BaseUrl,
        metrics: Exposition,
        live: Arc<LiveCounts>,
        qr_logo: QrLogo,
        shutdown: &Shutdown,
    ) -> ApiState {
        let feeds = self.feeds(shutdown);
        ApiState {
            live,
            hooks: self.hooks(&feeds),
            feeds,
            accounts: Arc::clone(&self.accounts),
            links: Arc::clone(&self.links),
            statements: Arc::clone(&self.statements),
            abuse: Arc::clone(&self.abuse),
            redirect: Arc::new(redirect),
            link_passwords: Arc::clone(&self.link_passwords),
            readiness: Arc::new(Readiness::new(
                self.store.clone(),
                self.replica.clone(),
                self.redis.clone(),
                shutdown.draining_token(),
            )),
            metrics,
            base_address: self.base_address(base_url),
            qr_logo,
            security_contact: SecurityContact(self.security_contact.clone()),
            account_mail: crate::mail::AccountMail::default(),
            invitation_mail: crate::mail::InvitationMail::default(),
        }
    }

    /// The services of the APIs of other shorteners.
    pub(super) fn compat_services(&self, base_url: &BaseUrl) -> Services {
        Services {
            accounts: Arc::clone(&self.accounts),
            links: Arc::clone(&self.links),
            site: compat::Site::new(base_url, self.links.hosts.current.clone()),
        }
    }

    /// The state of the pages' handlers.
    pub(super) fn web_state(
        &self,
        site: Site,
        base_url: &BaseUrl,
        live: Arc<LiveCounts>,
        hooks: Arc<Hooks>,
    ) -> WebState {
        let (links, base_address) = (Arc::clone(&self.links), self.base_address(base_url));
        let export: Arc<ExportLinks> = Arc::new(move |owner, client, form| {
            let (links, base_address) = (Arc::clone(&links), base_address.clone());
            Box::pin(async move {
                match form {
                    ExportForm::Csv => csv_of_links(links, owner, base_address, &client).await,
                    ExportForm::Ndjson => {
                        ndjson_of_links(links, owner, base_address, &client).await
                    }
                }
            })
        });
        WebState {
            documents: LinkDocuments { export },
            live,
            hooks,
            accounts: Arc::clone(&self.accounts),
            links: Arc::clone(&self.links),
            statements: Arc::clone(&self.statements),
            abuse: Arc::clone(&self.abuse),
            health: Health::new(self.redis.clone()),
            account_mail: crate::mail::AccountMail::default(),
            invitation_mail: crate::mail::InvitationMail::default(),
            site,
        }
    }

    /// A redirect path for one runtime, with connections and recorders of its own.
    pub(super) fn redirect_worker(&self) -> RedirectWorker {
        let (cache, lookup_batchers) = self.cache.for_worker();
        let (until_late, once_late) = self.journal_deadlines;
        let delivery = |redis: Option<&RedisShard>| {
            let sinks = Sinks {
                redis: redis.map(RedisSink::new),
                store: self.store.clone(),
                cache: cache.clone(),
                link_changes: Arc::clone(&self.link_changes),
                database_runtime: self.database_runtime.clone(),
                deadline: JournalDeadline::new(until_late.max(once_late), once_late),
                changes_deadline: JournalDeadline::new(until_late.max(once_late), once_late),
                running: Mutex::default(),
            };
            Delivery::new(
                sinks,
                Arc::clone(&self.memory_only),
                Arc::clone(&self.clock),
            )
        };
        let deliveries: Vec<_> = match &self.redis {
            None => vec![delivery(None)],
            Some(shards) => shards.iter().map(|redis| delivery(Some(redis))).collect(),
        };
        let recorders = Recorders::new(deliveries.len());
        RedirectWorker {
            redirect: Redirect {
                cache,
                recorders: recorders.clone(),
                grants: Arc::clone(&self.grants),
                pools: Arc::clone(&self.pools),
                before_limit: Arc::clone(&self.before_limit),
                lookups: self.lookups.clone(),
                metrics: RedirectMetrics::default(),
                clock: Arc::clone(&self.clock),
                misses: self.misses.clone(),
                classifier: Classifier::new(&self.analytics),
                rules: RuleChoice::new(self.daily_keys.clone()),
                noindex: self.noindex,
                blocklist: self.links.refusals.blocklist.clone(),
                hosts: self.links.hosts.current.clone(),
                not_found: self.not_found.clone(),
            },
            tasks: RedirectTasks {
                deliveries,
                recorders,
                lookup_batchers,
            },
        }
    }
}
