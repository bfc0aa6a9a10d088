//! The class of a click: what is kept about its visitor.

use std::fmt;

use super::leb128::{put_number, take_number};

/// One of the properties of a click.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dimension {
    /// The registrable host of the page that has the link; [`Dimension::OTHER`] past what a link has room for.
    Referrer,
    /// Two letters of ISO 3166-1, in capitals.
    Country,
    /// The family of the browser, as `Firefox`.
    Browser,
    /// The family of the operating system, as `Android`.
    Os,
    /// `desktop`, `phone`, `tablet`, `tv` or `console`.
    Device,
    /// The rule of the link that decided, by its name or number, and of a split its target: `2`, `spring/1`.
    Rule,
    /// The alias that was followed; not known of the link's own code.
    Code,
    /// Whether it is a known bot: `true` or `false`.
    Bot,
}

impl Dimension {
    /// All of them, in the order in which a class has them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Referrer,
        Self::Country,
        Self::Browser,
        Self::Os,
        Self::Device,
        Self::Rule,
        Self::Code,
        Self::Bot,
    ];

    /// How many there are.
    pub const COUNT: usize = 8;

    /// All but [`Dimension::Code`], whose clicks are counted by themselves, in the same order.
    pub const OF_VISITORS: [Self; Self::COUNT - 1] = [
        Self::Referrer,
        Self::Country,
        Self::Browser,
        Self::Os,
        Self::Device,
        Self::Rule,
        Self::Bot,
    ];

    /// The value of referrers for which a link has no more room.
    pub const OTHER: &str = "other";

    /// The referrer of clicks that another service counted before the link was imported.
    pub const IMPORTED: &str = "imported";

    /// Its word in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Referrer => "referrer",
            Self::Country => "country",
            Self::Browser => "browser",
            Self::Os => "os",
            Self::Device => "device",
            Self::Rule => "rule",
            Self::Code => "code",
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

/// Only clicks with this value; `None` selects clicks whose value is unknown.
pub type Filter = (Dimension, Option<String>);

/// What is known of a click; most classes have many clicks.
///
/// It is kept as it travels with batches: the values in the order of [`Dimension::ALL`], each after the number of its bytes,
/// which is 0 if the value is unknown. So a batch copies a class without looking at its values. The order of classes is that of these bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClickClass {
    packed: Box<[u8]>,
}

impl ClickClass {
    /// Bytes of the longest value, as long as a host can be.
    pub const MAX_VALUE: usize = 253;

