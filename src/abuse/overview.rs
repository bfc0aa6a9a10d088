//! The service as a whole, and what a removal would hit: numbers, each from a bounded look.

use std::collections::HashMap;
use std::time::Duration;

use super::{Abuse, AbuseError, Administrator, searching};
use crate::domain::{
    AccountNumbers, AddressRange, EmailAddress, HostPattern, Interval, Newest, NewestWanted,
    ReportedLink, ReportsWanted, Rules, SearchText, SeenLink, ServiceTotals, ShortCode, TargetUrl,
    Timestamp, UserId,
};
use crate::store::Usage;

/// The days whose clicks are shown.
pub const SHOWN_DAYS: u8 = 30;

/// Links that are looked at at most to see which ones lead to a host.
const MAX_SEARCHED: u32 = 200;

const SECONDS_OF_DAY: u64 = 86_400;

/// What a removal would hit, as far as a bounded look shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Links that were found.
    pub links: u64,
    /// Whether there may be more.
    pub are_more: bool,
    /// Some of their codes.
    pub codes: Vec<ShortCode>,
}

/// Clicks of a day of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayOfService {
    /// Its first moment.
    pub at: Timestamp,
    /// Clicks that are written back.
    pub clicks: u64,
}

impl Abuse {
    /// How much there is of everything.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn totals(&self) -> Result<ServiceTotals, AbuseError> {
        Ok(self.store.service_totals().await?)
    }

    /// Clicks of the last [`SHOWN_DAYS`] days, the oldest first; the last one is today.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn days(&self) -> Result<Vec<DayOfService>, AbuseError> {
        let day = Duration::from_secs(SECONDS_OF_DAY);
        let now = self.clock.now();
        let dates = (0..u32::from(SHOWN_DAYS)).rev().map(|ago| {
            let number = now.before(day * ago).unix_seconds() / SECONDS_OF_DAY;
            i64::try_from(number).unwrap_or_default()
        });
        let dates: Vec<i64> = dates.collect();
        let clicks = self.store.service_days(dates[0]).await?;
        let days = dates.iter().filter_map(|number| {
            Some(DayOfService {
                at: Timestamp::from_micros(number * 86_400_000_000)?,
                clicks: clicks.get(number).copied().unwrap_or_default(),
            })
        });
        Ok(days.collect())
    }

    /// What is stored for the time being, and the disk.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn usage(&self) -> Result<Usage, AbuseError> {
        Ok(self.store.usage().await?)
    }

    /// Numbers of these accounts, with the clicks of the last [`SHOWN_DAYS`] days.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn account_numbers(
        &self,
        users: &[UserId],
    ) -> Result<HashMap<UserId, AccountNumbers>, AbuseError> {
        let days = Duration::from_secs(SECONDS_OF_DAY) * u32::from(SHOWN_DAYS);
        let since = Interval::not_before(self.clock.now().before(days));
        let users: Vec<i64> = users.iter().map(|user| user.0).collect();
        Ok(self.store.account_numbers(&users, since).await?)
    }

    /// The e-mail addresses of these accounts, as far as they are there.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn emails_of(
        &self,
        users: impl Iterator<Item = UserId>,
    ) -> Result<HashMap<UserId, EmailAddress>, AbuseError> {
        let mut users: Vec<i64> = users.map(|user| user.0).collect();
        users.sort_unstable();
        users.dedup();
        Ok(self.store.emails_of(&users).await?)
    }

    /// Links with reports. What is said of [`Abuse::links`] about passwords holds for them, too.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn reported_links(
        &self,
        by: &Administrator,
        wanted: &ReportsWanted,
    ) -> Result<Newest<ReportedLink>, AbuseError> {
        let found = self.store.reported_links(wanted).await?;
        let protected = found.entries.iter().filter(|link| link.has_password);
        let codes = protected.map(|link| &link.code).collect();
        self.note_seen_targets(by, codes).await?;
        Ok(found)
    }

    /// The links to a host that a search like that of administrators finds first.
    ///
    /// # Errors
    /// As [`Abuse::links`].
    pub async fn reach_of_host(
        &self,
        by: &Administrator,
        host: &HostPattern,
    ) -> Result<Reach, AbuseError> {
        let _turn = self.turn(by).await?;
        let name = host.to_string();
        let text = SearchText::parse(name.trim_start_matches("*."));
        let wanted = NewestWanted {
            text: text.ok().flatten(),
            limit: MAX_SEARCHED,
            ..NewestWanted::default()
        };
        let found = searching::links(&self.store, &wanted).await?;
        let hit = found.entries.iter().filter(|link| leads_to(link, host));
        let codes: Vec<_> = hit.map(|link| link.code.clone()).collect();
        Ok(Reach {
            links: codes.len() as u64,
            are_more: found.next.is_some(),
            codes,
        })
    }

    /// How many of the newest 10,000 links were made from an address.
    ///
    /// # Errors
    /// As [`Abuse::links`].
    pub async fn reach_of_address(
        &self,
        by: &Administrator,
        range: AddressRange,
    ) -> Result<Reach, AbuseError> {
        let _turn = self.turn(by).await?;
        let addresses = self.store.newest_addresses().await?;
        let hit = addresses.iter().filter(|address| {
            AddressRange::parse(address).is_some_and(|address| range.contains(address))
        });
        Ok(Reach {
            links: hit.count() as u64,
            are_more: addresses.len() >= 10_000,
            codes: Vec::new(),
        })
    }
}

/// Whether one of a link's targets has a host that a pattern covers.
fn leads_to(link: &SeenLink, pattern: &HostPattern) -> bool {
    let rules = link.rules.iter().flat_map(Rules::targets);
    let mut targets = std::iter::once(&link.target)
        .chain(&link.fallback)
        .chain(rules);
    targets.any(|target: &TargetUrl| target.hosts().iter().any(|host| pattern.matches(host)))
}
