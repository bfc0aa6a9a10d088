//! What an owner may set of a link, and change later.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{FieldEdit, TargetUrl, Timestamp};

/// What an owner sets of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkProperties {
    /// Where the code leads, exactly as it was given.
    pub target: TargetUrl,
    /// An inactive link does not redirect.
    pub is_active: bool,
    /// The owner's name for the link.
    pub title: Option<Title>,
    /// Words that group the owner's links.
    pub tags: Tags,
    /// The moment from which the link no longer redirects.
    pub expires_at: Option<Timestamp>,
    /// Redirects that are answered in all.
    pub max_clicks: Option<MaxClicks>,
    /// Whether a visitor's query is added to that of the target.
    pub forward_query: bool,
}

impl LinkProperties {
    /// A link with a target and nothing else.
    #[must_use]
    pub fn of(target: TargetUrl) -> Self {
        Self {
            target,
            is_active: true,
            title: None,
            tags: Tags::default(),
            expires_at: None,
            max_clicks: None,
            forward_query: false,
        }
    }
}

/// A change of some properties; `None` leaves a property as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkEdit {
    /// Another target.
    pub target: Option<TargetUrl>,
    /// Switched on or off.
    pub is_active: Option<bool>,
    /// A new title, or no title.
    pub title: FieldEdit<Title>,
    /// Other tags.
    pub tags: Option<TagEdit>,
    /// A new end, or no end.
    pub expires_at: FieldEdit<Timestamp>,
    /// Another number of redirects, or any.
    pub max_clicks: FieldEdit<MaxClicks>,
    /// Whether a visitor's query is added from now on.
    pub forward_query: Option<bool>,
}

impl LinkEdit {
    /// These properties, changed.
    ///
    /// # Errors
    /// [`InvalidProperty::ManyTags`] if the link would have too many tags.
    pub fn apply(&self, to: &LinkProperties) -> Result<LinkProperties, InvalidProperty> {
        let edit = self.clone();
        Ok(LinkProperties {
            target: edit.target.unwrap_or_else(|| to.target.clone()),
            is_active: edit.is_active.unwrap_or(to.is_active),
            title: edit.title.apply(to.title.as_ref()),
            tags: match edit.tags {
                Some(tags) => tags.apply(&to.tags)?,
                None => to.tags.clone(),
            },
            expires_at: edit.expires_at.apply(to.expires_at.as_ref()),
            max_clicks: edit.max_clicks.apply(to.max_clicks.as_ref()),
            forward_query: edit.forward_query.unwrap_or(to.forward_query),
        })
    }
}

/// What becomes of the tags of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagEdit {
    /// The link has these tags from now on.
    Set(Tags),
    /// It has these tags, too.
    Add(Tags),
    /// Removes these tags.
    Remove(Tags),
}

impl TagEdit {
    fn apply(self, to: &Tags) -> Result<Tags, InvalidProperty> {
        match self {
            Self::Set(tags) => Ok(tags),
            Self::Add(more) => Tags::parse(to.0.iter().chain(&more.0).map(String::as_str)),
            Self::Remove(tags) => {
                let left = to.0.iter().filter(|tag| !tags.0.contains(tag));
                Ok(Tags(left.cloned().collect()))
            }
        }
    }
}

/// Why a property is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProperty {
    /// Over 200 characters.
    #[error("title: must be at most 200 characters long")]
    LongTitle,
    /// A control character in a title.
    #[error("title: must not contain control characters")]
    ControlInTitle,
    /// Over 20 tags.
    #[error("tags: must be at most 20")]
    ManyTags,
    /// Over 50 characters in one tag.
    #[error("tags: must be at most 50 characters long each")]
    LongTag,
    /// A control character in a tag.
    #[error("tags: must not contain control characters")]
    ControlInTag,
    /// A comma in one tag of an array.
    #[error("tags: must not contain commas")]
    CommaInTag,
    /// No number of clicks.
    #[error("max_clicks: must be a whole number from 1 to 9007199254740991")]
    MaxClicks,
}

/// A link's name: 1 to 200 characters, without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title(Box<str>);

impl Title {
    const MAX_CHARS: usize = 200;

    /// An empty title means no title.
    ///
    /// # Errors
    /// [`InvalidProperty`] says which rule it breaks.
    pub fn parse(raw: &str) -> Result<Option<Self>, InvalidProperty> {
        if raw.chars().any(char::is_control) {
            return Err(InvalidProperty::ControlInTitle);
        }
        if raw.chars().count() > Self::MAX_CHARS {
            return Err(InvalidProperty::LongTitle);
        }
        Ok(Self::from_stored(raw))
    }

    /// A title from the database; an empty title means no title.
    #[must_use]
    pub fn from_stored(raw: &str) -> Option<Self> {
        (!raw.is_empty()).then(|| Self(raw.into()))
    }

    /// The title as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Up to 20 different tags of up to 50 characters, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(Vec<String>);

impl Tags {
    const MAX: usize = 20;
    const MAX_CHARS: usize = 50;