    /// The class of a click of which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            packed: Box::new([0; Dimension::ALL.len()]),
        }
    }

    /// The class with these values, in the order of [`Dimension::ALL`]. One that is empty, too long, or has control characters is
    /// not known.
    #[must_use]
    pub fn of(values: [Option<&str>; Dimension::COUNT]) -> Self {
        let values = values.map(|value| value.filter(|value| is_value(value)).unwrap_or_default());
        let mut packed = Vec::with_capacity(values.map(packed_len).iter().sum());
        for value in values {
            put_value(&mut packed, value);
        }
        Self {
            packed: packed.into(),
        }
    }

    /// The same with one more value.
    #[must_use]
    pub fn with(&self, dimension: Dimension, value: Option<&str>) -> Self {
        let value = value.filter(|value| is_value(value)).unwrap_or_default();
        let mut after = &*self.packed;
        for _ in 0..dimension as usize {
            take_value(&mut after);
        }
        let (before, _) = self.packed.split_at(self.packed.len() - after.len());
        take_value(&mut after);
        let mut packed = Vec::with_capacity(before.len() + packed_len(value) + after.len());
        packed.extend_from_slice(before);
        put_value(&mut packed, value);
        packed.extend_from_slice(after);
        Self {
            packed: packed.into(),
        }
    }

    /// The class of clicks that another service counted: they do not count as people.
    #[must_use]
    pub fn imported() -> Self {
        Self::unknown()
            .with(Dimension::Referrer, Some(Dimension::IMPORTED))
            .with(Dimension::Bot, Some("true"))
    }

    /// Its value; `None` if it is unknown.
    #[must_use]
    pub fn value(&self, dimension: Dimension) -> Option<&str> {
        let mut rest = &*self.packed;
        for _ in 0..dimension as usize {
            take_value(&mut rest)?;
        }
        let value = str::from_utf8(take_value(&mut rest)?).ok()?;
        (!value.is_empty()).then_some(value)
    }

    /// The packed form.
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Takes the packed form of one class from the front of these bytes; `None` if there is no class.
    #[must_use]
    pub fn take_packed<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = *bytes;
        for _ in Dimension::ALL {
            take_value(&mut rest)?;
        }
        let (packed, _) = bytes.split_at_checked(bytes.len() - rest.len())?;
        *bytes = rest;
        Some(packed)
    }

    /// Reads the packed form of one class; `None` if a value is not text. Values that no class can have are unknown.
    #[must_use]
    pub fn of_packed(packed: &[u8]) -> Option<Self> {
        let mut rest = packed;
        let mut values = [None; Dimension::COUNT];
        for value in &mut values {
            *value = Some(str::from_utf8(take_value(&mut rest)?).ok()?);
        }
        Some(Self::of(values))
    }

    fn values(&self) -> [Option<&str>; Dimension::COUNT] {
        Dimension::ALL.map(|dimension| self.value(dimension))
    }

    /// Whether nothing is known of it but whether it was a known bot.
    #[must_use]
    pub fn is_bot_flag_only(&self) -> bool {
        // The values before it are empty.
        self.packed.starts_with(&[0; Dimension::ALL.len() - 1])
    }

    /// The class that keeps only whether this class is a known bot's.
    #[must_use]
    pub fn bot_flag_only(&self) -> Self {
        Self::unknown().with(Dimension::Bot, self.bot())
    }

    /// Whether it is a known bot's.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        self.bot() == Some("true")
    }

    /// The last value. The two usual ones are found without a look at the values before; no value has the byte before them.
    fn bot(&self) -> Option<&str> {
        if self.packed.ends_with(b"\x04true") {
            Some("true")
        } else if self.packed.ends_with(b"\x05false") {
            Some("false")
        } else {
            self.value(Dimension::Bot)
        }
    }
}

impl Default for ClickClass {
    fn default() -> Self {
        Self::unknown()
    }
}

impl fmt::Debug for ClickClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.values()).finish()
    }
}

/// The bytes of a value in the packed form.
fn packed_len(value: &str) -> usize {
    let number = if value.len() < 0x80 { 1 } else { 2 };
    number + value.len()
}

fn put_value(packed: &mut Vec<u8>, value: &str) {
    put_number(packed, value.len() as u64);
    packed.extend_from_slice(value.as_bytes());
}

fn is_value(value: &str) -> bool {
    (1..=ClickClass::MAX_VALUE).contains(&value.len()) && !value.chars().any(char::is_control)
}

fn take_value<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (value, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(value)
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

    #[test]
    fn a_packed_class_is_read_as_it_was_and_ends_where_the_next_one_begins() {
        let long = "a".repeat(ClickClass::MAX_VALUE);
        let classes = [
            ClickClass::unknown(),
            ClickClass::unknown().with(Dimension::Os, Some("Android")),
            ClickClass::unknown().with(Dimension::Referrer, Some(&long)),
        ];
        let packed: Vec<u8> = classes
            .iter()
            .flat_map(ClickClass::packed)
            .copied()
            .collect();
        let mut rest = &*packed;
        for class in &classes {
            let packed = ClickClass::take_packed(&mut rest).unwrap();
            assert_eq!(ClickClass::of_packed(packed).as_ref(), Some(class));
        }
        assert_eq!(ClickClass::take_packed(&mut rest), None);
        assert_eq!(ClickClass::of_packed(&[1, 0xff, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
