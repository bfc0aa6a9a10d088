//! The text of API keys: `shunt_`, `r`, `w` or `c` for what the key may do, the account's number, 192 random bits in
//! hexadecimal digits, and a checksum.
//!
//! So a key names its account as a token does, and no query has to find it. Only its hash is kept: one with another letter
//! or number has another hash. A plain digest is enough, since 2^192 keys are too many to try.

use std::fmt::Write;

use crc::{CRC_32_ISO_HDLC, Crc};
use ring::digest::{SHA256, digest};

use crate::domain::{Principal, Scope, TokenKey, UserId};

/// By which a scanner of code finds a key that was published by mistake.
pub(super) const PREFIX: &str = "shunt_";

const RANDOM_BYTES: usize = 24;
const CHECKSUM_DIGITS: usize = 8;

/// Such a number has at most 19 digits.
const MAX_LENGTH: usize = PREFIX.len() + 1 + 19 + 2 * RANDOM_BYTES + CHECKSUM_DIGITS;

/// Draws a key of an account from the system's secure random source.
///
/// # Errors
/// When the system's random source fails.
pub(super) fn generate(user: UserId, scope: Scope) -> Result<String, getrandom::Error> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)?;
    let letter = match scope {
        Scope::Read => 'r',
        Scope::Write => 'w',
        Scope::Create => 'c',
    };
    let mut key = format!("{PREFIX}{letter}{}", user.0);
    for byte in random {
        // Writing to a string does not fail.
        let _ = write!(key, "{byte:02x}");
    }
    let checksum = checksum(&key);
    let _ = write!(key, "{checksum}");
    Ok(key)
}

/// What a key names and permits, if it is valid; `None` for a text that was mistyped or cut off.
pub(super) fn parse(key: &str) -> Option<(Principal, Scope)> {
    let is_plain = key.len() <= MAX_LENGTH && key.bytes().all(|byte| byte.is_ascii_graphic());
    let at = key
        .len()
        .checked_sub(CHECKSUM_DIGITS)
        .filter(|_| is_plain)?;
    let (body, given) = key.split_at(at);
    if checksum(body) != given {
        return None;
    }
    let head = body.get(..body.len().checked_sub(2 * RANDOM_BYTES)?)?;
    let head = head.strip_prefix(PREFIX)?;
    let (scope, number) = match head.split_at_checked(1)? {
        ("r", number) => (Scope::Read, number),
        ("w", number) => (Scope::Write, number),
        ("c", number) => (Scope::Create, number),
        _ => return None,
    };
    let user = number.parse().ok().filter(|id| *id > 0).map(UserId)?;
    Some((
        Principal {
            user,
            key: hash(key)?,
        },
        scope,
    ))
}

/// The form in which a key is kept: the first half of its SHA-256.
pub(super) fn hash(key: &str) -> Option<TokenKey> {
    TokenKey::from_bytes(&digest(&SHA256, key.as_bytes()).as_ref()[..16])
}

fn checksum(body: &str) -> String {
    let crc = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    format!("{:08x}", crc.checksum(body.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;

    #[test]
    fn a_key_has_a_prefix_and_at_least_160_random_bits() {
        let key = generate(UserId(1), Scope::Read).unwrap();
        assert!(key.starts_with("shunt_r1"), "{key}");
        assert_eq!(key.len(), "shunt_r1".len() + 48 + 8);
        assert_ne!(generate(UserId(1), Scope::Read).unwrap(), key);
        const { assert!(RANDOM_BYTES * 8 >= 160) };
    }

    proptest! {
        #[test]
        fn a_key_is_read_as_it_was_made(id in 1_i64.., scope in select(&[Scope::Read, Scope::Write, Scope::Create])) {
            let key = generate(UserId(id), scope).unwrap();
            let principal = Principal { user: UserId(id), key: hash(&key).unwrap() };
            prop_assert_eq!(parse(&key), Some((principal, scope)));
        }

        #[test]
        fn a_key_that_was_mistyped_or_cut_off_is_none(id in 1_i64.., at: Index, other in "[!-~]") {
            let key = generate(UserId(id), Scope::Write).unwrap();
            let at = at.index(key.len());
            let mut mistyped = key.clone();
            mistyped.replace_range(at..=at, &other);
            prop_assume!(mistyped != key);
            prop_assert_eq!(parse(&mistyped), None);
            prop_assert_eq!(parse(&key[..at]), None);
            prop_assert_eq!(parse(&format!("{key}{other}")), None);
        }

        #[test]
        fn no_other_text_is_a_key(raw in prop_oneof!["\\PC*", "shunt_[rwc]?[0-9]{0,20}[0-9a-f]{0,60}"]) {
            prop_assert_eq!(parse(&raw), None);
        }
    }
}
