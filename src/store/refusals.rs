//! Refused targets: hosts that administrators removed, and entries of the blocklist.

use std::collections::HashSet;

use super::{Store, StoreError};
use crate::domain::{CurrentBlocklist, HostPattern, TargetUrl};

/// Says to which targets no link may lead; cheap to clone.
#[derive(Clone)]
pub struct Refusals {
    /// Has the hosts that administrators removed.
    store: Store,
    /// More refused targets.
    pub blocklist: CurrentBlocklist,
}

impl Refusals {
    /// By the hosts that this database has, and by this list.
    #[must_use]
    pub fn new(store: &Store, blocklist: CurrentBlocklist) -> Self {
        let store = store.clone();
        Self { store, blocklist }
    }

    /// Of each target whether it is refused, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of(&self, targets: &[&TargetUrl]) -> Result<Vec<bool>, StoreError> {
        let hosts: Vec<_> = targets.iter().map(|target| target.hosts()).collect();
        let distinct: HashSet<&str> = hosts.iter().flatten().map(String::as_str).collect();
        let patterns: HashSet<_> = distinct
            .into_iter()
            .flat_map(HostPattern::all_for)
            .collect();
        let patterns: Vec<_> = patterns.into_iter().collect();
        let removed = self.store.removed_hosts(&patterns).await?;
        let removed: Vec<_> = removed
            .iter()
            .filter_map(|pattern| HostPattern::parse(pattern).ok())
            .collect();
        let is_removed = |host: &String| removed.iter().any(|pattern| pattern.matches(host));
        let list = self.blocklist.get();
        let is_refused = |(target, hosts): (&&TargetUrl, &Vec<String>)| {
            hosts.iter().any(is_removed) || list.blocks(target.as_str())
        };
        Ok(targets.iter().zip(&hosts).map(is_refused).collect())
    }
}
