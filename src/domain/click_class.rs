//! What is kept of a click beside its link and its quarter of an hour.

use compact_str::CompactString;

/// One of the six properties of a click.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dimension {
    /// The host of the page that has the link, without `www.`; [`Dimension::OTHER`] past what a link has room for.
    Referrer,
    /// Two letters of ISO 3166-1, in capitals.
    Country,
    /// The family of the browser, as `Firefox`.
    Browser,
    /// The family of the operating system, as `Android`.
    Os,
    /// `desktop`, `phone`, `tablet`, `tv` or `console`.
    Device,
    /// Whether it is a known bot: `true` or `false`.
    Bot,
}

impl Dimension {
    /// All of them, in the order in which a class has them.
    pub const ALL: [Self; 6] = [
        Self::Referrer,
        Self::Country,
        Self::Browser,
        Self::Os,
        Self::Device,
        Self::Bot,
    ];

    /// The value of referrers for which a link has no more room.
    pub const OTHER: &str = "other";

    /// Its word in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Referrer => "referrer",
            Self::Country => "country",
            Self::Browser => "browser",
            Self::Os => "os",
            Self::Device => "device",
            Self::Bot => "bot",
        }
    }

    /// The dimension with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let all = Self::ALL.into_iter();
        all.into_iter().find(|dimension| dimension.as_str() == word)
    }
}

/// Only clicks with this value; `None` is for those of which it is not known.
pub type Filter = (Dimension, Option<String>);

/// What is known of a click; most classes have many clicks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClickClass {
    values: [Option<CompactString>; 6],
}

impl ClickClass {
    /// Bytes of the longest value, as long as a host can be.
    pub const MAX_VALUE: usize = 253;

    /// That of a click of which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self::default()
    }

    /// The same with one more value. One that is empty, too long, or has control characters is not known.
    #[must_use]
    pub fn with(mut self, dimension: Dimension, value: Option<&str>) -> Self {
        let is_value = |value: &&str| {
            (1..=Self::MAX_VALUE).contains(&value.len()) && !value.chars().any(char::is_control)
        };
        let value = value.filter(is_value);
        self.values[dimension as usize] = value.map(CompactString::from);
        self
    }

    /// Its value; `None` if it is not known.
    #[must_use]
    pub fn value(&self, dimension: Dimension) -> Option<&str> {
        self.values[dimension as usize].as_deref()
    }

    /// The class of which nothing is known but whether it is that of a known bot, as it is of this one.
    #[must_use]
    pub fn bot_alone(&self) -> Self {
        Self::unknown().with(Dimension::Bot, self.value(Dimension::Bot))
    }

    /// Whether it is that of a known bot.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        self.value(Dimension::Bot) == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_a_value_in_each_dimension() {
        let class = Dimension::ALL
            .into_iter()
            .fold(ClickClass::unknown(), |class, dimension| {
                class.with(dimension, Some(dimension.as_str()))
            });
        for dimension in Dimension::ALL {
            assert_eq!(class.value(dimension), Some(dimension.as_str()));
            assert_eq!(Dimension::parse(dimension.as_str()), Some(dimension));
        }
        assert_eq!(Dimension::parse("colour"), None);
    }

    #[test]
    fn a_value_that_is_too_long_or_no_text_is_not_known() {
        let long = "a".repeat(ClickClass::MAX_VALUE + 1);
        for value in ["", "a\0b", &long] {
            let class = ClickClass::unknown().with(Dimension::Referrer, Some(value));
            assert_eq!(class, ClickClass::unknown());
        }
    }
}
