//! Refused targets: hosts that administrators removed, and entries of the blocklist.

use std::collections::HashMap;

use super::{LinkError, LinkService};
use crate::domain::{InvalidProperty, LinkProperties, Rules, TargetUrl};

/// The URLs to which a link leads, or would lead from now on.
#[derive(Clone, Copy)]
pub(super) struct Leads<'a> {
    pub(super) target: Option<&'a TargetUrl>,
    pub(super) fallback: Option<&'a TargetUrl>,
    pub(super) rules: Option<&'a Rules>,
}

impl<'a> Leads<'a> {
    pub(super) fn of(link: &'a LinkProperties) -> Self {
        Self {
            target: Some(&link.target),
            fallback: link.fallback.as_ref(),
            rules: link.rules.as_ref(),
        }
    }

    /// Whether there is any.
    pub(super) fn is_any(self) -> bool {
        self.target.is_some() || self.fallback.is_some() || self.rules.is_some()
    }

    /// Each URL, with the name of its field.
    fn each(self) -> impl Iterator<Item = (&'static str, &'a TargetUrl)> {
        let target = self.target.map(|target| ("target_url", target));
        let fallback = self.fallback.map(|target| ("fallback_url", target));
        let rules = self.rules.into_iter().flat_map(Rules::targets);
        let rules = rules.map(|target| ("rules", target));
        target.into_iter().chain(fallback).chain(rules)
    }
}

impl LinkService {
    /// Fails if rules ask for the country of a visitor, and no countries are known here.
    pub(super) fn check_countries(&self, rules: Option<&Rules>) -> Result<(), LinkError> {
        let asks = rules.filter(|_| !self.knows_countries);
        match asks.and_then(Rules::first_with_country) {
            None => Ok(()),
            Some(place) => Err(InvalidProperty::CountriesUnknown(place).into()),
        }
    }

    /// Fails if no link may lead there.
    ///
    /// # Errors
    /// [`LinkError::TargetRefused`], [`LinkError::Store`].
    pub(super) async fn check_targets(&self, leads: Leads<'_>) -> Result<(), LinkError> {
        let refused = self.refused_targets(&[leads]).await?;
        match refused.get(&0) {
            None => Ok(()),
            Some(field) => Err(LinkError::TargetRefused(field)),
        }
    }

    /// The places of the links that may not be made, each with the first field that leads to a refused target.
    pub(super) async fn refused_targets(
        &self,
        links: &[Leads<'_>],
    ) -> Result<HashMap<usize, &'static str>, LinkError> {
        let targets = links.iter().enumerate().flat_map(|(place, leads)| {
            let each = leads.each();
            each.map(move |(field, target)| (place, field, target))
        });
        let targets: Vec<_> = targets.collect();
        let urls: Vec<_> = targets.iter().map(|(_, _, target)| *target).collect();
        let are_refused = self.refusals.of(&urls).await?;
        let mut refused = HashMap::new();
        for ((place, field, _), is_refused) in targets.iter().zip(are_refused) {
            if is_refused {
                refused.entry(*place).or_insert(*field);
            }
        }
        Ok(refused)
    }
}
