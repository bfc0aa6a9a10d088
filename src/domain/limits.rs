//! The limits of accounts and addresses: how often actions are allowed, and how much an account may keep.

/// How often actions are allowed, and how much an account may keep; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Log-in attempts per minute and address.
    pub login: u32,
    /// Failed log-ins per quarter of an hour, account and address.
    pub failures_from_address: u32,
    /// Failed log-ins per hour and account.
    pub failures_of_account: u32,
    /// Registrations per minute and address.
    pub register: u32,
    /// Accounts made per day and address.
    pub accounts_per_day: u32,
    /// Links made per minute and account.
    pub create: u32,
    /// Bytes of links that are made or grow, per day and address.
    pub link_bytes_per_day: u64,
    /// Look-ups of unknown codes per minute and address.
    pub misses: u32,
    /// Links that an account may have.
    pub links_per_account: u64,
}
