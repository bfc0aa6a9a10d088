//! All Lua scripts, each named for the data that it changes or reads.
//!
//! The texts are in `scripts/`. Every script runs as one atomic step of Redis. Keys are named as in [`super::keys`]. A
//! script that is given a term refuses where the data set is in another one (`term.lua`). "Now" is in microseconds since
//! 1970; a "change" is the number of the newest change of a link.

use std::sync::LazyLock;

use super::call::Script;

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident => [$($file:literal),+]),+ $(,)?) => {
        $(
            $(#[$doc])*
            pub static $name: LazyLock<Script> =
                LazyLock::new(|| Script::new(concat!($(include_str!(concat!("scripts/", $file))),+)));
        )+
    };
}

scripts! {
    /// Applies a batch of clicks once.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `intervals`, `details`, `recorders`
    /// * ARGV: term, the recorder's field, its number in `recorders` if the time has to be noted there (or empty), interval,
    ///   batch number, number of its last batch that was acknowledged in this term, newest change that the sender knows (or
    ///   empty), bytes that all classes may take, the packed classes of the batch (empty: none), its packed clicks
    /// * returns: change, negative if the batch was refused as the sender does not know it; and 1 if there was no room for the
    ///   classes, otherwise 0
    RECORD_CLICKS => ["state_and_recorder.lua", "term.lua", "intervals.lua", "record_clicks.lua"],

    /// Reads how many clicks of some links are pending and in flushes, as of one moment.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `intervals`
    /// * ARGV: term, prefix of flush keys, the fields of links
    /// * returns: newest flush, numbers of the flushes under way, then lists of clicks per link: the pending ones, then
    ///   those of each flush; then the interval of each of these, nil if no click is pending
    READ_COUNTS => ["state.lua", "term.lua", "read_counts.lua"],

    /// Reads which flushes are under way.
    ///
    /// * KEYS: `state`, `intervals`, `flushing`
    /// * ARGV: term
    /// * returns: newest flush, numbers of the flushes under way, then the interval of the pending clicks and of each of these,
    ///   nil if no click is pending
    READ_FLUSHES => ["state.lua", "term.lua", "read_flushes.lua"],

    /// Reads a piece of the pending clicks, or of a flush, as HSCAN does.
    ///
    /// * KEYS: `state`, and `pending`; or the flush, and `flushing`
    /// * ARGV: term, cursor, about how many links, number of the flush
    /// * returns: newest flush, the next cursor, then links, each with its clicks behind it. The cursor is nil where the flush is
    ///   finished
    READ_PIECE => ["state.lua", "term.lua", "read_piece.lua"],

    /// Counts the links with clicks that are not written back.
    ///
    /// * KEYS: `state`, `pending`, `flushing`
    /// * ARGV: prefix of flush keys
    /// * returns: links; one that is in a flush as well counts twice
    COUNT_PENDING => ["count_pending.lua"],

    /// Takes the lease on flushing, and moves what is pending to a flush of its own unless one is under way that
    /// a flusher may have read.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `intervals`, `details`, `flusher`
    /// * ARGV: term, name of the flusher, lease in milliseconds, newest flush in the ledger
    /// * returns: numbers of the flushes under way, their intervals and names; nil while another flusher has the lease
    BEGIN_FLUSH => ["state.lua", "term.lua", "intervals.lua", "begin_flush.lua"],

    /// Reads classes of a flush, unless another one has its number, or it is finished.
    ///
    /// * KEYS: `state`, `intervals`, the list of the flush's classes
    /// * ARGV: term, number and name of the flush, first and last batch
    /// * returns: the packed classes of each of these batches; nil if the flush is not there
    READ_DETAILS => ["state.lua", "term.lua", "read_details.lua"],

    /// Removes links of a flush that are written to the database, unless another flush has its number.
    ///
    /// * KEYS: `state`, `intervals`, the flush
    /// * ARGV: term, number and name of the flush, the fields of at most 1,000 links
    /// * returns: true
    FORGET_LINKS => ["state.lua", "term.lua", "forget_links.lua"],

    /// Removes a flush that is written to the database.
    ///
    /// * KEYS: `state`, `flushing`, the flush, `intervals`, the list of the flush's classes
    /// * ARGV: term, number and name of the flush
    /// * returns: true
    FINISH_FLUSH => ["state.lua", "term.lua", "finish_flush.lua"],

    /// Has the data set recovered in a new epoch: one of its flushes is not the one that the ledger has under its number.
    ///
    /// * KEYS: `state`
    /// * ARGV: term
    /// * returns: always an error
    DOUBT_FLUSH => ["state.lua", "term.lua", "doubt_flush.lua"],

    /// Extends the lease on flushing, if the flusher still has it.
    ///
    /// * KEYS: `flusher`
    /// * ARGV: name of the flusher, lease in milliseconds
    /// * returns: true
    EXTEND_FLUSH_LEASE => ["extend_flush_lease.lua"],

    /// Gives the lease on flushing back, if the flusher still has it.
    ///
    /// * KEYS: `flusher`
    /// * ARGV: name of the flusher
    /// * returns: true
    RELEASE_FLUSH_LEASE => ["release_flush_lease.lua"],

    /// Removes a recorder that was not heard of for long, unless it sent something meanwhile.
    ///
    /// * KEYS: `state`, `recorders`
    /// * ARGV: recorder, its value in `recorders` when it was read, its field in the state
    /// * returns: true
    FORGET_RECORDER => ["forget_recorder.lua"],

    /// Takes a data set into use under a new term, which the ledger gave to its server.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `changes`, `intervals`, `details`
    /// * ARGV: term, replication ID, now, epoch that was read, epoch from now on, newest flush in the ledger, prefix of
    ///   flush keys, prefix of lists of classes
    /// * returns: links whose clicks were dropped (-1 where none had to be), 1 if scripts had found the data set to be
    ///   rolled back; or `behind`, or `moved`
    BEGIN_TERM => ["begin_term.lua"],

    /// Removes a data set that is given up, unless it has clicks that are not written back.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `recorders`, `changes`, `flusher`, `intervals`, `details`
    /// * ARGV: term
    /// * returns: 1 if it is removed, otherwise 0
    REMOVE_DATA_SET => ["state.lua", "term.lua", "remove_data_set.lua"],

    /// Reads where the changes of links stand.
    ///
    /// * KEYS: `state`
    /// * ARGV: term
    /// * returns: change
    READ_CHANGE => ["state.lua", "term.lua", "read_change.lua"],

    /// Removes changed links from the cache, and announces their changes to all instances.
    ///
    /// * KEYS: `state`, `changes`, the cached links
    /// * ARGV: term, the links' codes
    /// * returns: change
    ANNOUNCE_CHANGES => ["state.lua", "term.lua", "announce_changes.lua"],

    /// Makes every cached link a miss, in Redis and in all instances.
    ///
    /// * KEYS: `state`, `changes`
    /// * ARGV: term, now
    /// * returns: change
    FORGET_CACHED_LINKS => ["state.lua", "term.lua", "forget_cached_links.lua"],

    /// Caches a link that was read from the database, unless a link changed since before it was read.
    ///
    /// * KEYS: `state`, the cached link
    /// * ARGV: change and generation before the read, the link, expiry in seconds
    /// * returns: true
    CACHE_LINK => ["cache_link.lua"],

    /// Adds to a counter of a rate limit.
    ///
    /// * KEYS: the counter
    /// * ARGV: how much to add, seconds until it expires
    /// * returns: the sum
    COUNT_ATTEMPTS => ["count_attempts.lua"],
}
