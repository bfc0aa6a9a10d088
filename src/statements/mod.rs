//! Statements: the clicks of a link in a month, signed, so that they can be checked without this service.
//!
//! A statement is issued when it is first asked for, once its month has ended and clicks on their way have arrived, and it is kept: it
//! is answered with the same bytes from then on, whatever clicks, keys and settings do. Each one has the digest of the statement of
//! the month before, so the statements of a link in a zone are a chain that begins in the month in which the link was made.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::LinkCache;
use crate::clicks::counts::{CountError, Counting, Counts, tallies};
use crate::domain::{
    Click, Clock, CurrentHosts, Link, Month, NotCanonical, Principal, SeriesRange, ShortCode,
    StatementKey, StatementPublicKey, Timestamp, Zone, sha256_of,
};
use crate::limits::{Daily, Limiter, TooMany};
use crate::store::{Issued, NewStatements, StorageRoom, Store, StoreError, ToCount};

mod document;
mod key_set;
mod verify;

use document::Facts;
pub use document::{Statement, StatementDay};
pub use key_set::{StatementKeySet, keys_in};
pub use verify::{NotVerified, Verified, verify};

/// How long after its end a month has its statement: clicks that an instance could not hand on at once have arrived by then, and known
/// bots are told from people.
const SETTLED_AFTER: Duration = Duration::from_mins(15);

/// Statements that one request issues at most.
const MAX_ISSUED: usize = 24;

/// Zones in which a link may have statements.
const MAX_ZONES: usize = 4;

/// How many times it is tried again if another request issues the same statements.
const TRIES: usize = 5;

/// Issues statements.
pub struct Statements {
    /// The source of truth.
    pub store: Store,
    /// Exact counts.
    pub counts: Counts,
    /// Knows the shard of a link.
    pub cache: LinkCache,
    /// The hosts beside the service's own.
    pub hosts: CurrentHosts,
    /// Signs; `None`: the operator gave no key, and only statements that were issued before are answered.
    pub key: Option<StatementKey>,
    /// Whether known bots are told from people.
    pub knows_bots: bool,
    /// Whether the database has room for more.
    pub room: StorageRoom,
    /// How much an address may add to the database.
    pub limiter: Limiter,
    /// Says which month has ended.
    pub clock: Arc<dyn Clock>,
}

/// Why there is no statement.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The month has not ended, or only just.
    #[error("month: has its statement from {0} on")]
    NotEnded(Timestamp),
    /// The link was made in this month, which is later.
    #[error("month: must not be before {0}, in which the link was made")]
    BeforeLink(Month),
    /// There is no key.
    #[error("This service signs no statements; its operator has to set STATEMENT_KEY")]
    NoKey,
    /// Statements of earlier months come first, and there were too many for one request.
    #[error("the statements up to {0} are issued")]
    MonthsLeft(Month),
    /// The link has statements in these zones.
    #[error("tz: this link has statements in {}, and in at most {MAX_ZONES} time zones; ask for one of these", .0.join(", "))]
    ManyZones(Vec<String>),
    /// The address added as much to the database as it may.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The clicks cannot be read exactly.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A statement could not be written: a defect.
    #[error("a statement cannot be signed: {0}")]
    NotCanonical(#[from] NotCanonical),
}

/// What became of an attempt to issue.
enum Attempt {
    /// There is no such link.
    NoLink,
    /// The statement that is wanted.
    Issued(String),
    /// Others were issued meanwhile.
    Overtaken,
}

/// The months of a link that have ended, and the link.
#[derive(Clone, Debug)]
pub struct EndedMonths {
    /// The link.
    pub link: Link,
    /// The months, the newest first.
    pub months: Vec<Month>,
}

impl Statements {
    /// The statement of a link of this owner, for a client at `address`, as it is kept; it is issued where it was not, with those of
    /// the months before it. `None` if there is no such link.
    ///
    /// # Errors
    /// [`StatementError`].
    pub async fn of_month(
        &self,
        owner: Principal,
        code: &ShortCode,
        (month, zone): (Month, &Zone),
        address: &str,
    ) -> Result<Option<String>, StatementError> {
        for _ in 0..TRIES {
            let kept = self.store.statement(owner, code, zone.name(), month);
            if let Some(kept) = kept.await? {
                return Ok(Some(kept));
            }
            match self.issue(owner, code, (month, zone), address).await? {
                Attempt::NoLink => return Ok(None),
                Attempt::Issued(document) => return Ok(Some(document)),
                Attempt::Overtaken => {}
            }
        }
        let why = "statements of a link are issued faster than they can be read";
        Err(StoreError::Unavailable(why.into()).into())
    }

