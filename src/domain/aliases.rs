//! More codes of a link.

use std::fmt::{self, Display, Formatter};

use super::{DomainId, InvalidProperty, ShortCode};

/// Up to 20 more codes of a link, all different, in the order in which they were given. How short one may be depends on who asks for
/// it: `links::LinkService` knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases(Vec<ShortCode>);

/// Why aliases are refused; the text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAliases {
    /// More than 20.
    #[error("aliases: must be at most {}", Aliases::MAX)]
    Many,
    /// Another length, or other characters.
    #[error("aliases: must each be 1 to 64 of the characters A-Z a-z 0-9 - _")]
    Shape,
    /// A word of the service's own addresses.
    #[error("aliases: {0} is a word that this service uses itself; choose another")]
    Reserved(ShortCode),
    /// A code that is in the list twice.
    #[error("aliases: {0} is given twice")]
    Twice(ShortCode),
}

impl Aliases {
    const MAX: usize = 20;

    /// Checks codes that a client gave; `is_reserved` says which words are reserved. White space around a code is dropped, as are
    /// empty texts.
    ///
    /// # Errors
    /// [`InvalidAliases`] says which rule they break.
    pub fn parse<'a>(
        raw: impl IntoIterator<Item = &'a str>,
        is_reserved: impl Fn(&str) -> bool,
    ) -> Result<Self, InvalidAliases> {
        let mut codes = Vec::new();
        for (place, raw) in raw.into_iter().enumerate() {
            // Empty places count, too: a list in JSON has at most so many.
            if place == Self::MAX {
                return Err(InvalidAliases::Many);
            }
            let raw = raw.trim();
            if raw.is_empty() {
                continue;
            }
            let code = ShortCode::parse(raw).ok_or(InvalidAliases::Shape)?;
            if is_reserved(raw) {
                return Err(InvalidAliases::Reserved(code));
            }
            if codes.contains(&code) {
                return Err(InvalidAliases::Twice(code));
            }
            codes.push(code);
        }
        Ok(Self(codes))
    }

    /// Codes from the database.
    #[must_use]
    pub fn from_stored(codes: Vec<ShortCode>) -> Self {
        Self(codes)
    }

    /// The codes.
    #[must_use]
    pub fn as_slice(&self) -> &[ShortCode] {
        &self.0
    }

    /// The codes as texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(ShortCode::as_str)
    }

    /// The codes with their host.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(ShortCode::as_key)
    }

    /// The same codes of a host.
    #[must_use]
    pub fn at(&self, domain: DomainId) -> Self {
        Self(self.0.iter().map(|code| code.at(domain)).collect())
    }

    /// The codes that others lack.
    pub fn without<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = &'a ShortCode> {
        self.0.iter().filter(|code| !others.0.contains(code))
    }

    /// The same, if the link's own code is not among them.
    ///
    /// # Errors
    /// [`InvalidProperty::OwnCodeAsAlias`].
    pub fn beside(&self, own: &ShortCode) -> Result<(), InvalidProperty> {
        if self.0.contains(own) {
            return Err(InvalidProperty::OwnCodeAsAlias);
        }
        Ok(())
    }
}

impl Display for Aliases {
    /// Separated by commas.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for code in &self.0 {
            write!(formatter, "{comma}{code}")?;
            comma = ",";
        }
        Ok(())
    }
}

/// A code whose link changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedCode {
    /// The code.
    pub code: ShortCode,
    /// The own code of its link, if the code is an alias. The instance that counts its clicks has to know of the change, too.
    pub link: Option<ShortCode>,
}

impl From<ShortCode> for ChangedCode {
    fn from(code: ShortCode) -> Self {
        Self { code, link: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(raw: &str) -> Result<Aliases, InvalidAliases> {
        Aliases::parse(raw.split(','), |word| word == "docs")
    }

    #[test]
    fn each_refusal_names_the_field_and_the_code() {
        let refused = |raw: &str| parse(raw).unwrap_err().to_string();
        assert_eq!(refused("a,b,a"), "aliases: a is given twice");
        assert_eq!(
            refused("docs"),
            "aliases: docs is a word that this service uses itself; choose another"
        );
        let shape = "aliases: must each be 1 to 64 of the characters A-Z a-z 0-9 - _";
        assert_eq!(refused("a/b"), shape);
        assert_eq!(refused(&"a".repeat(65)), shape);
        let many: Vec<_> = (0..21).map(|number| number.to_string()).collect();
        assert_eq!(refused(&many.join(",")), "aliases: must be at most 20");
        assert!(parse(&many[1..].join(",")).is_ok());
        assert_eq!(refused(&",".repeat(20)), "aliases: must be at most 20");
        // The case of a code matters.
        assert_eq!(parse("a, A,").unwrap().to_string(), "a,A");
    }

    proptest! {
        #[test]
        fn accepted_codes_are_all_different_and_come_back_as_they_were(raw in "[ab,A_ /-]{0,19}") {
            if let Ok(aliases) = parse(&raw) {
                let codes: Vec<_> = raw.split(',').map(str::trim).filter(|code| !code.is_empty()).collect();
                prop_assert_eq!(aliases.texts().collect::<Vec<_>>(), codes);
                prop_assert_eq!(parse(&aliases.to_string()), Ok(aliases));
            }
        }
    }
}
