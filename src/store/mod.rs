//! The source of truth: accounts, links, the outbox of their changes, counted clicks and their series, and the ledger of flushes.
//!
//! Most operations are methods of [`Store`], in a file for each part, and one text for both databases: `sql` says how. What the
//! databases keep differently, clicks above all, are small object-safe traits with two implementations, [`PostgresStore`] and
//! [`SqliteStore`]. Both databases pass the same contract tests. To add an operation: write it with its errors and its promise,
//! then its contract tests.
//!
//! What must be one transaction is one method. "Not found" is `None`, never an error. The times that clients see are
//! parameters; an implementation may ask a clock itself for those that only say when a row may be pruned. SQL is written
//! in this module alone.

use std::sync::Arc;

mod accounts;
mod adaptive_limit;
mod admin_search;
mod administered;
mod administration;
mod aliases;
mod class_day;
mod class_merge;
mod class_packing;
mod class_reading;
mod click_batch;
mod click_details;
mod click_limits;
mod click_rows;
mod clicks;
mod columns;
mod committed;
mod companion;
mod connection;
mod counting;
mod creating;
mod database;
mod deleted_accounts;
mod deleting;
mod detail_room;
mod details;
mod domain_list;
mod domains;
mod editing;
mod emails;
mod engine;
mod events;
mod factors;
mod failure;
mod finding;
mod flush;
mod group_members;
mod groups;
mod history;
mod hooks;
mod identities;
mod inserting;
mod invitations;
mod keys;
mod ledger;
mod link_clicks;
mod listing;
mod mailed_links;
pub mod migrations;
mod moving;
mod new_links;
mod outbox;
mod owner_rows;
mod passkeys;
mod permits;
mod pools;
mod postgres;
mod properties;
mod queue_delay;
mod refusals;
mod removal_steps;
mod removals;
mod reports;
mod requests;
mod room;
mod rows;
mod scanned;
mod search;
mod searching;
mod series;
mod sessions;
mod settings;
mod shares;
mod snapshot;
mod sql;
mod sqlite;
mod statements;
mod status_counts;
mod summing;
mod tags;

use engine::Engine;

pub use accounts::{CreateUserError, Credentials, MAX_KNOWN_ADDRESSES};
pub use administration::{Actor, Kept, RoleTaken};
pub use click_batch::{ClickBatch, RecorderId};
pub use click_details::{ClickDetails, DetailSums, DetailedClicks, KnownClasses};
pub use click_limits::{ClickLimits, Grant};
pub use clicks::{Clicks, Compacted, MergeRound, ParkedBatch};
pub use committed::{Commits, committed};
pub use companion::load_or_create_companion;
pub use database::Usage;
pub use deleted_accounts::{DeletedUser, MAX_CHANGES_OF_ACCOUNT};
pub use deleting::{Deleted, Deletion, IsExpected, Restored, TrashedLink};
pub use details::{
    Breakdown, BreakdownQuery, ClassSeries, ClickSum, ClicksOf, Details, MAX_CLASSES_OF_INTERVAL,
    MAX_REFERRERS_OF_LINK, MAX_REFERRERS_OF_OWNER,
};
pub use domains::{DomainMade, DomainRemoved};
pub use editing::{EditLink, Edited, EditedLink};
pub use emails::EmailSet;
pub use events::{Event, EventNews, EventPage, FeedEnd, Happened};
pub use factors::{Factors, NewTotp, Totp};
pub use failure::{OpenError, StoreError};
pub use finding::{LinkMade, ToCount};
pub use flush::{FlushId, FlushMark};
pub use groups::{GroupError, GroupWork, NewGroup};
pub use history::{HistoryCheck, HistoryNote};
pub use hooks::{
    Attempt, CreateHookError, Delivery, DueDelivery, HeldLink, Hook, HookEdit, HookTotals,
    LeasedHook, NewDeliveries, NewDelivery, NewHook, Round,
};
pub use identities::{IdentifiedUser, Identity, ProviderSessions, UserToJoin};
pub use invitations::{Invited, NewAccount, NewInvitation};
pub use keys::{CreateKeyError, NewApiKey};
pub use ledger::{DataSet, Raise};
pub use link_clicks::LinkClicks;
pub use listing::OwnerTotals;
pub use mailed_links::{BegunEmailChange, EmailChanged, MIN_MAIL_INTERVAL, NewMailedLink, Reset};
pub use moving::{LinkMove, MOVED_IN_STEP, Moved};
pub use new_links::{
    CreateLinkError, CreatedLink, CreatedOfMany, IdempotentRequest, NewLink, Outcome,
};
pub use outbox::{Change, ChangePosition, ChangesSince};
pub use passkeys::{AddedPasskey, KnownPasskey, NewPasskey, Passkey};
pub use pools::{Added, Emptied, PoolState, PoolTake};
pub use postgres::{PostgresReplica, PostgresStore, WalPosition, migrate_postgres};
pub use queue_delay::for_waiting_client;
pub use refusals::Refusals;
pub use removal_steps::{IsCovered, SCANNED_IN_STEP, Scanned, Step};
pub use removals::{NewRemoval, Removed};
pub use requests::UsedKey;
pub use room::StorageRoom;
pub use search::{FoundLinks, LinkSearch, Position, ScannedLinks, Steps, WrittenClicks};
pub use series::{
    DaysSnapshot, LastDays, OwnerSeries, OwnerSnapshot, Series, SeriesSnapshot, WrittenBack,
};
pub use sessions::{ActingFor, MAX_SESSIONS, NewSession, OpenSession, SessionBy, WebSession};
pub use settings::StoreSettings;
pub use shares::{Shared, SharedStats, StatsShare};
pub use snapshot::{CountSnapshot, FlushesSeen};
pub use sqlite::{DiskUsage, SqliteStore, companion_file, migrate_sqlite};
pub use statements::{Issued, NewStatements};
pub use status_counts::{LinkNumber, MAX_COUNTED, StatusCounts};
pub use tags::{RETAGGED_IN_STEP, TagSnapshot, TagTotals, WantedTags};

/// A database: its operations are methods, and clicks two narrow traits.
#[derive(Clone)]
pub struct Store {
    engine: Engine,
    /// Counted clicks.
    pub clicks: Arc<dyn Clicks>,
    /// What is kept of visitors.
    pub details: Arc<dyn Details>,
    /// Whether it has room for more.
    pub room: StorageRoom,
}

impl Store {
    /// The store that this implementation is.
    #[must_use]
    pub fn of<T>(implementation: Arc<T>) -> Self
    where
        T: Clicks + Details + 'static,
        Arc<T>: Into<Engine>,
    {
        Self {
            engine: implementation.clone().into(),
            clicks: implementation.clone(),
            details: implementation,
            room: StorageRoom::default(),
        }
    }
}
