//! All Lua scripts, each named for the data that it changes or reads.
//!
//! The texts are in `scripts/`. Every script runs as one atomic step of Redis. Keys are named as in [`super::keys`];
//! "process, now" are [`RedisShard::process`](super::RedisShard::process) and microseconds since 1970, of which a data
//! set without an epoch makes its first one. A "change" is the number of the newest change of a link.

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
    /// Applies a batch of clicks once, if the data set is in the epoch that the batch is for.
    ///
    /// * KEYS: `state`, `recorders`, `pending`
    /// * ARGV: process, now, recorder, batch number, epoch, link ids, as many numbers of clicks
    /// * returns: epoch, change
    RECORD_CLICKS => ["data_set.lua", "record_clicks.lua"],

    /// Reads how many clicks of some links are pending and in flushes, as of one moment.
    ///
    /// * KEYS: `state`, `pending`, `flushing`
    /// * ARGV: prefix of flush keys, link ids
    /// * returns: epoch, newest flush, numbers of the flushes under way, then lists of clicks per link: the pending
    ///   ones, then those of each flush
    READ_COUNTS => ["read_counts.lua"],

    /// Takes the lease on flushing, and moves what is pending to a flush of its own unless one is under way.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `flusher`
    /// * ARGV: process, now, name of the flusher, lease in milliseconds, prefix of flush keys
    /// * returns: epoch, numbers of the flushes under way; nil while another flusher has the lease
    BEGIN_FLUSH => ["data_set.lua", "begin_flush.lua"],

    /// Removes a flush that is written to the database.
    ///
    /// * KEYS: `state`, `flushing`, the flush
    /// * ARGV: epoch, number of the flush
    /// * returns: true
    FINISH_FLUSH => ["finish_flush.lua"],

    /// Notes that the database refuses a flush: the data set has to be recovered before it is used on.
    ///
    /// * KEYS: `state`, `flushing`
    /// * ARGV: epoch, number of the flush, 1 if the data set was continued on another server
    /// * returns: 1 if the flush is still under way, otherwise 0
    ABANDON_FLUSH => ["abandon_flush.lua"],

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
    /// * KEYS: `recorders`
    /// * ARGV: recorder, its value when it was read
    /// * returns: true
    FORGET_RECORDER => ["forget_recorder.lua"],

    /// Takes a data set into use after a restart or take-over of its server, once for all instances.
    ///
    /// * KEYS: `state`, `pending`, `flushing`, `changes`
    /// * ARGV: process, now, replication ID, epoch and newest flush that the database was asked about, 1 if the database
    ///   is ahead of the data set, prefix of flush keys, number of the fence, 1 if the database refuses the newest flush, too
    /// * returns: epoch, links whose clicks were dropped (-1 where none had to be), 1 if this call did it; nil where
    ///   the data set has moved on from what the database was asked about
    RECOVER_DATA_SET => ["data_set.lua", "recover_data_set.lua"],

    /// Removes a data set that is given up, unless it has clicks that are not written back.
    ///
    /// * KEYS: `pending`, `flushing`, `state`, `recorders`, `changes`, `flusher`
    /// * returns: 1 if it is removed, otherwise 0
    REMOVE_DATA_SET => ["remove_data_set.lua"],

    /// Reads where the changes of links stand; begins an epoch where there is none.
    ///
    /// * KEYS: `state`
    /// * ARGV: process, now
    /// * returns: epoch, change
    READ_CHANGE => ["data_set.lua", "read_change.lua"],

    /// Removes changed links from the cache, and announces their changes to all instances.
    ///
    /// * KEYS: `state`, `changes`, the cached links
    /// * ARGV: process, now, the links' codes
    /// * returns: epoch, change
    ANNOUNCE_CHANGES => ["data_set.lua", "announce_changes.lua"],

    /// Caches a link that was read from the database, unless a link changed since before it was read.
    ///
    /// * KEYS: `state`, the cached link
    /// * ARGV: change before the read, the link, expiry in seconds
    /// * returns: true
    CACHE_LINK => ["cache_link.lua"],

    /// Adds to a counter of a rate limit.
    ///
    /// * KEYS: the counter
    /// * ARGV: how much to add
    /// * returns: the sum
    COUNT_ATTEMPTS => ["count_attempts.lua"],
}