    /// Checks tags that a client gave. White space around a tag is dropped, as are empty and repeated tags.
    ///
    /// # Errors
    /// [`InvalidProperty`] says which rule they break.
    pub fn parse<'a>(raw: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidProperty> {
        let mut tags = Vec::<String>::new();
        for tag in raw {
            if tag.chars().any(char::is_control) {
                return Err(InvalidProperty::ControlInTag);
            }
            if tag.contains(',') {
                return Err(InvalidProperty::CommaInTag);
            }
            let tag = tag.trim();
            if tag.chars().count() > Self::MAX_CHARS {
                return Err(InvalidProperty::LongTag);
            }
            if !tag.is_empty() && !tags.iter().any(|known| known == tag) {
                if tags.len() == Self::MAX {
                    return Err(InvalidProperty::ManyTags);
                }
                tags.push(tag.to_owned());
            }
        }
        Ok(Self(tags))
    }

    /// The same for tags with commas between.
    ///
    /// # Errors
    /// As [`Tags::parse`].
    pub fn parse_list(raw: &str) -> Result<Self, InvalidProperty> {
        Self::parse(raw.split(','))
    }

    /// Tags from the database.
    #[must_use]
    pub fn from_stored(tags: Vec<String>) -> Self {
        Self(tags)
    }

    /// The tags.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Tags {
    /// With commas between.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(","))
    }
}

/// A number of redirects after which a link ends: 1 to 2^53 - 1, the whole numbers that every JSON parser keeps exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MaxClicks(u64);

impl MaxClicks {
    /// The largest.
    pub const LAST: u64 = (1 << 53) - 1;

    /// # Errors
    /// [`InvalidProperty::MaxClicks`] for 0 and for numbers past 2^53 - 1.
    pub fn parse(number: u64) -> Result<Self, InvalidProperty> {
        let is_valid = (1..=Self::LAST).contains(&number);
        is_valid
            .then_some(Self(number))
            .ok_or(InvalidProperty::MaxClicks)
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for MaxClicks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = MaxClicks;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number from 1 to 9007199254740991")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<MaxClicks, E> {
                let max = MaxClicks::parse(number);
                max.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }

        deserializer.deserialize_u64(Number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_refusal_names_its_field() {
        let long = "é".repeat(201);
        assert_eq!(Title::parse(&long), Err(InvalidProperty::LongTitle));
        assert!(Title::parse(&long[2..]).is_ok());
        assert_eq!(Title::parse("a\nb"), Err(InvalidProperty::ControlInTitle));
        let many = (0..21).map(|number| number.to_string());
        let many: Vec<_> = many.collect();
        let all = || many.iter().map(String::as_str);
        assert_eq!(Tags::parse(all()), Err(InvalidProperty::ManyTags));
        assert!(Tags::parse(all().take(20)).is_ok());
        assert_eq!(Tags::parse(["a,b"]), Err(InvalidProperty::CommaInTag));
        assert_eq!(
            Tags::parse(["x".repeat(51).as_str()]),
            Err(InvalidProperty::LongTag)
        );
        assert_eq!(MaxClicks::parse(0), Err(InvalidProperty::MaxClicks));
        assert_eq!(MaxClicks::parse(1 << 53), Err(InvalidProperty::MaxClicks));
        assert!(MaxClicks::parse((1 << 53) - 1).is_ok());
    }

    #[test]
    fn tags_that_are_added_are_refused_past_twenty_with_those_of_the_link() {
        let list = |numbers: std::ops::Range<u8>| {
            let tags: Vec<_> = numbers.map(|number| number.to_string()).collect();
            Tags::parse(tags.iter().map(String::as_str)).unwrap()
        };
        let add = |more| TagEdit::Add(more).apply(&list(0..15));
        assert_eq!(add(list(10..20)), Ok(list(0..20)));
        assert_eq!(add(list(10..21)), Err(InvalidProperty::ManyTags));
    }

    #[test]
    fn white_space_around_tags_and_repetitions_are_dropped() {
        let tags = Tags::parse_list(" spring sale ,print,, print").unwrap();
        assert_eq!(tags.as_slice(), ["spring sale", "print"]);
    }

    proptest! {
        #[test]
        fn a_title_is_kept_as_given_or_refused(raw in "\\PC{0,210}|.{0,20}") {
            if let Ok(title) = Title::parse(&raw) {
                prop_assert_eq!(title.as_ref().map_or("", Title::as_str), raw);
            }
        }

        #[test]
        fn tags_that_are_added_and_removed_again_leave_the_others_in_their_order(
            tags in "[a-h,]{0,12}", more in "[a-h,]{0,12}",
        ) {
            let (tags, more) = (Tags::parse_list(&tags).unwrap(), Tags::parse_list(&more).unwrap());
            let added = TagEdit::Add(more.clone()).apply(&tags).unwrap();
            prop_assert_eq!(&added.0[..tags.0.len()], &tags.0[..]);
            prop_assert!(more.0.iter().all(|tag| added.0.contains(tag)));
            prop_assert_eq!(TagEdit::Add(more.clone()).apply(&added), Ok(added.clone()));
            let removed = TagEdit::Remove(more.clone()).apply(&added).unwrap();
            let left: Vec<_> = tags.0.iter().filter(|tag| !more.0.contains(tag)).cloned().collect();
            prop_assert_eq!(removed.0, left);
        }

        #[test]
        fn accepted_tags_are_read_from_their_own_text(raw in ".{0,80}") {
            if let Ok(tags) = Tags::parse_list(&raw) {
                prop_assert_eq!(Tags::parse_list(&tags.to_string()), Ok(tags));
            }
        }
    }
}
