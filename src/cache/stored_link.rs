//! A cached link as text in Redis, readable with `redis-cli`.

use super::link::CachedLink;
use crate::domain::{LinkId, Location, Shard};

/// `generation id active location`. The generation is included because a Redis that was away, or was rolled back, may bring
/// back links that were removed since.
pub(super) fn encode(link: &CachedLink, generation: &str) -> String {
    let active = u8::from(link.is_active);
    format!(
        "{generation} {} {active} {}",
        link.id.number(),
        link.location.as_str()
    )
}

/// `None` for any text that [`encode`] does not make for this generation.
pub(super) fn decode(stored: &str, generation: &str, shard: Shard) -> Option<CachedLink> {
    let mut fields = stored
        .strip_prefix(generation)?
        .strip_prefix(' ')?
        .splitn(3, ' ');
    let id = LinkId::parse(fields.next()?.parse().ok()?)?;
    let is_active = match fields.next()? {
        "1" => true,
        "0" => false,
        _ => return None,
    };
    let location = Location::parse(fields.next()?)?;
    Some(CachedLink {
        id,
        shard,
        location,
        is_active,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stored_link_is_read_as_it_was_written(id in 0..=LinkId::LAST.number(), is_active: bool, path in "[!-~]{0,50}") {
            let location = Location::parse(&format!("https://example.com/{path}")).unwrap();
            let link = CachedLink { id: LinkId::parse(id).unwrap(), shard: Shard::ONLY, location, is_active };
            prop_assert_eq!(decode(&encode(&link, "first"), "second", Shard::ONLY), None);
            prop_assert_eq!(decode(&encode(&link, "first"), "first", Shard::ONLY), Some(link));
        }

        #[test]
        fn any_other_text_is_a_miss(
            stored in prop_oneof![any::<String>(), "(first|firsts)? [0-9+-]{1,20} [0-2] ?(https?|ftp)://[ -~ä]{0,20}"],
        ) {
            if let Some(link) = decode(&stored, "first", Shard::ONLY) {
                prop_assert_eq!(link.click().link(), link.id);
                prop_assert_eq!(decode(&encode(&link, "first"), "first", Shard::ONLY), Some(link));
            }
        }
    }
}
