//! The password of a link: as its owner or a visitor gives it, and the hash that is kept of it. Neither can be printed.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use super::{InvalidProperty, Password, prepared_password};

/// A new password of a link: 4 to 128 characters. Kept for one request.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkPassword(Arc<str>);

impl LinkPassword {
    const CHARS: std::ops::RangeInclusive<usize> = 4..=128;

    /// # Errors
    /// [`InvalidProperty::PasswordLength`].
    pub fn parse(raw: &str) -> Result<Self, InvalidProperty> {
        if Self::CHARS.contains(&prepared_password(raw).chars().count()) {
            Ok(Self(raw.into()))
        } else {
            Err(InvalidProperty::PasswordLength)
        }
    }

    /// The password, to be hashed.
    #[must_use]
    pub fn to_password(&self) -> Password {
        Password::at_log_in(self.0.to_string())
    }

    /// As it is compared; only to tell whether two requests are the same, by a keyed hash.
    #[must_use]
    pub fn prepared(&self) -> String {
        prepared_password(&self.0)
    }
}

impl Debug for LinkPassword {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("LinkPassword(…)")
    }
}

/// The hash of a link's password: Argon2id as a PHC string, or bcrypt as other services keep it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(Box<str>);

/// Tells the passwords of a link apart: a visitor who gave one may not follow the link by another. It is made of the hash and its
/// salt, and says nothing of the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordMark(u64);

/// Bounds of a hash that another service made: to check one must not cost much more than to check one of this service's own.
const MAX_MEMORY_KIB: u32 = 64 * 1024;
const MAX_PASSES: u32 = 10;
const MAX_LANES: u32 = 8;
/// Memory times passes: some seven times the work of the service's own hashes.
const MAX_WORK: u32 = 4 * MAX_MEMORY_KIB;
const BCRYPT_COSTS: std::ops::RangeInclusive<u8> = 4..=12;

impl PasswordHash {
    /// A hash that a file has.
    ///
    /// # Errors
    /// [`InvalidProperty::PasswordHash`] for any other text, also for a hash that would be too much work.
    pub fn parse(raw: &str) -> Result<Self, InvalidProperty> {
        let is_valid = is_argon2id(raw) || is_bcrypt(raw);
        is_valid
            .then(|| Self(raw.into()))
            .ok_or(InvalidProperty::PasswordHash)
    }

    /// A hash from the database, or one that was made just now.
    #[must_use]
    pub fn from_stored(raw: &str) -> Self {
        Self(raw.into())
    }

    /// Of a link that has a password, where its hash is not at hand.
    #[must_use]
    pub fn withheld() -> Self {
        Self("".into())
    }

    /// The hash, for the store, for the comparison, and for an export with secrets.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether bcrypt made it.
    #[must_use]
    pub fn is_bcrypt(&self) -> bool {
        self.0.starts_with("$2")
    }

    /// What tells it from every other hash.
    #[must_use]
    pub fn mark(&self) -> PasswordMark {
        // FNV-1a suffices: each hash has a random salt, so that two hashes have different numbers.
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let bytes = self.0.bytes();
        PasswordMark(bytes.fold(OFFSET, |mark, byte| {
            (mark ^ u64::from(byte)).wrapping_mul(PRIME)
        }))
    }
}

impl Debug for PasswordHash {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(…)")
    }
}

