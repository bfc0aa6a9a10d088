//! Refused targets: hosts that administrators removed, and entries of the blocklist.

use std::collections::HashSet;

use super::{LinkError, LinkService};
use crate::domain::{HostPattern, TargetUrl};

impl LinkService {
    /// Fails if a link to this target may not be created.
    ///
    /// # Errors
    /// [`LinkError::TargetRefused`], [`LinkError::Store`].
    pub(super) async fn check_target(&self, target: &TargetUrl) -> Result<(), LinkError> {
        let refused = self.refused_targets(&[target]).await?;
        if refused.is_empty() {
            Ok(())
        } else {
            Err(LinkError::TargetRefused)
        }
    }

    /// The places of the targets to which no link may be made.
    pub(super) async fn refused_targets(
        &self,
        targets: &[&TargetUrl],
    ) -> Result<HashSet<usize>, LinkError> {
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
        let is_refused = |hosts: &Vec<String>| {
            let mut hosts = hosts.iter();
            hosts.any(|host| removed.iter().any(|pattern| pattern.matches(host)))
        };
        let list = self.blocklist.get();
        let places = targets.iter().zip(&hosts).enumerate();
        let refused =
            places.filter(|(_, (target, hosts))| is_refused(hosts) || list.blocks(target.as_str()));
        Ok(refused.map(|(place, _)| place).collect())
    }
}
