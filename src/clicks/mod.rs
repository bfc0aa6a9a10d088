//! The click pipeline: every answered click is counted exactly once, whatever crashes.
//!
//! ```text
//! visitor ── Recorder ── Delivery ──► Redis: pending ──► flush N ──► links.clicks     (Flusher)
//!            gathers     one batch      └─ in doubt ─► journal (held)
//!            a batch     at a time  ──► database: journal ──────────► links.clicks     (fold)
//! ```
//!
//! What holds, and why:
//!
//! 1. **A 302 means counted.** A visitor is released when the batch with its click was acknowledged by a
//!    sink, or (both sinks gone) when it is held in memory, which a metric tells.
//! 2. **A batch is applied once.** It carries its recorder's id (random, fresh at each start) and a
//!    rising number; both sinks refuse a number that is not above the last one they applied for that
//!    recorder. So a batch whose answer was lost can be sent again, to the same sink.
//! 3. **A batch in doubt never changes sinks.** When Redis did not answer, the batch is kept as *held* in
//!    the database, where it is not counted, and sent to Redis again. Until then its recorder sends
//!    nothing newer to Redis, for that would make the old number look applied. A batch that no connection
//!    could be had for was not sent, is not in doubt, and goes to whichever sink is back first.
//! 4. **A flush is applied once.** It is taken from `pending` by a rename with a fresh number. The database
//!    notes in its ledger, in the transaction that adds the counts, up to which link the flush is in; a part
//!    is added only where the ledger stands at its beginning, and a flush is begun only where no later one was.
//!    Redis keeps the flush until the last part is durable.
//! 5. **A count is exact.** It is read from Redis first and then from one snapshot of the database; the
//!    ledger in that snapshot says what of the Redis part is in the database already (see [`counts`]).
//!    On a Redis Cluster all of this holds for each shard by itself: a recorder has an id and numbers of its
//!    own in each, and a batch is split by shard.
//! 6. Clicks are kept by link id: those of a deleted link can never land on another link.
//! 7. **What may be counted already is dropped.** Redis may come back older or empty. Before an instance uses a
//!    server that was started again or took over, it compares it with the ledger (see `recovery.rs`); until then
//!    that server takes no batch from it. Where the ledger has flushes that Redis does not know, what is pending
//!    there may be counted already: it is dropped, and a new epoch begins. Otherwise it is kept, and a *fence* in the ledger refuses flushes
//!    that another life still has on their way; this life numbers its flushes above it. A batch is applied to the
//!    epoch that it is for and to no other: one in doubt whose epoch is over may have been counted in it, and is
//!    dropped, too.

pub mod counts;
mod deliveries;
mod delivery;
mod flusher;
mod recorder;
mod recovery;
mod redis_sink;

pub use deliveries::Deliveries;
pub use delivery::{Delivery, JournalDeadline, MemoryOnly, Sinks};
pub use flusher::{FlushError, FlushOutcome, Flushed, Flusher};
pub use recorder::{ClickReceipt, Recorder};
pub use recovery::{RecoveryError, recover};
pub use redis_sink::{Applied, RecordError, RedisSink, SettleError, settle_parked};
