//! The click pipeline: every answered click is counted exactly once, whatever crashes.
//!
//! ```text
//! client ── Recorder ── Delivery ──► Redis: pending ──► flush N ──► link_clicks     (Flusher)
//!           gathers     one batch      └─ in doubt ─► journal (parked)
//!           a batch     at a time  ──► database: journal ─────────► link_clicks     (compaction)
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `recorder` | gathers the clicks of one worker and shard into batches |
//! | `delivery` | brings each batch to a sink, one at a time |
//! | `redelivery` | one attempt to deliver what is in doubt or in memory |
//! | `sinks`, `redis_sink` | the journal and Redis as destinations of batches |
//! | `flusher` | writes counts back: from Redis, and from the journal |
//! | `counts` | reads exact counts |
//! | `recovery` | compares a Redis that was away with the ledger |
//! | `draining` | writes back data sets that are given up |
//!
//! # The rules
//!
//! 1. **A 302 means counted.** A redirect is sent when a sink has acknowledged the batch with its click. If no sink does so
//!    in time, the batch stays in memory and the redirect is sent all the same; a metric reports such clicks.
//! 2. **A batch is applied once.** It carries the ID of its recorder (random, new at each start) and a rising number. Both
//!    sinks refuse a number that is not above the last one they applied for that recorder. So a batch that was not
//!    acknowledged can be sent again to the same sink.
//! 3. **A batch in doubt never changes sinks.** When Redis does not respond, the batch is *parked*: the database keeps it,
//!    uncounted, and it is sent to Redis again. Until Redis responds, the recorder sends it nothing newer, because Redis
//!    would then take the older number for applied. A batch that was not sent, for want of a connection, is not in doubt.
//!    It goes to the first sink that is available.
//! 4. **A flush is applied once.** A rename turns `pending` into a flush with a new number. The transaction that adds a part
//!    of the flush to the counts also notes in the ledger up to which link the flush is written. A part is added only if the
//!    ledger stands at the part's beginning, and a flush is started only if the ledger has no later one. Redis keeps the
//!    flush until its last part is durable.
//! 5. **A count is exact.** It is read from Redis first, then from one snapshot of the database. The ledger in that snapshot
//!    says which of the clicks in Redis the database already has (see [`counts`]).
//! 6. **Clicks are kept by link ID.** IDs are never reused, so the clicks of a deleted link never land on another link.
//! 7. **A Redis that may have lost data is recovered before it is used.** Its replication ID tells that the server was
//!    restarted or that another one took over. Each instance then compares the data set with the ledger (see `recovery.rs`):
//!    * The ledger has a flush that the data set does not know: the data set was rolled back. Its pending clicks may be
//!      counted already, so they are dropped, and a new *epoch* begins.
//!    * The ledger has none: the data set lost nothing that was flushed. A *fence* in the ledger refuses the flushes that were
//!      started before and are not written yet. New flushes get numbers above the fence.
//! 8. **A batch belongs to one epoch.** It is applied to the epoch that it is sent to, and to no other. A batch in doubt
//!    whose epoch has ended may have been counted in it, so it is dropped.
//!
//! On a Redis Cluster all of this holds for each shard by itself: each has recorders of its own, so a redirect waits for
//! the acknowledgement of its own shard alone.

pub mod counts;
mod delivery;
mod draining;
mod flusher;
mod recorder;
mod recovery;
mod redelivery;
mod redis_sink;
mod sinks;

pub use delivery::Delivery;
pub use draining::{Drain, DrainError};
pub use flusher::{FlushError, FlushOutcome, Flushed, Flusher};
pub use recorder::{ClickReceipt, Recorder, Recorders};
pub use recovery::{RecoveryError, recover};
pub use redis_sink::{Applied, RecordError, RedisSink, SettleError, settle_parked};
pub use sinks::{JournalDeadline, MemoryOnly, Sinks};
