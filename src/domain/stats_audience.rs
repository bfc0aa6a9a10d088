//! Who may read the statistics of links.

/// Who may read the statistics of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatsAudience {
    /// Everybody who knows its code.
    #[default]
    Everybody,
    /// Its owner, and who holds a share of them.
    Owner,
}
