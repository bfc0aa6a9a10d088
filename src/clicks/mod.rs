//! The click pipeline: every answered click is counted exactly once, whatever crashes.
//!
//! ```text
//! client ── Recorder ── Delivery ──► Redis: pending ──► flush N ──► parts ──► link_clicks     (Flusher: flush, merge)
//!           gathers     one batch      └─ in doubt ─► journal (parked)  ▲
//!           a batch     at a time  ──► Postgres ────────────────────────┘
//!                                  ──► SQLite: journal ──► links                   (merge)
//! client ── Grants ── one batch at a time ──► database: link_limits and link_clicks      (links with max_clicks)
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `recorder` | gathers the clicks of one worker and shard into batches |
//! | `gathered` | the clicks of a batch, their sums by link and class, and those that no sink takes |
//! | `delivery` | brings each batch to a sink, one at a time |
//! | `redelivery` | one attempt to deliver what is in doubt or in memory |
//! | `link_changes` | which links changed, where no acknowledgement of Redis says so |
//! | `sinks`, `redis_sink` | the journal and Redis as destinations of batches |
//! | `flusher` | writes clicks back from Redis, piece by piece, and merges clicks that the database has into counts |
//! | `counts` | reads exact counts, and the series that add up to them; counts as of an earlier moment while Redis is away |
//! | `grants` | gathers visits of links with `max_clicks`, and asks the database for their clicks |
//! | `before_limit` | counts the clicks from before a link got its limit |
//! | `recovery` | takes a Redis into use under a term |
//! | `draining` | writes back data sets that are given up |
//!
//! # The rules
//!
//! `tests/model` checks them exhaustively, as a model, and finds each that is switched off.
//!
//! 1. **A 302 means counted.** A redirect is sent when a sink has acknowledged the batch with its click. If no sink does so
//!    in time, the batch stays in memory and the redirect is sent all the same; a metric reports such clicks. A batch names the
//!    newest link change that its instance knows. Redis applies it only if there is no newer one; otherwise the instance
//!    catches up, and sends the clicks again of those links that may still be followed. The journal's acknowledgement says
//!    nothing of link changes, so the instance first reads them in the database. If neither answers, a redirect is sent by
//!    what is in memory, for as long as the cache allows that.
//! 2. **A batch is applied once.** It carries the ID of its recorder (random, new at each start) and a rising number. Both
//!    sinks refuse a number that is not above the last one they applied for that recorder. So a batch that was not
//!    acknowledged can be sent again to the same sink.
//! 3. **A batch in doubt never changes sinks.** When Redis does not respond, the batch is *parked*: the database keeps it,
//!    uncounted, and it is sent to Redis again. Until Redis responds, the recorder sends it nothing newer, because Redis
//!    would then take the older number for applied. A batch that was not sent, for want of a connection, is not in doubt.
//!    It goes to the first sink that is available.
//! 4. **A flush is applied once.** A rename turns `pending` into a flush with a new number. The transaction that writes a part
//!    of the flush to the database also notes in the ledger up to which link the flush is written. A part is written only if the
//!    ledger stands at the part's beginning, has no later flush, and has the flusher's term. Redis keeps a link of the flush until
//!    its part is durable: a flush of more links than a flusher has room for is read, written and forgotten in pieces, by rising
//!    links. A flush has a unique name, too, which sets it apart from one that got the same number after
//!    the data set had gone back unnoticed. In Postgres, parts are rows of their own: a merge takes them out and adds them to the
//!    counts of their links in one transaction, so a click is in a part or in a count, and a reader adds both up. Eight flushes at most
//!    wait to be merged; the next one waits in Redis.
//! 5. **A count is exact.** It is read from Redis first, then from one snapshot of the database. The ledger in that snapshot
//!    says which of the clicks in Redis the database already has (see [`counts`]).
//! 6. **Clicks are kept by link ID.** IDs are never reused, so the clicks of a deleted link never land on another link.
//!    The account that made a link never changes, and travels with each click: its sums have the clicks, also once the link is moved to
//!    another account. Readers of the sums of either account subtract or add the clicks of links that were moved, link by link. A click by an alias is in its batch twice: for the link, and for
//!    the id of the alias, without an owner, so that each sum has it once. Both are in the shard of the link's own code. Changes of
//!    the alias are announced there, too. If the link has `max_clicks`, the alias is counted once the click is granted.
//! 7. **A Redis is used in one term.** A term is a fencing token. The ledger raises it when a server is taken into use that
//!    was started again, took over or lost data, and the data set notes it. Scripts and flushes name their term and are
//!    refused in any other; each second, an instance whose term is not the newest stops using its server. Once a term is
//!    raised, a flush that the ledger has and the data set lacks shows that the data set was rolled back: its pending clicks
//!    may be counted already, so they are dropped, and a new *epoch* begins. Otherwise the data set goes on where it was.
//!    Batches and flushes also name what Redis acknowledged before, so that a data set which goes back unnoticed is found.
//! 8. **A batch in doubt belongs to one epoch.** While its data set is in that epoch, it is sent again in the term of the day.
//!    Afterwards it may have been counted, so it is dropped and reported.
//!
//! 9. **The database grants the clicks of a link with `max_clicks`.** Such a click goes to no sink. One transaction locks the
//!    link's row in `link_limits`, grants as many clicks as are left, counts them and notes the answer under the batch's
//!    recorder and number, so that a batch whose answer was lost is asked for again and granted once. A grant whose visitor
//!    has left is for the next one. So never one redirect too many is sent, and one too few only where a process ended with
//!    answers that it had not sent. A limit that a link gets later takes effect once the clicks before it are counted, after
//!    every instance that Redis can reach has learned of it (see [`ClicksBeforeLimit`]).
//!
//! 10. **A click belongs to the interval in which it was recorded.** A batch is of one quarter of an hour, by the clock of
//!     the instance that recorded it, and keeps it in the journal, parked, in memory and when it is sent again. What is
//!     pending in Redis is of one interval, too: a batch of a newer one first turns it into a flush, and one of an older
//!     interval goes to a flush that no flusher has read. So a flush has one interval, and the transaction that adds it to
//!     the counts adds it to the sum of that interval, and to that of the link's owner. The sum of a link's series is
//!     its count at every moment (see [`counts::Counting::series_of`]).
//!
//! 11. **Classes follow the clicks, and never hold them up.** A batch carries its classes as one packed value, in Redis to a list
//!     that is renamed with the pending clicks, and in the journal beside its clicks. The transaction that
//!     writes clicks to the database queues their classes, or leaves them in SQLite's journal, so each is summed once, as its click is.
//!     Where a class gets lost on the way (no room, a form that cannot be read) its click has the class of which nothing is known.
//!
//! On a Redis Cluster all of this holds for each shard by itself: each has recorders of its own, so a redirect waits for
//! the acknowledgement of its own shard alone.

mod before_limit;
pub mod counts;
mod delivery;
mod draining;
mod flusher;
mod gathered;
mod grants;
mod link_changes;
mod pace;
mod recorder;
mod recovery;
mod redelivery;
mod redis_sink;
mod sinks;

pub use before_limit::ClicksBeforeLimit;
pub use delivery::Delivery;
pub use draining::{Drain, DrainError};
pub use flusher::{FlushError, FlushOutcome, Flushed, Flusher, PieceSize};
pub use grants::{GrantAnswer, Grants, Wanted};
pub use link_changes::{LinkChanges, Reading};
pub use pace::Pace;
pub use recorder::{ClickReceipt, Overtaken, Recorder, Recorders};
pub use recovery::{Ledger, RecoveryError, recover};
pub use redis_sink::{RecordError, RedisSink, SettleError, settle_parked};
pub use sinks::{JournalDeadline, MemoryOnly, Sinks};
