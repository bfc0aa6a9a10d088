//! Links: shorten, show, list, edit, read statistics, delete, and announce every change to all instances.

use std::sync::{Arc, OnceLock};

use crate::cache::LinkCache;
use crate::clicks::ClicksBeforeLimit;
use crate::clicks::counts::{CountError, Counts};
use crate::domain::{
    Clock, InvalidProperty, LinkGroup, OwnHost, Principal, Reason, ShortCode, StatsAudience,
};
use crate::limits::{
    AtOnce, CurrentLimits, Full, Limiter, MissLimiter, Searches, TooMany, Turn, WaitingRoom,
};
use crate::passwords::{HashError, PasswordHasher};
use crate::store::{Details, Refusals, StorageRoom, Store, StoreError};

mod announce;
mod breakdown;
mod bulk;
mod by_clicks;
mod by_code;
mod code_length;
mod creations;
mod delete;
mod domains;
mod edit;
mod exists;
mod filtered_series;
mod known_hosts;
mod lengthen;
mod list;
mod live;
mod moving;
mod numbered;
mod outbox;
mod passwords;
mod pool;
mod refused;
mod report;
mod revision;
mod series;
mod shares;
mod shorten;
mod show;
mod stats;
mod tags;
mod trash;

pub use breakdown::{MAX_ROWS, WantedBreakdown};
pub use bulk::{BulkLink, BulkOutcome};
pub use by_clicks::ClickOrders;
pub use by_code::ClicksByCode;
pub use code_length::CodeLength;
pub use creations::Creations;
pub use edit::Expected;
pub use filtered_series::FilteredSeries;
pub use known_hosts::KnownHosts;
pub use list::{ListedLink, Listing, Page, turns_of_long_pages};
pub use live::{Listener, LiveCount, LiveCounts};
pub use moving::Mover;
pub use numbered::{MAX_NUMBERED_BY_CLICKS, NumberedPage};
pub use outbox::{OutboxError, publish_pending, publishes};
pub use revision::Revision;
pub use series::{ComparedSeries, Series};
pub use shares::{MAX_SHARES, ShareMade, StatsReader};
pub use shorten::{RequestKey, keys_expire_before};
pub use show::CountedLink;
pub use stats::{LinkPreview, LinkStats, ShownLeads};
pub use tags::{TagListing, TagPage};
pub use trash::{TrashPage, Trashed, trash_ends_before};

/// The operations on links, for owners and readers; knows no HTTP.
pub struct LinkService {
    /// The source of truth.
    pub store: Store,
    /// Whether the database has room for more.
    pub room: StorageRoom,
    /// Targets to which no link may lead.
    pub refusals: Refusals,
    /// For how many days a link keeps the address that it was made from; 0: not at all.
    pub audit_days: u32,
    /// For how many days a deleted link can be restored; 0: not at all.
    pub trash_days: u32,
    /// Who may read the statistics of links.
    pub stats_audience: StatsAudience,
    /// Links that are being made.
    pub creations: Creations,
    /// Exact counts.
    pub counts: Counts,
    /// What is kept of visitors.
    pub details: Arc<dyn Details>,
    /// Days for which that is kept by quarter of an hour.
    pub detail_days: u32,
    /// Counts the clicks from before a link got a limit.
    pub before_limit: Arc<ClicksBeforeLimit>,
    /// The cached links, which a change invalidates.
    pub cache: LinkCache,
    /// Orders of links by clicks, of owners of many.
    pub click_orders: ClickOrders,
    /// Searches that run or wait for their turn.
    pub searches: Searches,
    /// Hashes passwords of links.
    pub hasher: PasswordHasher,
    /// How often a user may create links.
    pub limiter: Limiter,
    /// How many unknown codes an address may ask for.
    pub misses: MissLimiter,
    /// How many links an account may have.
    pub limits: CurrentLimits,
    /// Whole lists that are being sent.
    pub lists_at_once: AtOnce,
    /// Calls that make many links.
    pub bulk_calls_at_once: AtOnce,
    /// Memory for the results of such calls, until clients have read them.
    pub bulk_results: AtOnce,
    /// Where requests for long pages wait for their turn.
    pub long_pages: WaitingRoom,
    /// The other hosts of the service.
    pub hosts: KnownHosts,
    /// The service's own host: a target on it would loop.
    pub own_host: OwnHost,
    /// How long new codes are.
    pub code_length: CodeLength,
    /// Fewest characters of a code that an owner chooses for a single link, unless the owner is an administrator.
    pub custom_code_min: usize,
    /// Whether a word is reserved for paths of the service, now or later: no drawn code is such a word.
    pub is_reserved: fn(&str) -> bool,
    /// Whether the countries of visitors are known.
    pub knows_countries: bool,
    /// Tells the operator of reports, once there is a mail server that does.
    pub report_letter: OnceLock<ReportLetter>,
    /// Gives new links their time.
    pub clock: Arc<dyn Clock>,
}

