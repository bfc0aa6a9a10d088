//! What an owner looks for in a list of links, and in which order.

use super::{DomainId, InvalidProperty, InvalidSearchText, LinkStatus, SearchText, Tags};

/// Longest tag, in characters.
const MAX_TAG: usize = 50;

/// A tag to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchTag(Box<str>);

/// Why a search is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSearch {
    /// See [`InvalidSearchText`].
    #[error(transparent)]
    Text(#[from] InvalidSearchText),
    /// No link can have such a tag.
    #[error("tag: must be one tag of 1 to 50 characters, without commas and control characters")]
    Tag,
    /// No status.
    #[error("status: must be active, inactive, scheduled, expired, used_up or removed")]
    Status,
    /// No host of the service.
    #[error("domain: is no host of this service")]
    Domain,
    /// No order.
    #[error("sort: must be -created_at, created_at, -clicks or clicks")]
    Order,
}

impl SearchTag {
    /// White space around the tag is dropped, as in the tags of links.
    ///
    /// # Errors
    /// [`InvalidSearch::Tag`].
    pub fn parse(raw: &str) -> Result<Self, InvalidSearch> {
        let tag = raw.trim();
        let is_tag = (1..=MAX_TAG).contains(&tag.chars().count())
            && !raw.chars().any(|char| char == ',' || char.is_control());
        is_tag.then(|| Self(tag.into())).ok_or(InvalidSearch::Tag)
    }

    /// A tag that links are given: refused as one in the tags of a link is.
    ///
    /// # Errors
    /// [`InvalidProperty`] says which rule it breaks.
    pub fn for_links(raw: &str) -> Result<Self, InvalidProperty> {
        let tags = Tags::parse([raw])?;
        let tag = tags.as_slice().first().ok_or(InvalidProperty::EmptyTag)?;
        Ok(Self(tag.as_str().into()))
    }

    /// The tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which links of an owner are wanted: links that match all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFilter {
    /// Words that are in code, alias, target, title or note.
    pub text: Option<SearchText>,
    /// A tag.
    pub tag: Option<SearchTag>,
    /// A status.
    pub status: Option<StatusFilter>,
    /// A host.
    pub domain: Option<DomainId>,
}

/// Which status is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// This one.
    Only(LinkStatus),
    /// Expired, used up or removed.
    Ended,
}

impl StatusFilter {
    /// Whether a link with this status is wanted.
    #[must_use]
    pub fn has(self, status: LinkStatus) -> bool {
        match self {
            Self::Only(wanted) => wanted == status,
            Self::Ended => matches!(
                status,
                LinkStatus::Expired | LinkStatus::UsedUp | LinkStatus::Removed
            ),
        }
    }
}

impl LinkFilter {
    /// Whether it lets every link through.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// Which links of an owner are counted together: links that match all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkGroup {
    /// A tag.
    pub tag: Option<SearchTag>,
    /// A host.
    pub domain: Option<DomainId>,
}

impl LinkGroup {
    /// All links.
    pub const ALL: Self = Self {
        tag: None,
        domain: None,
    };

    /// Whether every link is in it. The clicks of any other group are read link by link.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// Its tag as a value of a statement.
    #[must_use]
    pub fn tag_text(&self) -> Option<&str> {
        self.tag.as_ref().map(SearchTag::as_str)
    }

    /// The number of its host as a value of a statement.
    #[must_use]
    pub fn domain_number(&self) -> Option<i64> {
        self.domain.map(DomainId::number)
    }
}

/// The order of a list; links that are equal in it go by their id, in the same direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkOrder {
    /// By the moment of creation, the newest first.
    #[default]
    Newest,
    /// By the moment of creation, the oldest first.
    Oldest,
    /// By clicks, the most first.
    MostClicks,
    /// By clicks, the fewest first.
    FewestClicks,
}

impl LinkOrder {
    /// All of them, the usual one first.
    pub const ALL: [Self; 4] = [
        Self::Newest,
        Self::Oldest,
        Self::MostClicks,
        Self::FewestClicks,
    ];

    /// Its word in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "-created_at",
            Self::Oldest => "created_at",
            Self::MostClicks => "-clicks",
            Self::FewestClicks => "clicks",
        }
    }

    /// The order with this word.
    ///
    /// # Errors
    /// [`InvalidSearch::Order`].
    pub fn parse(word: &str) -> Result<Self, InvalidSearch> {
        let mut all = Self::ALL.into_iter();
        all.find(|order| order.as_str() == word)
            .ok_or(InvalidSearch::Order)
    }

    /// The same links from the other end.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Newest => Self::Oldest,
            Self::Oldest => Self::Newest,
            Self::MostClicks => Self::FewestClicks,
            Self::FewestClicks => Self::MostClicks,
        }
    }

    /// Whether it goes by clicks.
    #[must_use]
    pub fn is_by_clicks(self) -> bool {
        matches!(self, Self::MostClicks | Self::FewestClicks)
    }

    /// Whether the greatest come first.
    #[must_use]
    pub fn is_falling(self) -> bool {
        matches!(self, Self::Newest | Self::MostClicks)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tag_that_a_link_may_have_can_be_looked_for_and_no_other(raw in "[ a-zé,\\t]{0,60}") {
            let as_link_has_it = Tags::parse([raw.as_str()]).ok().and_then(|tags| tags.as_slice().first().cloned());
            let wanted = SearchTag::parse(&raw).ok().map(|tag| tag.as_str().to_owned());
            let given = SearchTag::for_links(&raw).ok().map(|tag| tag.as_str().to_owned());
            prop_assert_eq!(&wanted, &as_link_has_it);
            prop_assert_eq!(given, as_link_has_it);
        }

        #[test]
        fn an_order_is_one_of_four_words(raw in "-?(created_at|clicks|title)?") {
            match LinkOrder::parse(&raw) {
                Ok(order) => prop_assert_eq!(order.as_str(), raw),
                Err(error) => prop_assert_eq!(error, InvalidSearch::Order),
            }
        }
    }
}
