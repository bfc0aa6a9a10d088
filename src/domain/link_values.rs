//! The values of a link's properties.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Why a property is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProperty {
    /// A title of over 200 characters.
    #[error("title: must be at most 200 characters long")]
    LongTitle,
    /// A control character in a title.
    #[error("title: must not contain control characters")]
    ControlInTitle,
    /// A note of over 2,000 characters.
    #[error("note: must be at most 2000 characters long")]
    LongNote,
    /// A control character in a note.
    #[error("note: must not contain control characters other than line breaks")]
    ControlInNote,
    /// More than 20 tags.
    #[error("tags: must be at most 20")]
    ManyTags,
    /// A tag of over 50 characters.
    #[error("tags: must be at most 50 characters long each")]
    LongTag,
    /// A control character in a tag.
    #[error("tags: must not contain control characters")]
    ControlInTag,
    /// A comma in a tag of an array.
    #[error("tags: must not contain commas")]
    CommaInTag,
    /// No name for a tag that is given one.
    #[error("tag: must not be empty")]
    EmptyTag,
    /// A password of another length.
    #[error("password: must be 4 to 128 characters long")]
    PasswordLength,
    /// A hash in a form that is not known, or with figures past their bounds.
    #[error(
        "password_hash: must be a hash of Argon2id (a PHC string with m up to 65536 and t up to 10, m times t up to 262144, and p up to 8) or of bcrypt with a cost of up to 12"
    )]
    PasswordHash,
    /// A start that is not before the end.
    #[error("starts_at: must be before expires_at")]
    StartsAfterEnd,
    /// The rule at this place asks for a country, and the service knows no countries.
    #[error(
        "rules[{0}].when.country: needs a file of countries, which this service does not have (GEOIP_DATABASE)"
    )]
    CountriesUnknown(usize),
    /// The link's own code among its aliases.
    #[error("aliases: must not have the link's own code")]
    OwnCodeAsAlias,
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

/// The private note of a link's owner: 1 to 2,000 characters in any number of lines, without other control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateNote(Box<str>);

impl PrivateNote {
    const MAX_CHARS: usize = 2_000;

    /// An empty note means no note. Forms and some systems end lines with `\r\n` or `\r`: here they end with `\n`.
    ///
    /// # Errors
    /// [`InvalidProperty`] says which rule it breaks.
    pub fn parse(raw: &str) -> Result<Option<Self>, InvalidProperty> {
        let note = raw.replace("\r\n", "\n").replace('\r', "\n");
        if note.chars().any(|char| char.is_control() && char != '\n') {
            return Err(InvalidProperty::ControlInNote);
        }
        if note.chars().count() > Self::MAX_CHARS {
            return Err(InvalidProperty::LongNote);
        }
        Ok(Self::from_stored(&note))
    }

    /// A note from the database; an empty note means no note.
    #[must_use]
    pub fn from_stored(raw: &str) -> Option<Self> {
        (!raw.is_empty()).then(|| Self(raw.into()))
    }

    /// The note as it was given, but for the ends of its lines.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Up to 20 different tags of up to 50 characters, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub(super) Vec<String>);

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

    /// The same for tags that are separated by commas.
    ///
    /// # Errors
    /// As [`Tags::parse`].
    pub fn parse_list(raw: &str) -> Result<Self, InvalidProperty> {
        Self::parse(raw.split(','))
    }

    /// The tags with another name in the place of this one, or without it. Of two tags that are the same then, the first stays.
    #[must_use]
    pub fn renamed(&self, old: &str, new: Option<&str>) -> Self {
        let named = |tag: &String| {
            let is_old = tag == old;
            if is_old {
                new.map(str::to_owned)
            } else {
                Some(tag.clone())
            }
        };
        let mut tags = Vec::with_capacity(self.0.len());
        for tag in self.0.iter().filter_map(named) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        Self(tags)
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

impl Display for Tags {
    /// Separated by commas.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(","))
    }
}

/// Redirects after which a link ends.
pub type MaxClicks = WholeNumber<1>;
/// Clicks that another service counted for a link.
pub type StartingClicks = WholeNumber<0>;

/// A whole number from `LEAST` to 2^53 - 1: up to there every JSON parser keeps whole numbers exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WholeNumber<const LEAST: u64>(u64);

/// A number that is out of range; its text is for the client, after the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {least} to {}", MaxClicks::LAST)]
pub struct InvalidNumber {
    least: u64,
}

impl<const LEAST: u64> WholeNumber<LEAST> {
    /// The largest.
    pub const LAST: u64 = (1 << 53) - 1;