    /// The months of which a link of this owner has a statement or can have one; `None` if there is no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn months(
        &self,
        owner: Principal,
        code: &ShortCode,
        zone: &Zone,
    ) -> Result<Option<EndedMonths>, StoreError> {
        let Some(ToCount { value: link, .. }) = self.store.link_of(owner, code).await? else {
            return Ok(None);
        };
        let settled = self.clock.now().before(SETTLED_AFTER);
        let running = Month::of(zone, settled);
        let months = months_from(Month::of(zone, link.created_at));
        let mut months: Vec<_> = months.take_while(|month| *month < running).collect();
        months.reverse();
        Ok(Some(EndedMonths { link, months }))
    }

    /// The keys by which statements are checked: the key that signs, then those that signed before.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn keys(&self) -> Result<Vec<StatementPublicKey>, StoreError> {
        let current = self.key.as_ref().map(StatementKey::public);
        let kept = self.store.statement_keys().await?;
        let others = kept.into_iter().filter(|key| Some(*key) != current);
        Ok(current.into_iter().chain(others).collect())
    }

    /// Whether new statements can be issued.
    #[must_use]
    pub fn can_sign(&self) -> bool {
        self.key.is_some()
    }

    async fn issue(
        &self,
        owner: Principal,
        code: &ShortCode,
        (month, zone): (Month, &Zone),
        address: &str,
    ) -> Result<Attempt, StatementError> {
        let counting = self.counts.begin();
        let Some(found) = self.store.link_of(owner, code).await? else {
            return Ok(Attempt::NoLink);
        };
        let first = Month::of(zone, found.value.created_at);
        if month < first {
            return Err(StatementError::BeforeLink(first));
        }
        let now = self.clock.now();
        let settled = SeriesRange::days_of(month, zone).map(|days| days.to().after(SETTLED_AFTER));
        let settled = settled.unwrap_or(Timestamp::MAX);
        if now < settled {
            return Err(StatementError::NotEnded(settled));
        }
        let key = self.key.as_ref().ok_or(StatementError::NoKey)?;
        let link = found.value.id;
        let newest = self.store.newest_statement(link, zone.name()).await?;
        let after = newest.as_ref().map(|(month, _)| *month);
        let months = months_from(after.map_or(first, Month::next));
        let months = months.take_while(|other| *other <= month).take(MAX_ISSUED);
        let days = |month| Some((month, SeriesRange::days_of(month, zone)?));
        let months: Vec<_> = months.filter_map(days).collect();
        let previous = newest.map(|(_, document)| sha256_of(&document));
        let statements = self.signed(counting, found, &months, (previous, now), key);
        let statements = statements.await?;
        let Some((last, document)) = statements.last() else {
            return Ok(Attempt::Overtaken);
        };
        self.room.check()?;
        let bytes = statements.iter().map(|(_, text)| text.len() as u64).sum();
        let limiter = &self.limiter;
        limiter.add_today(Daily::LinkBytes, address, bytes).await?;
        let new = NewStatements {
            link,
            zone: zone.name(),
            after,
            statements: &statements,
            key: key.public(),
            at: now,
            max_zones: MAX_ZONES,
        };
        let issued = self.store.issue_statements(&new).await;
        if !matches!(issued, Ok(Issued::Done)) {
            limiter.refund_today(Daily::LinkBytes, address, bytes);
        }
        match issued? {
            Issued::Done if *last < month => Err(StatementError::MonthsLeft(*last)),
            Issued::Done => Ok(Attempt::Issued(document.clone())),
            Issued::Overtaken => Ok(Attempt::Overtaken),
            Issued::ManyZones(zones) => Err(StatementError::ManyZones(zones)),
            Issued::NoLink => Ok(Attempt::NoLink),
        }
    }

    /// The statements of months that follow each other, by one reading of their clicks.
    async fn signed(
        &self,
        counting: Counting<'_>,
        found: ToCount<Link>,
        months: &[(Month, SeriesRange)],
        (mut previous, issued_at): (Option<String>, Timestamp),
        key: &StatementKey,
    ) -> Result<Vec<(Month, String)>, StatementError> {
        let ends = months.first().zip(months.last());
        let Some(((_, first), (_, last))) = ends else {
            return Ok(Vec::new());
        };
        let intervals = first.intervals().start..last.intervals().end;
        let link = &found.value;
        let click = Click::new(link.id, link.made_by, self.cache.shard_of(&link.code));
        let series = counting.series_of(click, intervals, found.has_parked);
        let series = series.await?;
        let tallies = tallies(series.points, &series.bots);
        let mut statements = Vec::with_capacity(months.len());
        for (month, days) in months {
            let facts = Facts {
                short_code: link.code.as_str(),
                domain: self.hosts.host_of(&link.code),
                month: *month,
                points: days.sum(&tallies),
                days,
                knows_bots: self.knows_bots,
                previous,
                issued_at,
            };
            let document = facts.signed(key)?;
            previous = Some(sha256_of(&document));
            statements.push((*month, document));
        }
        Ok(statements)
    }
}

fn months_from(first: Month) -> impl Iterator<Item = Month> {
    std::iter::successors(Some(first), |month| Some(month.next()))
}
