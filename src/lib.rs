//! **shunt** shortens URLs. Its redirect is nearly as cheap as a static map, and every answered click is counted
//! exactly once, whatever crashes.
//!
//! # A guided tour
//!
//! The JSON API and the command line stand over services that know no HTTP. A module imports from lower layers only, and no
//! two files import each other in a circle; a test keeps both rules.
//!
//! | module | layer | what it does |
//! | --- | --- | --- |
//! | `main`, `cli` | 9 | sub-commands, the command-line client, exit codes |
//! | [`server`] | 8 | puts the parts together: workers, listeners, background jobs, shutdown |
//! | [`api`] | 7 | JSON for programs: one file per endpoint |
//! | [`compat`] | 7 | the APIs of other shorteners, over the same services |
//! | [`web`] | 7 | pages for people, over the same services |
//! | [`http`] | 6 | turns typed errors into responses; extractors, request ids, admission |
//! | [`redirect`] | 5 | **the redirect path**: from a short code to a 302 |
//! | [`links`] | 5 | shorten, list, statistics, delete; announces every change of a link |
//! | [`events`] | 5 | the feeds of events: their readers, and how these learn of news |
//! | [`accounts`] | 5 | register, log in; passwords and tokens |
//! | [`statements`] | 5 | the clicks of a link in a month, signed and kept |
//! | [`abuse`] | 5 | removals by administrators, reports, the audit |
//! | [`clicks`] | 4 | the click pipeline: recorder, sinks, flusher, exact counts, recovery |
//! | [`passwords`] | 4 | hashes and checks passwords, of accounts and of links, a bounded number at once |
//! | [`analytics`] | 3 | the class of a click: what is kept of its visitor |
//! | [`mail`] | 3 | mail: one bounded queue, which no request waits for |
//! | [`limits`] | 3 | limits by address and by account |
//! | [`cache`] | 3 | links in a worker's table (l1), in the process (l2) and in Redis; invalidation |
//! | [`store`] | 3 | the source of truth, in Postgres or SQLite |
//! | [`config`] | 2 | settings: flags and environment, checked |
//! | [`shared_redis`] | 2 | the shared Redis: connections, deadlines, keys, scripts |
//! | [`oidc`] | 2 | the identity provider: discovery, the code flow, its tokens |
//! | [`import`] | 2 | links in files of this service and of others: tables and JSON |
//! | [`wire`] | 1 | the documents of a link and of its events, which the API, the pages and the command line share |
//! | [`telemetry`] | 1 | logs, metrics, traces |
//! | [`http_client`] | 0 | outgoing HTTP |
//! | [`qr`] | 0 | QR codes as images and for a terminal |
//! | [`domain`] | 0 | values that are checked when they are made; time |
//!
//! # How a click travels
//!
//! A worker reads `GET /{code}` ([`server`]). [`redirect`] looks the code up ([`cache`], then [`store`]), hands a click
//! to the worker's recorder ([`clicks`]), and waits until the click's batch is acknowledged by Redis or by the database.
//! Then the client gets the 302. (A click of a link with `max_clicks` is granted and counted by the database.) Later the flusher ([`clicks`]) writes the counts from Redis back to the database.
//!
//! # How a deletion travels
//!
//! `DELETE` ([`api`]) calls [`links`], which removes the row and adds the change to the outbox in one transaction
//! ([`store`]). The change is then announced: Redis drops the cached link, counts the change, and adds it to a stream
//! ([`cache`]). Every acknowledgement of a click batch carries the number of the newest change, so an instance that is
//! behind catches up before it answers a redirect. An instance without Redis reads the outbox twice a second.
//!
//! # How a removal travels
//!
//! A removal ([`abuse`]) covers links. The row of a covered link says that the link is inactive, and with which status it is
//! answered. The removal of a single link is one transaction, and travels as a deletion does. Every other removal is saved
//! first; then a job scans the links in small steps, each of which is a transaction whose changes are announced.
//!
//! # How new is it?
//!
//! Eight numbers and names say how new something is. None of them replaces another.
//!
//! | notion | of what | who raises it | who compares it | what a mismatch does |
//! | --- | --- | --- | --- | --- |
//! | cache version | the links in memory of one process | the process, before and after it applies changes of links (`cache::invalidation`) | an entry of a worker's table (`cache::l1`), and a look-up that ends (`cache::version`) | the entry is not used, and the look-up's result is not cached: the link is looked up again |
//! | change | the links of one shard | Redis, when a change is announced (`announce_changes.lua`); by a jump when a term begins or cached links are forgotten | `record_clicks.lua`, with the newest change that the sender of a batch knows; each instance, with every acknowledgement and every quarter of a second; `cache_link.lua` | the batch is not applied, and the link is not cached in Redis. The instance drops the links that changed, or all links after a jump, and sends the clicks of links that may still be followed again |
//! | generation | the links that one shard of Redis has cached | Redis, when a term begins (`begin_term.lua`) and when cached links are forgotten (`forget_cached_links.lua`) | whoever reads a cached link (`cache::stored_link`), and `cache_link.lua` | the cached link is a miss, and is not written |
//! | term | the server of one shard | the ledger in the database, when a server is taken into use that was started again, took over or lost data ([`clicks`], rule 7) | every script, with the term of its caller (`term.lua`); the ledger, with the term of a flush; an instance, with the ledger each second | the script does nothing, the flush is refused, and the instance stops using the server until it has recovered it |
//! | epoch | one lifetime of a data set | the ledger, when a data set is empty, unknown or rolled back | recovery, with the ledger; the delivery of a batch in doubt; an instance whose term changed | pending clicks of the former epoch are dropped, because they may be counted already; so are its batches in doubt; a metric reports both |
//! | flush number | the flushes of one epoch | Redis, when pending clicks become a flush (`begin_flush.lua`, `record_clicks.lua`) | the ledger, in the transaction of each part; the scripts, with the newest number that the ledger has | an older flush is superseded and not written. If the ledger has a higher number than Redis, or another name under the same number, the data set was rolled back |
//! | batch number | the batches of one recorder | the recorder, with each batch | Redis, the journal and the grants, with the last number that they applied for that recorder | a number that is not higher was applied already: it is acknowledged and not counted again. If Redis knows a lower number than it acknowledged, the data set was rolled back |
//! | database history | the states of one Postgres | an instance that finds another server, or rows missing that it has seen (`store::postgres::history`) | each instance each second, with its memory and with what each shard of Redis remembers (`server::history`) | links cached from another history are dropped, in memory and in Redis, and ids go on above all ids that were given out |
//!
//! # Glossary
//!
//! Terms of the field are used as elsewhere: cache, shard, replica, lease, outbox, fencing token. These words are the project's own:
//!
//! * **alias**: a further code of a link. It has a row of its own among the links, without an owner, and so an id under which its clicks
//!   are counted a second time.
//! * **batch**: the clicks that one recorder collected while its previous batch was being delivered.
//! * **visitor class**: what is kept about the visitor of a click: registrable host of the referrer, country, families of browser
//!   and system, kind of device, rule of the link that decided, known bot or not. A **breakdown** counts clicks by one of these values.
//! * **sink**: where batches go: Redis, or the journal.
//! * **interval**: a quarter of an hour, by which clicks are counted in series.
//! * **away**: a server that this process does not use, since a command failed. It is **up** again after a response.
//! * **written back**: durable in the database, and in every count that is read from it. Clicks that are pending in Redis are not.
//! * **journal**: where batches go without Redis, or while Redis is away: into the database.
//! * **part**: clicks of one interval, of up to 128 links, in a row of Postgres of their own until they are merged.
//! * **merge**, in SQLite **compaction**: adding parts, or batches of the journal, to the counts of their links.
//! * **in doubt**: a batch was sent to Redis without a response, so Redis may or may not have applied it.
//! * **parked**: a batch in doubt is kept in the journal, uncounted, until Redis has settled it.
//! * **grant**: a click of a link with `max_clicks` that the database has counted, and whose visitor may be redirected.
//! * **flush**: the increments that move from Redis to the database together, under a number of their own.
//! * **ledger**: the database's record of each Redis data set: its term, its newest flush, and how far that flush is written.
//! * **data set**: what Redis holds for one shard. A Redis Cluster is divided into several shards; a single Redis is one shard.
//! * **term**, **epoch**, **generation**, **history**: see the table above.
//! * **superseded**: a Redis server whose data set another server now keeps, by the ledger.
//! * **outbox**: changes of links in the database that are not yet published in Redis.
//! * **announce**: to publish a change of a link in Redis. To **follow** changes is to read them and to drop cached links.
//! * **removal**: what administrators or the blocklist removed: a link, or all links to a host, of an account or from an address.
//! * **revoke**: to end a token, a key, a removal or a ban before its time.

// Futures of handlers hold connections, whose types are deep.
#![recursion_limit = "256"]

// Only tests generate the API's document: the program serves the file, and is built without utoipa.
#[cfg(not(test))]
extern crate utoipa_stub as utoipa;

pub mod abuse;
pub mod accounts;
pub mod analytics;
pub mod api;
pub mod cache;
pub mod clicks;
pub mod compat;
pub mod config;
pub mod domain;
pub mod events;
pub mod http;
pub mod http_client;
pub mod import;
pub mod limits;
pub mod links;
pub mod mail;
pub mod oidc;
pub mod passwords;
pub mod qr;
pub mod redirect;
pub mod server;
pub mod shared_redis;
pub mod statements;
pub mod store;
pub mod telemetry;
pub mod web;
pub mod wire;
