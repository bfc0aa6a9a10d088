//! A link that is there already, for calls that would rather have it than another.

use super::caller::Caller;
use super::services::Services;
use crate::domain::{DomainId, Link, LinkFilter, SearchText};
use crate::http::ApiError;
use crate::links::{CountedLink, Listing};

/// Longest text that is searched for, in bytes.
const MAX_TEXT: usize = 200;

/// Links that are looked at among those whose target begins so.
const LOOKED_AT: u32 = 100;

impl Services {
    /// The newest link of the caller at a host to exactly this target that is as wanted, among the newest 10,000 of the account. `None` for a
    /// key that only makes links.
    pub(super) async fn existing(
        &self,
        caller: &Caller,
        target: &str,
        domain: DomainId,
        is_wanted: impl Fn(&Link) -> bool,
    ) -> Result<Option<CountedLink>, ApiError> {
        let text = beginning(target).filter(|_| caller.sees_links);
        let Some(text) = text else {
            return Ok(None);
        };
        let listing = Listing {
            filter: LinkFilter {
                text: Some(text),
                domain: Some(domain),
                ..LinkFilter::default()
            },
            ..Listing::default()
        };
        let page = self
            .links
            .page(caller.principal, &listing, None, LOOKED_AT)
            .await?;
        let mut found = page.links();
        let found = found
            .find(|found| found.link.properties.target.as_str() == target && is_wanted(found.link));
        Ok(found.map(|found| CountedLink {
            link: found.link.clone(),
            clicks: found.clicks,
            as_of: page.as_of,
        }))
    }
}

/// What a search for a target looks for: as much of it as a search takes.
fn beginning(target: &str) -> Option<SearchText> {
    let word = target.split_whitespace().next().unwrap_or_default();
    let mut end = word.len().min(MAX_TEXT);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    SearchText::parse(&word[..end]).ok().flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_target_has_the_text_that_it_is_looked_for_by(target in "https://[a-zé ]{1,300}") {
            let text = beginning(&target).unwrap();
            prop_assert!(text.finder().is_in(&target));
        }
    }
}
