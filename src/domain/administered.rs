//! What administrators see of the service as a whole, and beside an account or a link: numbers, each from a bounded look.

use super::{RemovalStatus, Rules, ShortCode, TargetUrl, Timestamp, UserId};

/// How much there is of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceTotals {
    /// Reports that are open.
    pub open_reports: u64,
    /// The links that these are of.
    pub reported_links: u64,
    /// Accounts.
    pub accounts: u64,
    /// Links of these accounts, without what is in bins.
    pub links: u64,
    /// Whether there are more accounts, with links that are not counted here.
    pub are_more: bool,
}

/// What is known of an account beside what all lists show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountNumbers {
    /// Clicks on its links since the moment that was named.
    pub clicks: u64,
    /// When it last signed in, as far as that is kept.
    pub signed_in_at: Option<Timestamp>,
    /// Its links that are removed now; 1,000 at most.
    pub removed_links: u64,
}

/// Which reports are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportState {
    /// Open reports.
    #[default]
    Open,
    /// Closed ones.
    Closed,
}

/// Which links with reports are wanted.
#[derive(Clone, Copy, Debug)]
pub struct ReportsWanted {
    /// Links with a report in this state.
    pub state: ReportState,
    /// Links whose newest report in this state has a number below this one.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: u32,
}

/// A report, beside the link that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// The database's own number.
    pub id: i64,
    /// Why the link was reported.
    pub reason: String,
    /// A keyed hash of the client's address.
    pub reporter: String,
    /// When.
    pub reported_at: Timestamp,
    /// When it was closed, if it was.
    pub closed_at: Option<Timestamp>,
}

/// A link with all reports of it that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedLink {
    /// The newest report in the state that was asked for.
    pub newest: i64,
    /// The link's code.
    pub code: ShortCode,
    /// Its target.
    pub target: TargetUrl,
    /// Where visitors are sent while it is not followed, if its owner chose something.
    pub fallback: Option<TargetUrl>,
    /// Where some visitors are sent, if its owner chose something.
    pub rules: Option<Rules>,
    /// Whether the link is removed by now.
    pub removed: Option<RemovalStatus>,
    /// Whether visitors have to give a password.
    pub has_password: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whose it is.
    pub owner: UserId,
    /// The address of that account.
    pub email: String,
    /// Whether that account is banned.
    pub is_banned: bool,
    /// Links of that account that are removed now; 1,000 at most.
    pub removed_links: u64,
    /// The reports, newest first.
    pub reports: Vec<LinkReport>,
}
