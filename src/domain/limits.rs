//! Rate limits.

/// Actions per minute; 0 is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerMinute {
    /// Log-in attempts.
    pub login: u32,
    /// Registrations.
    pub register: u32,
    /// Links made.
    pub create: u32,
}