/// Tells the operator that a link with this code was reported for this reason.
pub type ReportLetter = Box<dyn Fn(&ShortCode, &Reason) + Send + Sync>;

/// Why an operation on links failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The owner's account is gone, or its tokens have ended.
    #[error("the owner's account does not exist")]
    OwnerGone,
    /// The owner reached a limit.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// Too much is going on, or too much of it for the owner.
    #[error(transparent)]
    Full(#[from] Full),
    /// The owner has as many links as an account may have: this many.
    #[error("the owner has {0} links, as many as an account may have")]
    QuotaReached(u64),
    /// The code that the owner chose belongs to a link, or belonged to a link of another owner.
    #[error("the code is taken")]
    CodeTaken,
    /// So is this alias.
    #[error("the alias {0} is taken")]
    AliasTaken(ShortCode),
    /// A new alias is shorter than owners may choose: it must have this many characters.
    #[error("an alias is shorter than {0} characters")]
    AliasTooShort(usize),
    /// The code that the owner chose is shorter than owners may choose: it must have this many characters.
    #[error("the code is shorter than {0} characters")]
    CodeTooShort(usize),
    /// The URL in the field of this name is on a host that administrators removed, or on the blocklist.
    #[error("no link may lead to this target")]
    TargetRefused(&'static str),
    /// The target in this line of a pool is refused so.
    #[error("no pool may lead to the target in line {0}")]
    PoolTargetRefused(usize),
    /// A pool has room for so many targets only.
    #[error("the pool has room for {0} more targets")]
    PoolFull(u64),
    /// There is no such host, or the owner may not use it.
    #[error("must be one of the hosts that you may use: see GET /domains")]
    DomainRefused,
    /// A new link may not have ended already.
    #[error("the link would have ended already")]
    EndsInPast,
    /// An earlier request with the same key of idempotency asked for something else.
    #[error("the key of the request was used for another one")]
    KeyReused,
    /// The link is not as the client expected.
    #[error("the link was changed meanwhile")]
    NotAsExpected,
    /// The service's administrators took the link away: its owner may delete it, and change nothing.
    #[error("the link is removed")]
    Removed,
    /// A tag was changed on so many links, and others still have it: the same call goes on with those.
    #[error("{0} links are changed so far")]
    TagLeft(u64),
    /// A property that the link would have breaks a rule.
    #[error(transparent)]
    Invalid(#[from] InvalidProperty),
    /// No count can be read, or the exact count that is required cannot be read.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The new password could not be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// Too many links of one call have a password.
    #[error(
        "at most 100 of 1000 links may have one; send the others in another call, or the hashes of their passwords"
    )]
    ManyPasswords,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No code could be drawn: a defect, or no randomness.
    #[error("no code could be drawn: {0}")]
    NoCode(String),
}

impl LinkService {
    /// The turn of an owner for work on all links with a tag, which may be very many; `None` without a tag.
    async fn turn_for_group(
        &self,
        owner: Principal,
        group: &LinkGroup,
    ) -> Result<Option<Turn>, TooMany> {
        if group.is_all() {
            return Ok(None);
        }
        self.searches.turn(owner.user).await.map(Some)
    }
}
