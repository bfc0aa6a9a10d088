//! Short codes: their form, the host that they belong to, and how a new one is drawn.

use std::borrow::Cow;
use std::fmt;

use compact_str::CompactString;

/// The characters of generated codes, without characters that look alike: `0 O 1 I l o`.
const ALPHABET: &[u8; 56] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz";

/// Of the codes of a length, one in this many may be in use before new codes are longer: so guessing is in vain, and a drawn
/// code is hardly ever taken.
const CODES_PER_LINK: u128 = 100_000;

/// Length of a code that a program chooses: such codes differ from the codes that the service draws.
const CHOSEN_LENGTH: usize = 9;

/// Longest string that is looked up as a code.
const MAX_LENGTH: usize = 64;

/// A string that is shaped like a short code: 1 to 64 of `A-Z a-z 0-9 - _`. The table of paths (`http::paths`) says which
/// of them are words of the service itself.
///
/// A code belongs to a host: the same code of another host is another one, and everything that is kept by code is kept by both. A code
/// is of the service's own host until [`ShortCode::at`] says otherwise.
///
/// Up to 24 bytes are kept inline: parsing a code of usual length allocates nothing.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortCode(
    /// The key: of the service's own host the code, otherwise the number of the domain, a slash and the code.
    CompactString,
);

impl ShortCode {
    /// `None` for a string that cannot be a code: no look-up is needed.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let shaped = (1..=MAX_LENGTH).contains(&raw.len())
            && raw
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        shaped.then(|| Self(CompactString::new(raw)))
    }

    /// Draws a code of this length from the system's secure random source.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate(length: usize) -> Result<Self, getrandom::Error> {
        let mut letters = CompactString::default();
        for _ in 0..length {
            letters.push(char::from(random_letter()?));
        }
        Ok(Self(letters))
    }

    /// The code of 9 letters that belongs to these random bytes: for programs that ask for a code of their own choice, and
    /// have to find it again.
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        let mut rest = u128::from_le_bytes(bytes);
        let mut letters = CompactString::default();
        for _ in 0..CHOSEN_LENGTH {
            // 56^9 is so far below 2^128 that each letter is as likely as any other.
            let letter = usize::try_from(rest % ALPHABET.len() as u128).unwrap_or_default();
            letters.push(char::from(ALPHABET[letter]));
            rest /= ALPHABET.len() as u128;
        }
        Self(letters)
    }

    /// The same code of another host.
    #[must_use]
    pub fn at(&self, domain: DomainId) -> Self {
        let own = Self(CompactString::new(self.as_str()));
        if domain.is_own() {
            return own;
        }
        own.moved_to(&HostKey::of(domain))
    }

    /// The same code of another host, of a code of the service's own. Every redirect of another host pays for it.
    pub(super) fn moved_to(&self, host: &HostKey) -> Self {
        let mut key = host.0.clone();
        key.push_str(&self.0);
        Self(key)
    }

    /// The host that it belongs to.
    #[must_use]
    pub fn domain(&self) -> DomainId {
        let number = self.0.split_once(HOST_END);
        let number = number.and_then(|(number, _)| number.parse().ok());
        number.map_or(DomainId::OWN, DomainId)
    }

    /// The code as people see it, without its host.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0
            .split_once(HOST_END)
            .map_or(self.0.as_str(), |(_, code)| code)
    }

    /// The code with its host, as it is kept by caches, Redis and the database.
    #[must_use]
    pub fn as_key(&self) -> &str {
        &self.0
    }

    /// Stands for a host where changes are told by their codes: no link has it.
    #[must_use]
    pub fn of_domain(domain: DomainId) -> Self {
        Self(compact_str::format_compact!("{domain}{HOST_END}"))
    }

    /// Whether it stands for a host.
    #[must_use]
    pub fn is_of_domain(&self) -> bool {
        self.0.ends_with(HOST_END)
    }

    /// The same in paths and forms of the service's own host: of another host as `7~spring`.
    #[must_use]
    pub fn in_path(&self) -> Cow<'_, str> {
        if self.domain().is_own() {
            return self.as_str().into();
        }
        self.0.replace(HOST_END, IN_PATH).into()
    }

    /// The number of the host and the code in what [`ShortCode::in_path`] wrote.
    #[must_use]
    pub fn split_path(raw: &str) -> (DomainId, &str) {
        let parts = raw.split_once(IN_PATH).and_then(|(number, code)| {
            let domain = DomainId::parse(number.parse().ok()?)?;
            Some((domain, code))
        });
        parts.unwrap_or((DomainId::OWN, raw))
    }

    /// Reads [`ShortCode::as_key`].
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        let Some((number, code)) = key.split_once(HOST_END) else {
            return Self::parse(key);
        };
        let domain = DomainId::parse(number.parse().ok()?)?;
        if code.is_empty() {
            return Some(Self::of_domain(domain));
        }
        Self::parse(code).map(|code| code.at(domain))
    }
}

