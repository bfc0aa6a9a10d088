//! The shared Redis: connections with a deadline, keys, scripts, and one verdict on whether it is up.
//!
//! A server is used under a [`Term`], a fencing token that the database gave it and that the data set notes: every script
//! names the term, and is refused where the data set is in another one.
//!
//! A [`RedisShard`] is a handle on one data set: all of a single Redis, or one of the [`RedisShards`] of a Redis
//! Cluster. A data set becomes *up* once its server was compared with the database (see [`Candidate`]). It becomes
//! *away* for the whole process as soon as a command fails or misses its deadline; from then on no request waits for
//! it. A background job of the server probes it and brings it back. A Redis that is away because it is *full* can
//! still be read.
//!
//! | file | what it has |
//! | --- | --- |
//! | `shard`, `queries` | [`RedisShard`]: the state of one data set, and occasional calls over a pool |
//! | `shards` | [`RedisShards`]: all data sets |
//! | `servers` | [`RedisServers`]: the addresses at which they are found |
//! | `connection` | [`DedicatedConnection`]: calls of a redirect's path |
//! | `master` | finding the server of a data set, and noticing its restarts |
//! | `call`, [`scripts`], [`keys`] | what is sent, and which keys it concerns |
//! | `term`, `failure` | [`Term`], [`RedisFailure`] |

mod call;
mod connection;
mod failure;
mod history;
pub mod keys;
mod master;
mod queries;
pub mod scripts;
mod servers;
mod shard;
mod shards;
mod term;

pub use call::{Call, Script};
pub use connection::DedicatedConnection;
pub use failure::RedisFailure;
pub use master::{Candidate, FindMasterError};
pub use servers::{InvalidRedisUrl, RedisServers};
pub use shard::{RedisShard, random_id};
pub use shards::{Layout, RedisShards};
pub use term::Term;