    /// # Errors
    /// [`InvalidNumber`] for a number that is out of range.
    pub fn parse(number: u64) -> Result<Self, InvalidNumber> {
        let is_valid = (LEAST..=Self::LAST).contains(&number);
        is_valid
            .then_some(Self(number))
            .ok_or(InvalidNumber { least: LEAST })
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl Default for StartingClicks {
    fn default() -> Self {
        Self(0)
    }
}

impl<const LEAST: u64> FromStr for WholeNumber<LEAST> {
    type Err = InvalidNumber;

    fn from_str(raw: &str) -> Result<Self, InvalidNumber> {
        Self::parse(raw.parse().unwrap_or(u64::MAX))
    }
}

impl<const LEAST: u64> Display for WholeNumber<LEAST> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<'de, const LEAST: u64> Deserialize<'de> for WholeNumber<LEAST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<const LEAST: u64>;

        impl<const LEAST: u64> Visitor<'_> for Number<LEAST> {
            type Value = WholeNumber<LEAST>;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                let last = Self::Value::LAST;
                write!(formatter, "a whole number from {LEAST} to {last}")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                let value = Self::Value::parse(number);
                value.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
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
        let long = "\u{1f600}".repeat(2_001);
        assert_eq!(PrivateNote::parse(&long), Err(InvalidProperty::LongNote));
        assert!(PrivateNote::parse(&long[4..]).is_ok());
        for control in ["a\tb", "a\0", "\u{1b}", "\u{85}"] {
            let refused = PrivateNote::parse(control);
            assert_eq!(refused, Err(InvalidProperty::ControlInNote));
        }
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
        assert!(MaxClicks::parse(0).is_err() && StartingClicks::parse(0).is_ok());
        assert!(MaxClicks::parse(1 << 53).is_err());
        assert!(MaxClicks::parse((1 << 53) - 1).is_ok());
    }

    #[test]
    fn white_space_around_tags_and_repetitions_are_dropped() {
        let tags = Tags::parse_list(" spring sale ,print,, print").unwrap();
        assert_eq!(tags.as_slice(), ["spring sale", "print"]);
    }

    #[test]
    fn a_renamed_tag_keeps_its_place_and_stays_once() {
        let tags = |list: &str| Tags::parse_list(list).unwrap();
        for (before, new, after) in [
            ("a,b,c", Some("x"), "a,x,c"),
            ("a,b,c", Some("c"), "a,c"),
            ("c,a,b", Some("c"), "c,a"),
            ("a,b", Some("B"), "a,B"),
            ("a,b", Some("b"), "a,b"),
            ("a,b,c", None, "a,c"),
            ("a,c", Some("x"), "a,c"),
        ] {
            assert_eq!(tags(before).renamed("b", new), tags(after), "{before}");
        }
    }

    proptest! {
        #[test]
        fn a_title_is_kept_as_given_or_refused(raw in "\\PC{0,210}|.{0,20}") {
            if let Ok(title) = Title::parse(&raw) {
                prop_assert_eq!(title.as_ref().map_or("", Title::as_str), raw);
            }
        }

        #[test]
        fn a_note_is_kept_as_given_but_for_the_ends_of_its_lines_or_refused(raw in "[a\r\n]{0,9}|\\PC{0,210}|.{0,20}") {
            if let Ok(note) = PrivateNote::parse(&raw) {
                let note = note.as_ref().map_or("", PrivateNote::as_str);
                let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
                prop_assert_eq!(note, lines(&raw));
                let again = PrivateNote::parse(note).unwrap();
                prop_assert_eq!(again.as_ref().map_or("", PrivateNote::as_str), note);
            }
        }

        #[test]
        fn accepted_tags_are_read_from_their_own_text(raw in ".{0,80}") {
            if let Ok(tags) = Tags::parse_list(&raw) {
                prop_assert_eq!(Tags::parse_list(&tags.to_string()), Ok(tags));
            }
        }
    }
}
