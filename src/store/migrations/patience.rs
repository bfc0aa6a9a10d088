//! How long a step waits for locks.

use std::time::Duration;

/// How long a step waits for locks, and how often it tries.
///
/// A statement that waits for a strong lock holds up all later ones on that table. So it waits for a moment only, and tries
/// again after a pause in which those go on.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// One wait for a lock.
    pub lock_timeout: Duration,
    /// The same for an index that is built concurrently: that wait blocks no other session.
    pub index_lock_timeout: Duration,
    /// How often a step is tried.
    pub tries: u32,
    /// The first pause; each is twice as long as the one before, up to [`Patience::MAX_PAUSE`].
    pub first_pause: Duration,
}

impl Patience {
    /// About six minutes for each step. A wait is shorter than any redirect waits for its click or its look-up.
    pub const USUAL: Self = Self {
        lock_timeout: Duration::from_millis(300),
        index_lock_timeout: Duration::from_mins(10),
        tries: 40,
        first_pause: Duration::from_millis(250),
    };

    /// The longest pause.
    pub const MAX_PAUSE: Duration = Duration::from_secs(10);

    /// The pauses between tries.
    pub(in crate::store) fn pauses(self) -> impl Iterator<Item = Duration> {
        let pauses = std::iter::successors(Some(self.first_pause), |pause| Some(*pause * 2));
        let tries = usize::try_from(self.tries).unwrap_or(usize::MAX);
        pauses
            .map(|pause| pause.min(Self::MAX_PAUSE))
            .take(tries.saturating_sub(1))
    }
}
