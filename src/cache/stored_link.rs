//! A cached link as text in Redis, readable with `redis-cli`.

use std::sync::Arc;

use super::link::{CachedLink, LinkEnd, RareParts, UsedUp};
use super::rules::CachedRules;
use crate::domain::{
    Alias, LinkId, Location, PasswordMark, PoolId, RedirectOptions, RemovalStatus, Shard,
    ShortCode, Timestamp, UserId,
};

/// `generation id owner flags end location`, and of a link with a start, a fallback, a pool, a password or rules, or one that is cached by an
/// alias, `start fallback pool mark alias code`, too, and the JSON of its rules. The generation is included
/// because a Redis that was away, or was rolled back, may bring back links that were removed since. The flags are `a` (active), `i` (inactive), `g` (removed, 410) or `b` (removed, 451),
/// then the letters of [`RedirectOptions`]; the end is in microseconds, or `-`, and so is the start; a missing fallback, pool or mark is `-`.
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
    let mut stored = match link.end.moment().map(Timestamp::micros) {
        Some(end) => format!("{generation} {id} {owner} {state}{options} {end} {location}"),
        None => format!("{generation} {id} {owner} {state}{options} - {location}"),
    };
    if let Some(rare) = &link.rare {
        let start = rare.start.map(|start| start.micros().to_string());
        let start = start.as_deref().unwrap_or("-");
        let fallback = rare.fallback.as_ref();
        let fallback = fallback.map_or("-", |fallback| fallback.as_str());
        let pool = rare.pool.map(|pool| pool.number().to_string());
        let pool = pool.as_deref().unwrap_or("-");
        let mark = rare.password.map(|mark| mark.number().to_string());
        let mark = mark.as_deref().unwrap_or("-");
        let alias = rare.alias.as_ref();
        let id = alias.map(|alias| alias.id.number().to_string());
        let id = id.as_deref().unwrap_or("-");
        let own = alias.map_or("-", |alias| alias.link.as_key());
        let parts = [start, fallback, pool, mark, id, own];
        stored.extend(parts.into_iter().flat_map(|part| [" ", part]));
        if let Some(rules) = &rare.rules {
            stored.extend([" ", rules.as_json()]);
        }
    }
    stored
}

/// The field is invalid.
struct Invalid;

/// The moment in a field, if it has one.
fn moment(field: &str) -> Result<Option<Timestamp>, Invalid> {
    if field == "-" {
        return Ok(None);
    }
    let micros = field.parse().map_err(|_| Invalid)?;
    let moment = Timestamp::from_micros(micros).ok_or(Invalid)?;
    Ok(Some(moment))
}

/// `start fallback pool mark alias code`, of a link that has one of them, and the JSON of its rules.
fn rare_parts<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<Box<RareParts>> {
    let start = moment(fields.next()?).ok()?;
    let fallback = match fields.next()? {
        "-" => None,
        fallback => Some(Location::parse(fallback)?),
    };
    let pool = match fields.next()? {
        "-" => None,
        pool => Some(PoolId::parse(pool.parse().ok()?)?),
    };
    let password = match fields.next()? {
        "-" => None,
        mark => Some(PasswordMark::from_number(mark.parse().ok()?)),
    };
    let (alias, own) = (fields.next()?, fields.next()?);
    let alias = match alias {
        "-" => None,
        id => Some(Alias {
            id: LinkId::parse(id.parse().ok()?)?,
            link: ShortCode::from_key(own)?,
        }),
    };
    let rules = match fields.next() {
        None => None,
        Some(json) => Some(CachedRules::parse(json)?),
    };
    let parts = RareParts {
        start,
        fallback: fallback.map(Arc::new),
        pool,
        pool_empty: UsedUp::default(),
        password,
        alias,
        rules,
    };
    parts.boxed()
}

/// `None` for any text that [`encode`] does not write for this generation. The data set is that of the code by which the link is cached.
pub(super) fn decode(stored: &str, generation: &str, shard: Shard) -> Option<CachedLink> {
    let mut fields = stored
        .strip_prefix(generation)?
        .strip_prefix(' ')?
        .splitn(12, ' ');
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
    let expires_at = moment(fields.next()?).ok()?;
    let location = Location::parse(fields.next()?)?;
    let mut fields = fields.peekable();
    let rare = match fields.peek() {
        Some(_) => Some(rare_parts(fields)?),
        None => None,
    };
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
        rare,
    })
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;
    use serde_json::json;

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
            start in option::of(0..4_000_000_000_000_000_i64),
            fallback in option::of("[!-~]{0,50}"),
            pool in option::of(0..i64::MAX),
            mark in option::of(any::<u64>()),
            name in option::of("[a-z][a-z 0-9]{0,9}[a-z]"),
            alias in option::of((0..=LinkId::LAST.number(), "[a-zA-Z0-9_-]{1,64}")),
        ) {
            let location = |path: String| TargetUrl::from_stored(&format!("https://example.com/{path}")).location();
            let rules = name.map(|name| json!([{"name": name, "target_url": "https://example.net/a b"}]));
            let rules = rules.and_then(|rules| CachedRules::parse(&rules.to_string()));
            let link = CachedLink {
                id: LinkId::parse(id).unwrap(),
                owner: UserId(owner),
                shard: Shard::ONLY,
                location: location(path),
                is_active: is_active && removed.is_none(),
                removed,
                end: LinkEnd::at(end.and_then(Timestamp::from_micros)),
                options: RedirectOptions::from_letters(&options).unwrap(),
                used_up: UsedUp::default(),
                rare: RareParts {
                    start: start.and_then(Timestamp::from_micros),
                    fallback: fallback.map(location).map(Arc::new),
                    pool: pool.and_then(PoolId::parse),
                    pool_empty: UsedUp::default(),
                    password: mark.map(PasswordMark::from_number),
                    alias: alias.map(|(id, link)| Alias {
                        id: LinkId::parse(id).unwrap(),
                        link: ShortCode::parse(&link).unwrap(),
                    }),
                    rules,
                }
                .boxed(),
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
            stored in prop_oneof![any::<String>(), "(first|firsts)? [0-9+-]{1,20} [0-9+-]{1,20} [aigb1][lqn]{0,3} (-|[0-9-]{1,20}) ?(https?|ftp)://[ -~ä]{0,20}( (-|[0-9]{1,3}) (-|https://[a-c]{0,3}) (-|[0-9]{1,3}) (-|[0-9]{1,3}) (-|[0-9]{1,20}) (-|[a-c/]{0,3}))?"],
        ) {
            if let Some(link) = decode(&stored, "first", Shard::ONLY) {
                prop_assert_eq!(link.click().link(), link.id);
                prop_assert_eq!(decode(&encode(&link, "first"), "first", Shard::ONLY), Some(link));
            }
        }
    }
}
