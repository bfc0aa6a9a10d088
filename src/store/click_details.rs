//! The classes of clicks, and the packed form in which they travel with their batch.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::{ClickClass, Dimension, LinkId};

/// The first byte of the packed form. A reader that does not know it takes the classes for unknown.
const FORM: u8 = 1;

/// Clicks per link and class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClickDetails {
    /// By rising link; a link and class may come several times.
    of_links: Vec<DetailedClicks>,
}

/// Clicks of one link and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailedClicks {
    /// The link.
    pub link: LinkId,
    /// Their class.
    pub class: Arc<ClickClass>,
    /// How many there are, never 0.
    pub clicks: u64,
}

impl ClickDetails {
    /// Sorts them by link.
    #[must_use]
    pub fn new(mut of_links: Vec<DetailedClicks>) -> Self {
        of_links.retain(|part| part.clicks > 0);
        of_links.sort_by_key(|part| part.link);
        Self { of_links }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of_links.is_empty()
    }

    /// By rising link.
    #[must_use]
    pub fn of_links(&self) -> &[DetailedClicks] {
        &self.of_links
    }

    /// Takes out those of the links after this one.
    #[must_use]
    pub fn split_after(&mut self, last: LinkId) -> Self {
        let rest = self.of_links.partition_point(|part| part.link <= last);
        Self {
            of_links: self.of_links.split_off(rest),
        }
    }

    /// Those of exactly these clicks, which are by rising link: what is above the clicks of a link is left out, and what is
    /// missing has the class of which nothing is known.
    #[must_use]
    pub fn fitted_to(&self, clicks: &[(LinkId, u64)]) -> Self {
        let unknown = Arc::new(ClickClass::unknown());
        let mut of_links = Vec::with_capacity(self.of_links.len());
        let mut rest = self.of_links.as_slice();
        for (link, clicks) in clicks {
            rest = &rest[rest.partition_point(|part| part.link < *link)..];
            let (of_link, others) = rest.split_at(rest.partition_point(|part| part.link == *link));
            rest = others;
            let mut left = *clicks;
            for part in of_link {
                let clicks = part.clicks.min(left);
                left -= clicks;
                if clicks > 0 {
                    of_links.push(DetailedClicks {
                        clicks,
                        ..part.clone()
                    });
                }
            }
            if left > 0 {
                of_links.push(DetailedClicks {
                    link: *link,
                    class: Arc::clone(&unknown),
                    clicks: left,
                });
            }
        }
        Self { of_links }
    }

    /// Sums what has the same link and class.
    #[must_use]
    pub fn summed(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut sums = HashMap::<(LinkId, Arc<ClickClass>), u64>::new();
        for part in parts.into_iter().flat_map(|details| details.of_links) {
            let sum = sums.entry((part.link, part.class)).or_default();
            *sum = sum.saturating_add(part.clicks);
        }
        let part = |((link, class), clicks)| DetailedClicks {
            link,
            class,
            clicks,
        };
        Self::new(sums.into_iter().map(part).collect())
    }

    /// The packed form: the distinct classes, then the links, each with the number of its class and its clicks. Numbers are
    /// in LEB128. Empty where there are no clicks.
    #[must_use]
    pub fn packed(&self) -> Vec<u8> {
        let mut packed = Vec::new();
        if self.is_empty() {
            return packed;
        }
        let mut numbers = HashMap::<&ClickClass, u64>::new();
        let mut classes = Vec::new();
        for part in &self.of_links {
            numbers.entry(&part.class).or_insert_with(|| {
                classes.push(&part.class);
                classes.len() as u64 - 1
            });
        }
        packed.push(FORM);
        put_number(&mut packed, classes.len() as u64);
        for class in classes {
            for dimension in Dimension::ALL {
                let value = class.value(dimension).unwrap_or_default();
                put_number(&mut packed, value.len() as u64);
                packed.extend_from_slice(value.as_bytes());
            }
        }
        let mut before = 0;
        for part in &self.of_links {
            let link = part.link.number().unsigned_abs();
            put_number(&mut packed, link - before);
            put_number(&mut packed, numbers[&*part.class]);
            put_number(&mut packed, part.clicks);
            before = link;
        }
        packed
    }