/// Stands between the number of a domain and a code. No code has it.
const HOST_END: char = '/';

/// The same in a path. No code has it, either.
const IN_PATH: &str = "~";

/// What the keys of a host's codes begin with.
#[derive(Clone, Debug)]
pub(super) struct HostKey(CompactString);

impl HostKey {
    /// Of a host that is not the service's own.
    pub(super) fn of(domain: DomainId) -> Self {
        Self(compact_str::format_compact!("{domain}{HOST_END}"))
    }
}

/// The number of a host: links of different hosts do not know each other's codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainId(u32);

impl DomainId {
    /// The host of `BASE_URL`.
    pub const OWN: Self = Self(0);

    /// The number of another host.
    #[must_use]
    pub fn parse(number: i64) -> Option<Self> {
        let number = u32::try_from(number).ok()?;
        (number > 0).then_some(Self(number))
    }

    /// Whether it is the host of `BASE_URL`.
    #[must_use]
    pub fn is_own(self) -> bool {
        self == Self::OWN
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0.into()
    }
}

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The length of new codes when this many are in use: at least `shortest`, and such that at most one in 100,000 codes of this
/// length is in use. All are counted as codes of this length: shorter codes are few, because each length has 56 times as many
/// codes as the length before.
#[must_use]
pub fn code_length(shortest: usize, in_use: u64) -> usize {
    let needed = u128::from(in_use) * CODES_PER_LINK;
    let codes = |length: usize| {
        let letters = ALPHABET.len() as u128;
        (0..length).fold(1_u128, |codes, _| codes.saturating_mul(letters))
    };
    let mut length = shortest;
    while codes(length) < needed {
        length += 1;
    }
    length
}

/// Why a code of a client's choice is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCustomCode {
    /// Another length, or other characters.
    #[error("custom_code: must be 1 to 64 of the characters A-Z a-z 0-9 - _")]
    Shape,
    /// A word of the service's own addresses.
    #[error("custom_code: is a word that this service uses itself; choose another")]
    Reserved,
}

/// A code that an owner chose: 1 to 64 of `A-Z a-z 0-9 - _`, and no word of the service itself. How short it may be depends on
/// who asks for it: `links::LinkService` knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCode(ShortCode);

impl CustomCode {
    /// Checks a code; `is_reserved` says which words are reserved.
    ///
    /// # Errors
    /// [`InvalidCustomCode`] says which rule it breaks.
    pub fn parse(raw: &str, is_reserved: impl Fn(&str) -> bool) -> Result<Self, InvalidCustomCode> {
        let code = ShortCode::parse(raw).ok_or(InvalidCustomCode::Shape)?;
        if is_reserved(code.as_str()) {
            return Err(InvalidCustomCode::Reserved);
        }
        Ok(Self(code))
    }

    /// The code.
    #[must_use]
    pub fn as_code(&self) -> &ShortCode {
        &self.0
    }

    /// The same code of another host.
    #[must_use]
    pub fn at(&self, domain: DomainId) -> Self {
        Self(self.0.at(domain))
    }
}

/// One letter, each as likely as any other: bytes past the last whole multiple of 56 are drawn again.
fn random_letter() -> Result<u8, getrandom::Error> {
    const LETTERS: usize = ALPHABET.len();
    const FAIR: usize = 256 - 256 % LETTERS;
    loop {
        let mut byte = [0_u8; 1];
        getrandom::fill(&mut byte)?;
        let drawn = usize::from(byte[0]);
        if drawn < FAIR {
            return Ok(ALPHABET[drawn % LETTERS]);
        }
    }
}

/// As people see it, without its host.
impl fmt::Display for ShortCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ShortCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShortCode({})", self.0)
    }
}

#[cfg(test)]
mod tests;
