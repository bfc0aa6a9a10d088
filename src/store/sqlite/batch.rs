//! The clicks of a batch as the journal keeps them: a JSON object, which SQL can read, too.

use std::fmt::{self, Write};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::domain::{LinkId, UserId};
use crate::store::rows::signed;
use crate::store::{LinkClicks, StoreError};

/// `{"id":clicks,…}`
pub(super) fn to_json(clicks: impl ExactSizeIterator<Item = (LinkId, u64)>) -> String {
    let mut json = String::with_capacity(2 + clicks.len() * 12);
    json.push('{');
    for (index, (link, count)) in clicks.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(json, "{comma}\"{}\":{}", link.number(), signed(count));
    }
    json.push('}');
    json
}

pub(super) fn from_json(json: &str) -> Result<Vec<(LinkId, u64)>, StoreError> {
    let clicks: Clicks =
        serde_json::from_str(json).map_err(|error| StoreError::Unexpected(error.to_string()))?;
    Ok(clicks.0)
}

/// The owners of the links of a batch, in their order.
pub(super) fn owners_to_json(clicks: &[LinkClicks]) -> String {
    let owners: Vec<_> = clicks.iter().map(|of_link| of_link.owner.0).collect();
    serde_json::json!(owners).to_string()
}

/// The clicks of a batch with the owners of its links.
pub(super) fn with_owners(
    clicks: Vec<(LinkId, u64)>,
    owners: &str,
) -> Result<Vec<LinkClicks>, StoreError> {
    let owners: Vec<i64> =
        serde_json::from_str(owners).map_err(|error| StoreError::Unexpected(error.to_string()))?;
    if owners.len() != clicks.len() {
        let why = "a parked batch has another number of owners than of links";
        return Err(StoreError::Unexpected(why.into()));
    }
    let of_links = clicks.into_iter().zip(owners);
    let of_links = of_links.map(|((link, clicks), owner)| LinkClicks {
        link,
        owner: UserId(owner),
        clicks,
    });
    Ok(of_links.collect())
}

/// Pairs in the order in which they are written: a map of each batch would be built for nothing.
struct Clicks(Vec<(LinkId, u64)>);

impl<'de> Deserialize<'de> for Clicks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Clicks;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of numbers by link ids")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Clicks, A::Error> {
        let mut clicks = Vec::new();
        while let Some((number, count)) = map.next_entry()? {
            let link = LinkId::parse(number)
                .ok_or_else(|| A::Error::custom(format_args!("{number} is no link's number")))?;
            clicks.push((link, count));
        }
        Ok(Clicks(clicks))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_batch_is_read_as_it_was_written(clicks in vec((0..=LinkId::LAST.number(), any::<u32>()), 0..20)) {
            let clicks: Vec<_> =
                clicks.into_iter().map(|(link, count)| (LinkId::parse(link).unwrap(), count.into())).collect();
            prop_assert_eq!(from_json(&to_json(clicks.iter().copied())).unwrap(), clicks);
        }

        #[test]
        fn whatever_is_in_the_file_is_read_or_refused(json: String) {
            let _ = from_json(&json);
        }
    }
}
