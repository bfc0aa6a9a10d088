//! **shunt** shortens URLs. Its redirect is nearly as cheap as a static map, and every answered click is counted
//! exactly once, whatever crashes.
//!
//! # A guided tour
//!
//! Slices by what the service does stand on top, three narrow seams beneath. The number is the floor: a
//! module imports from lower floors only (a test keeps it so).
//!
//! | module | floor | what it does |
//! | --- | --- | --- |
//! | `main`, `cli` | 9 | sub-commands, exit codes |
//! | [`server`] | 8 | puts the parts together; routes, workers, signals, health, the explorer |
//! | [`redirect`] | 7 | **the road**: from a path to a 302 |
//! | [`links`] | 7 | shorten, list, stats, delete |
//! | [`accounts`] | 6 | register, log in, who am I; passwords and tokens |
//! | [`http`] | 5 | where typed errors become answers; extractors |
//! | [`clicks`] | 4 | the click pipeline: recorder, sinks, flusher, exact counts |
//! | [`limits`] | 4 | how often somebody may do something |
//! | [`cache`] | 3 | what the process and Redis remember of links |
//! | [`store`] | 3 | the source of truth, in Postgres or SQLite |
//! | [`shared`] | 2 | the Redis that instances share: connections, deadlines, up or away |
//! | [`config`] | 2 | flags and environment, checked |
//! | [`keyspace`] | 1 | every Redis key |
//! | [`telemetry`] | 1 | logging, metrics, traces |
//! | [`outgoing`] | 0 | HTTP as a client |
//! | [`domain`] | 0 | values that cannot be wrong |
//!
//! # A click's road
//!
//! A worker reads `GET /{code}` ([`server`]), [`redirect`] parses the code and looks it up ([`cache`], then
//! [`store`]), leaves a click with the worker's recorder ([`clicks`]) and waits until the batch it joined is
//! acknowledged; then the visitor gets the 302.
//!
//! # Glossary
//!
//! * **batch**: the clicks that one recorder gathered while the one before was on its way.
//! * **sink**: where batches go: Redis, or the database's journal.
//! * **journal**: batches in the database that are not folded into their links yet.
//! * **held**: a batch in the journal that may also have reached Redis, so it does not count yet.
//! * **flush**: what was pending in Redis, on its way into the database under a number of its own.
//! * **ledger**: which flushes are in the database, and up to which link.
//! * **epoch**: a Redis data set, from when it was begun; a new one means that Redis was emptied, or found older than
//!   it was.
//! * **life**: of a Redis server, from its start or take-over to its end; after it Redis may be older than it was.
//! * **shard**: one of the data sets into which a Redis Cluster is cut; a single Redis is one shard.
//! * **change**: a link is no longer what instances remember of it.
//! * **told**: a change is told when Redis has it, with a number; from then on every instance can know of it.
//! * **replica**: a Postgres that follows the primary, and may be behind: not all of its answers are believed.

pub mod accounts;
pub mod cache;
pub mod clicks;
pub mod config;
pub mod domain;
pub mod http;
pub mod keyspace;
pub mod limits;
pub mod links;
pub mod outgoing;
pub mod redirect;
pub mod server;
pub mod shared;
pub mod store;
pub mod telemetry;