    /// Reads the packed form; `None` for bytes that are none.
    #[must_use]
    pub fn parse(packed: &[u8]) -> Option<Self> {
        let Some((form, mut rest)) = packed.split_first() else {
            return Some(Self::default());
        };
        if *form != FORM {
            return None;
        }
        let rest = &mut rest;
        let count = take_number(rest)?;
        let mut classes = Vec::new();
        for _ in 0..count {
            let mut class = ClickClass::unknown();
            for dimension in Dimension::ALL {
                let length = usize::try_from(take_number(rest)?).ok()?;
                let (value, after) = rest.split_at_checked(length)?;
                *rest = after;
                class = class.with(dimension, Some(str::from_utf8(value).ok()?));
            }
            classes.push(Arc::new(class));
        }
        let (mut of_links, mut before) = (Vec::new(), 0_i64);
        while !rest.is_empty() {
            let step = i64::try_from(take_number(rest)?).ok()?;
            let link = LinkId::parse(before.checked_add(step)?)?;
            before = link.number();
            let class = usize::try_from(take_number(rest)?).ok()?;
            let clicks = take_number(rest)?;
            if clicks == 0 || i64::try_from(clicks).is_err() {
                return None;
            }
            let class = Arc::clone(classes.get(class)?);
            of_links.push(DetailedClicks {
                link,
                class,
                clicks,
            });
        }
        Some(Self { of_links })
    }
}

fn put_number(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    packed.push((number & 0x7f) as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return (number >> shift == bits).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn class(browser: &str, is_bot: bool) -> Arc<ClickClass> {
        let class = ClickClass::unknown().with(Dimension::Browser, Some(browser));
        Arc::new(class.with(Dimension::Bot, Some(if is_bot { "true" } else { "false" })))
    }

    fn details() -> impl Strategy<Value = ClickDetails> {
        let part = (
            0..=LinkId::LAST.number(),
            "[a-c]{0,2}",
            any::<bool>(),
            1..u64::from(u32::MAX),
        );
        vec(part, 0..20).prop_map(|parts| {
            let part = |(link, browser, is_bot, clicks): (i64, String, bool, u64)| DetailedClicks {
                link: LinkId::parse(link).unwrap(),
                class: class(&browser, is_bot),
                clicks,
            };
            ClickDetails::new(parts.into_iter().map(part).collect())
        })
    }

    proptest! {
        #[test]
        fn details_are_read_as_they_were_packed(details in details()) {
            prop_assert_eq!(ClickDetails::parse(&details.packed()).unwrap(), details);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = ClickDetails::parse(&bytes);
            let _ = ClickDetails::parse(&[&[FORM], &*bytes].concat());
        }

        #[test]
        fn fitted_details_are_as_many_as_the_clicks(details in details(), clicks in vec((0_i64..50, 1_u64..50), 0..20)) {
            let mut clicks: Vec<_> =
                clicks.into_iter().map(|(link, clicks)| (LinkId::parse(link).unwrap(), clicks)).collect();
            clicks.sort_unstable();
            clicks.dedup_by_key(|(link, _)| *link);
            let fitted = details.fitted_to(&clicks);
            for (link, clicks) in &clicks {
                let of_link = fitted.of_links().iter().filter(|part| part.link == *link);
                prop_assert_eq!(of_link.map(|part| part.clicks).sum::<u64>(), *clicks);
            }
            let total: u64 = fitted.of_links().iter().map(|part| part.clicks).sum();
            prop_assert_eq!(total, clicks.iter().map(|(_, clicks)| clicks).sum::<u64>());
        }
    }
}
