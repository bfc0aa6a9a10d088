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
//! | [`web`] | 7 | pages for people, over the same services |
//! | [`http`] | 6 | turns typed errors into responses; extractors, request ids, admission |
//! | [`redirect`] | 5 | **the redirect path**: from a short code to a 302 |
//! | [`links`] | 5 | shorten, list, statistics, delete; announces every change of a link |
//! | [`accounts`] | 5 | register, log in; passwords and tokens |
//! | [`abuse`] | 5 | removals by administrators, reports, the audit |
//! | [`clicks`] | 4 | the click pipeline: recorder, sinks, flusher, exact counts, recovery |
//! | [`analytics`] | 3 | the class of a click: what is kept of its visitor |
//! | [`limits`] | 3 | limits by address and by account |
//! | [`cache`] | 3 | links in a worker's table (l1), in the process (l2) and in Redis; invalidation |
//! | [`store`] | 3 | the source of truth, in Postgres or SQLite |
//! | [`config`] | 2 | settings: flags and environment, checked |
//! | [`redis`] | 2 | the shared Redis: connections, deadlines, keys, scripts |
//! | [`import`] | 2 | links in files of this service and of others: tables and JSON |
//! | [`wire`] | 1 | the documents of a link, which the API, the pages and the command line share |
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
//! `DELETE` ([`api`]) calls [`links`], which removes the row and notes the change in the outbox in one transaction
//! ([`store`]). The change is then announced: Redis drops the cached link, counts the change, and adds it to a stream
//! ([`cache`]). Every acknowledgement of a click batch carries the number of the newest change, so an instance that is
//! behind catches up before it answers a redirect. An instance without Redis reads the outbox twice a second.
//!
//! # How a removal travels
//!
//! A removal ([`abuse`]) covers links; a link that one covers is inactive in its row, with the status that it is answered by. That
//! of one link is made in one transaction, and travels as a deletion does. Any other one is noted, and a job looks through the
//! links in small steps, each of which is a transaction whose changes are announced.
//!
//! # Glossary
//!
//! * **batch**: the clicks that one recorder gathered while the batch before was being delivered.
//! * **class**: what is kept of a click's visitor: referrer's registrable host, country, families of browser and system, device, bot.
//! * **sink**: where batches go: Redis, or the journal.
//! * **journal**: batches in the database that are not compacted into the links' counts yet.
//! * **in doubt**: a batch was sent to Redis and no response came, so Redis may or may not have applied it.
//! * **parked**: a batch in doubt is kept in the journal, uncounted, until Redis has settled it.
//! * **grant**: a click of a link with `max_clicks` that the database has counted, and whose visitor may be redirected.
//! * **flush**: the increments that move from Redis to the database in one go, under a number of their own.
//! * **ledger**: the database's record of each Redis data set: its term, its newest flush, and how far that is written.
//! * **term**: a fencing token: the number under which a Redis server is used. Work of an earlier term is refused.
//! * **epoch**: one lifetime of a Redis data set. A new epoch begins where data was lost or rolled back.
//! * **generation**: the first word of each link that is cached in Redis. After a change of it, all of them are misses.
//! * **superseded**: a Redis server whose place another one has taken in the ledger.
//! * **shard**: one of the data sets into which a Redis Cluster is divided; a single Redis is one shard.
//! * **history**: one line of states of the database. A new history begins where the database may have gone back.
//! * **outbox**: changes of links in the database that are not published in Redis yet.
//! * **replica**: a Postgres that follows the primary and may lag behind it.

pub mod abuse;
pub mod accounts;
pub mod analytics;
pub mod api;
pub mod cache;
pub mod clicks;
pub mod config;
pub mod domain;
pub mod http;
pub mod http_client;
pub mod import;
pub mod limits;
pub mod links;
pub mod qr;
pub mod redirect;
pub mod redis;
pub mod server;
pub mod store;
pub mod telemetry;
pub mod web;
pub mod wire;
