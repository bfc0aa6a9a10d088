//! Links in memory and in Redis, and the invalidation of changed links on every instance.
//!
//! A look-up goes through three tiers: the worker's own table (`l1`), the process's cache (`l2`), and Redis
//! (`redis_tier`). What they all miss is read from the database by a function of the caller, since this module does not
//! know the store. Codes without a link are cached, too, for a short time and in a space of their own, so that a scanner
//! cannot evict links that are in use.
//!
//! A change of a link raises the change number in Redis and is added to a stream. Every acknowledgement of a click batch
//! carries the newest change number. An instance that is behind removes the changed links before it releases the batch
//! ([`LinkCache::catch_up_to`]). An instance that is not behind knows that its cached links are current (`freshness`).
//! A redirect compares [`LinkCache::version`] from before the look-up with the one after the click, and looks the code
//! up again if they differ.
//!
//! | file | what it has |
//! | --- | --- |
//! | `link_cache` | [`LinkCache`]: the tiers put together, and the changes that they follow |
//! | `rules` | the rules of a link, ready to decide |
//! | `link`, `limits`, `cursor`, `version` | the values that the tiers share |
//! | `l1`, `l2`, `redis_tier` | the tiers |
//! | `lookup_batcher` | look-ups in Redis, gathered into one round trip |
//! | `stored_link` | a link as text in Redis |
//! | `invalidation` | which changes this process has applied |
//! | `unannounced` | changes that Redis has not been told of yet |
//! | `freshness` | how long a cached link may be served |

mod cursor;
mod freshness;
mod invalidation;
mod l1;
mod l2;
mod limits;
mod link;
mod link_cache;
mod lookup_batcher;
mod redis_tier;
mod rules;
mod stored_link;
mod unannounced;
mod version;

pub use cursor::{ChangeMark, InvalidationCursor};
pub use limits::CacheLimits;
pub use link::{CachedLink, UsedUp};
pub use link_cache::{BeforeReading, CacheError, ChangeNote, LinkCache, Resolved, Source};
pub use lookup_batcher::LookupBatcher;
pub use rules::{CachedLeads, CachedRules};
