//! A cached link as text in Redis, readable with `redis-cli`.

use super::link::{CachedLink, LinkEnd, UsedUp};
use crate::domain::{LinkId, Location, RedirectOptions, RemovalStatus, Shard, Timestamp, UserId};

/// `generation id owner flags end location`. The generation is included because a Redis that was away, or was rolled back, may
/// bring back links that were removed since. The flags are `a` (active), `i` (inactive), `g` (removed, 410) or `b` (removed, 451),
/// then the letters of [`RedirectOptions`]; the end is in microseconds, or `-`.
pub(super) fn encode(link: &CachedLink, generation: &str) -> String {
    let (id, owner) = (link.id.number(), link.owner.0);
    let state = match link.removed {
        Some(RemovalStatus::Gone) => "g",
        Some(RemovalStatus::LegalReasons) => "b",
        None if link.is_active => "a",
        None => "i",
    };
    let options = link.options;
    let location = link.location.as_str();
    match link.end.moment().map(Timestamp::micros) {
        Some(end) => format!("{generation} {id} {owner} {state}{options} {end} {location}"),
        None => format!("{generation} {id} {owner} {state}{options} - {location}"),
    }
}

/// `None` for any text that [`encode`] does not write for this generation.
pub(super) fn decode(stored: &str, generation: &str, shard: Shard) -> Option<CachedLink> {
    let mut fields = stored
        .strip_prefix(generation)?
        .strip_prefix(' ')?
        .splitn(5, ' ');
    let id = LinkId::parse(fields.next()?.parse().ok()?)?;
    let owner = UserId(fields.next()?.parse().ok()?);
    let flags = fields.next()?;
    let (state, flags) = flags.split_at_checked(1)?;
    let (is_active, removed) = match state {
        "a" => (true, None),
        "i" => (false, None),
        "g" => (false, Some(RemovalStatus::Gone)),
        "b" => (false, Some(RemovalStatus::LegalReasons)),
        _ => return None,
    };
    let options = RedirectOptions::from_letters(flags)?;
    let expires_at = match fields.next()? {
        "-" => None,
        end => Some(Timestamp::from_micros(end.parse().ok()?)?),
    };
    let location = Location::parse(fields.next()?)?;
    Some(CachedLink {
        id,
        owner,
        shard,
        location,
        end: LinkEnd::at(expires_at),
        is_active,
        removed,
        options,
        used_up: UsedUp::default(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::TargetUrl;

    proptest! {
        #[test]
        fn a_stored_link_is_read_as_it_was_written(
            id in 0..=LinkId::LAST.number(),
            owner in 1..i64::MAX,
            is_active in any::<bool>(),
            options in "l?q?n?",
            removed in option::of(prop_oneof![Just(RemovalStatus::Gone), Just(RemovalStatus::LegalReasons)]),
            end in option::of(0..4_000_000_000_000_000_i64),
            path in "[!-~]{0,50}",
        ) {
            let location = TargetUrl::from_stored(&format!("https://example.com/{path}")).location();
            let link = CachedLink {
                id: LinkId::parse(id).unwrap(),
                owner: UserId(owner),
                shard: Shard::ONLY,
                location,
                is_active: is_active && removed.is_none(),
                removed,
                end: LinkEnd::at(end.and_then(Timestamp::from_micros)),
                options: RedirectOptions::from_letters(&options).unwrap(),
                used_up: UsedUp::default(),
            };
            prop_assert_eq!(decode(&encode(&link, "first"), "second", Shard::ONLY), None);
            prop_assert_eq!(decode(&encode(&link, "first"), "first", Shard::ONLY), Some(link));
        }

        #[test]
        fn a_removed_link_is_stored_with_its_status(id in 0..=LinkId::LAST.number()) {
            let stored = format!("first {id} 7 g - https://example.com/");
            let link = decode(&stored, "first", Shard::ONLY).unwrap();
            prop_assert_eq!(link.removed, Some(RemovalStatus::Gone));
            prop_assert_eq!(encode(&link, "first"), stored);
        }

        #[test]
        fn any_other_text_is_a_miss(
            stored in prop_oneof![any::<String>(), "(first|firsts)? [0-9+-]{1,20} [0-9+-]{1,20} [aigb1][lqn]{0,3} (-|[0-9-]{1,20}) ?(https?|ftp)://[ -~ä]{0,20}"],
        ) {
            if let Some(link) = decode(&stored, "first", Shard::ONLY) {
                prop_assert_eq!(link.click().link(), link.id);
                prop_assert_eq!(decode(&encode(&link, "first"), "first", Shard::ONLY), Some(link));
            }
        }
    }
}
