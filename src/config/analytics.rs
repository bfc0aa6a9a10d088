//! What is kept of visitors.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::parse::{file, on_or_off, stats_audience};
use super::setting::{Optional, mebibytes, number, optional, setting};
use crate::domain::StatsAudience;

/// What is kept about visitors.
#[derive(Args, Clone, Debug)]
pub struct AnalyticsSettings {
    /// What is kept of clicks: `on`, their time and the visitor class (registrable host of the referrer, country, families of
    /// browser and system, kind of device, known bot or not), or `off`, only their time.
    ///
    /// `deploy/privacy.md` says what that means for visitors.
    #[arg(
        id = "analytics",
        long = "analytics",
        env = "ANALYTICS",
        value_name = "WHICH"
    )]
    #[arg(action = ArgAction::Set, default_value = "on", value_parser = setting(on_or_off))]
    pub are_on: bool,
    /// Who may read the statistics of a link: `public`, everybody who knows its code, or `owner`, only its owner and people who have a
    /// share of them (`POST /urls/{short_code}/shares`).
    #[arg(long, env = "STATS", value_name = "WHO")]
    #[arg(default_value = "public", value_parser = setting(stats_audience))]
    pub stats: StatsAudience,
    /// A file in MMDB format with the countries of addresses, such as GeoLite2-Country; read again when it changes. Unset: no
    /// countries.
    #[arg(long, env = "GEOIP_DATABASE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub geoip_database: Optional<PathBuf>,
    /// Days for which classes are kept by quarter of an hour; afterwards they are kept by day (UTC).
    #[arg(long, env = "ANALYTICS_DETAIL_DAYS", value_name = "N")]
    #[arg(default_value = "90", value_parser = number(1..=36_500_u32))]
    pub analytics_detail_days: u32,
    /// Memory of Redis for visitor classes that are not yet written back, in MiB. Past it, clicks are counted without their
    /// class.
    #[arg(
        long = "analytics-redis-mib",
        env = "ANALYTICS_REDIS_MIB",
        value_name = "MIB"
    )]
    #[arg(default_value = "64", value_parser = mebibytes(0..=1_048_576))]
    pub analytics_redis: u64,
    /// New rows of visitor classes per day (UTC), over all links. A row is a visitor class of a link in a quarter of an hour.
    /// Past it, and past 1,000 classes of a link in a quarter of an hour, clicks are counted, but only divided into bots and
    /// people (`deploy/scaling.md`).
    #[arg(long, env = "ANALYTICS_ROWS_PER_DAY", value_name = "N")]
    #[arg(default_value = "10000000", value_parser = number(0..=i64::MAX.unsigned_abs()))]
    pub analytics_rows_per_day: u64,
}
