//! For how many days things are kept.

use clap::Args;

use super::setting::number;

/// For how many days things are kept.
#[derive(Args, Clone, Copy, Debug)]
pub struct KeptSettings {
    /// Days for which a link keeps the address from which it was created, and for which reports of links and the audit are
    /// kept; 0: links keep no address, and the rest is kept for a day.
    #[arg(long, env = "AUDIT_DAYS", value_name = "DAYS")]
    #[arg(default_value = "90", value_parser = number(0..=36_500_u32))]
    pub audit_days: u32,
    /// Days for which a deleted link can be restored by its owner; 0: it is gone at once.
    #[arg(long, env = "TRASH_DAYS", value_name = "DAYS")]
    #[arg(default_value = "30", value_parser = number(0..=36_500_u32))]
    pub trash_days: u32,
    /// Days for which the feeds of events keep what happened to links.
    #[arg(long, env = "EVENTS_DAYS", value_name = "DAYS")]
    #[arg(default_value = "30", value_parser = number(1..=3_650_u32))]
    pub events_days: u32,
}