impl PasswordMark {
    /// The mark with this number.
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`, with base64 without padding.
fn is_argon2id(raw: &str) -> bool {
    let parse = || {
        let rest = raw.strip_prefix("$argon2id$v=19$")?;
        let (parameters, rest) = rest.split_once('$')?;
        let (salt, hash) = rest.split_once('$')?;
        let mut numbers = parameters.split(',');
        let mut number = |name| {
            let digits = numbers.next()?.strip_prefix(name)?.strip_prefix('=')?;
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let is_plain = is_plain && !digits.starts_with('0');
            digits.parse::<u32>().ok().filter(|_| is_plain)
        };
        let (memory, passes, lanes) = (number("m")?, number("t")?, number("p")?);
        let is_last = numbers.next().is_none();
        // Argon2 needs eight blocks of memory for each lane.
        let is_cheap = (8 * lanes.min(MAX_LANES)..=MAX_MEMORY_KIB).contains(&memory)
            && passes <= MAX_PASSES
            && lanes <= MAX_LANES
            && memory.saturating_mul(passes) <= MAX_WORK;
        Some(is_last && is_cheap && is_base64(salt, 8..=48) && is_base64(hash, 16..=64))
    };
    parse().unwrap_or(false)
}

/// `$2b$10$` with 22 characters of salt and 31 of hash.
fn is_bcrypt(raw: &str) -> bool {
    let parse = || {
        let rest = ["$2a$", "$2b$", "$2y$"].iter();
        let mut rest = rest.filter_map(|prefix| raw.strip_prefix(prefix));
        let (cost, text) = rest.next()?.split_once('$')?;
        let is_plain = cost.len() == 2 && cost.bytes().all(|byte| byte.is_ascii_digit());
        let cost = cost.parse::<u8>().ok().filter(|_| is_plain)?;
        let is_of_bcrypt = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
        // Of the last characters of salt and hash only some bits count; the others are 0.
        let (salt, hash) = text.split_at_checked(22)?;
        let is_whole = salt.ends_with(['.', 'O', 'e', 'u'])
            && hash
                .bytes()
                .last()
                .is_some_and(|last| alphabet_place(last).is_multiple_of(4));
        Some(
            BCRYPT_COSTS.contains(&cost)
                && text.len() == 53
                && text.bytes().all(is_of_bcrypt)
                && is_whole,
        )
    };
    parse().unwrap_or(false)
}

/// The place of a character in bcrypt's alphabet.
fn alphabet_place(byte: u8) -> u8 {
    match byte {
        b'.' => 0,
        b'/' => 1,
        b'A'..=b'Z' => byte - b'A' + 2,
        b'a'..=b'z' => byte - b'a' + 28,
        b'0'..=b'9' => byte - b'0' + 54,
        _ => u8::MAX,
    }
}

/// Whether a text is that many bytes in base64 without padding, written in the one way that is right.
fn is_base64(text: &str, bytes: std::ops::RangeInclusive<usize>) -> bool {
    let place = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let Some(last) = text.bytes().last().and_then(place) else {
        return false;
    };
    // The bits of the last character that belong to no byte.
    let spare = match text.len() % 4 {
        0 => 0,
        2 => last & 0b1111,
        3 => last & 0b11,
        _ => return false,
    };
    spare == 0
        && text.bytes().all(|byte| place(byte).is_some())
        && bytes.contains(&(text.len() * 3 / 4))
}

/// Hashes in every form that is taken.
#[cfg(test)]
pub(crate) fn any_hash() -> impl proptest::strategy::Strategy<Value = PasswordHash> {
    use proptest::prelude::*;

    let argon2id = (
        8_u32..=65_536,
        1_u32..=4,
        "[A-Za-z0-9+/]{21}[AQgw]",
        "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]",
    )
        .prop_map(|(memory, passes, salt, hash)| {
            format!("$argon2id$v=19$m={memory},t={passes},p=1${salt}${hash}")
        });
    let bcrypt = (
        4_u8..=12,
        "[aby]",
        "[./A-Za-z0-9]{21}[.Oeu]",
        "[./A-Za-z0-9]{30}[.CGKOSWaeimquy26]",
    )
        .prop_map(|(cost, version, salt, hash)| format!("$2{version}${cost:02}${salt}{hash}"));
    prop_oneof![argon2id, bcrypt].prop_map(|raw| PasswordHash::from_stored(&raw))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ARGON2ID: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const BCRYPT: &str = "$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW";

    #[test]
    fn a_password_has_4_to_128_characters() {
        for (raw, is_valid) in [
            ("abc".to_owned(), false),
            ("abcd".to_owned(), true),
            ("ü".repeat(128), true),
            ("u\u{308}".repeat(128), true),
            ("ü".repeat(129), false),
            (String::new(), false),
        ] {
            assert_eq!(LinkPassword::parse(&raw).is_ok(), is_valid, "{raw}");
        }
    }

    #[test]
    fn neither_a_password_nor_its_hash_is_printed() {
        let password = LinkPassword::parse("open sesame").unwrap();
        let hash = PasswordHash::parse(ARGON2ID).unwrap();
        let printed = format!("{password:?} {hash:?} {:?}", Some(&hash));
        assert!(
            !printed.contains("sesame") && !printed.contains("argon2"),
            "{printed}"
        );
    }

    #[test]
    fn a_hash_that_would_be_too_much_work_is_refused() {
        assert!(PasswordHash::parse(ARGON2ID).is_ok());
        assert!(PasswordHash::parse(BCRYPT).is_ok());
        for (from, to) in [
            ("m=19456", "m=65537"),
            ("m=19456", "m=7"),
            ("m=19456", "m=019456"),
            ("m=19456", "m=+19456"),
            ("t=2", "t=11"),
            ("t=2", "t=0"),
            ("p=1", "p=9"),
            ("p=1", "p=0"),
            ("p=1", "p=4294967295"),
            ("m=19456,t=2", "m=65536,t=5"),
            ("m=19456,t=2", "t=2,m=19456"),
            ("p=1", "p=1,keyid=AAAA"),
            ("argon2id", "argon2i"),
            ("v=19", "v=16"),
            ("$AAAAAAAAAAAAAAAAAAAAAA$", "$AAAA$"),
            ("$AAAAAAAAAAAAAAAAAAAAAA$", "$$"),
        ] {
            let hash = ARGON2ID.replacen(from, to, 1);
            assert_eq!(
                PasswordHash::parse(&hash),
                Err(InvalidProperty::PasswordHash),
                "{hash}"
            );
        }
        for (from, to) in [
            ("$12$", "$13$"),
            ("$12$", "$03$"),
            ("$12$", "$4$"),
            ("$2b$", "$2$"),
            ("$2b$", "$2x$"),
            ("lW", "l"),
        ] {
            let hash = BCRYPT.replacen(from, to, 1);
            assert_eq!(
                PasswordHash::parse(&hash),
                Err(InvalidProperty::PasswordHash),
                "{hash}"
            );
        }
    }

    #[test]
    fn an_own_hash_may_be_imported() {
        use argon2::password_hash::PasswordHasher as _;
        let hash = argon2::Argon2::default()
            .hash_password(b"open sesame")
            .unwrap();
        assert!(PasswordHash::parse(&hash.to_string()).is_ok());
    }

    proptest! {
        #[test]
        fn an_accepted_hash_is_kept_as_given_and_can_be_checked(
            raw in prop_oneof![
                any_hash().prop_map(|hash| hash.expose().to_owned()),
                "\\$argon2id\\$v=19\\$m=[0-9]{1,6},t=[0-9]{1,2},p=[0-9]\\$[A-Za-z0-9+/=]{0,30}\\$[A-Za-z0-9+/]{0,60}",
                "\\$2[abxy]\\$[01][0-9]\\$[./A-Za-z0-9]{52,54}",
                "\\PC{0,80}",
            ],
        ) {
            if let Ok(hash) = PasswordHash::parse(&raw) {
                prop_assert_eq!(hash.expose(), &raw);
                prop_assert_eq!(hash.is_bcrypt(), raw.starts_with("$2"));
                if hash.is_bcrypt() {
                    prop_assert!(raw.parse::<bcrypt::HashParts>().is_ok(), "{}", raw);
                } else {
                    prop_assert!(argon2::password_hash::phc::PasswordHash::new(&raw).is_ok(), "{}", raw);
                }
            }
        }

        #[test]
        fn every_hash_of_a_form_that_is_taken_is_accepted(hash in any_hash()) {
            prop_assert_eq!(PasswordHash::parse(hash.expose()), Ok(hash));
        }
    }
}
