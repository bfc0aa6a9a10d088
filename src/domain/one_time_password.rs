//! The second factor as people type it: a code of their app, or a recovery code.

use std::fmt;

use ring::digest::{SHA256, digest};

use super::{TokenKey, TotpCode};

/// The letters of a recovery code: letters that look alike are one (Crockford's base32).
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Letters of a recovery code: 120 random bits.
const LENGTH: usize = 24;

/// Letters between two dashes.
const GROUP: usize = 4;

/// Longest text that is read: more is no code.
const MAX_BYTES: usize = 256;

/// What stands for the second factor once.
#[derive(Clone, PartialEq, Eq)]
pub enum OneTimePassword {
    /// A code of an app.
    Code(TotpCode),
    /// A recovery code.
    Recovery(RecoveryCode),
    /// Neither: it is a wrong one, and no more is said.
    Neither,
}

impl OneTimePassword {
    /// Reads a code. Spaces, dashes and the case of letters say nothing.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        if raw.len() > MAX_BYTES {
            return Self::Neither;
        }
        let is_letter = |char: &char| !char.is_whitespace() && *char != '-';
        let text: String = raw.chars().filter(is_letter).collect();
        match (TotpCode::parse(&text), RecoveryCode::parse(&text)) {
            (Some(code), _) => Self::Code(code),
            (None, Some(code)) => Self::Recovery(code),
            (None, None) => Self::Neither,
        }
    }
}

/// A code that is good once, without the app; has no `Debug`, as it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode(String);

impl RecoveryCode {
    /// Draws a code from the system's secure random source.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut random = [0; LENGTH];
        getrandom::fill(&mut random)?;
        // 256 is a multiple of 32: each letter is as likely as any other.
        let letters = random.iter().map(|byte| LETTERS[usize::from(byte & 31)]);
        Ok(Self(letters.map(char::from).collect()))
    }

    /// A code without spaces and dashes; `None` if it has another shape.
    fn parse(text: &str) -> Option<Self> {
        let letter = |char: char| {
            let letter = match char.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                other => other,
            };
            let is_known = u8::try_from(letter).is_ok_and(|byte| LETTERS.contains(&byte));
            is_known.then_some(letter)
        };
        let text: Option<String> = text.chars().map(letter).collect();
        text.filter(|text| text.len() == LENGTH).map(Self)
    }

    /// What is kept of it. A plain digest is enough: 2^120 codes are too many to try.
    ///
    /// # Panics
    /// Never: half of a digest of 32 bytes has 16.
    #[must_use]
    pub fn hash(&self) -> TokenKey {
        let digest = digest(&SHA256, format!("recovery code {}", self.0).as_bytes());
        TokenKey::from_bytes(&digest.as_ref()[..16]).expect("half of a digest of 32 bytes has 16")
    }
}

/// In groups of four letters.
impl fmt::Display for RecoveryCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, letter) in self.0.chars().enumerate() {
            if at > 0 && at % GROUP == 0 {
                formatter.write_str("-")?;
            }
            write!(formatter, "{letter}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_recovery_code_is_read_however_it_is_typed_and_no_two_are_alike() {
        let code = RecoveryCode::generate().unwrap();
        let shown = code.to_string();
        assert_eq!((shown.len(), shown.matches('-').count()), (29, 5));
        for typed in [
            shown.clone(),
            shown.replace('-', ""),
            shown.replace('-', " ").to_uppercase(),
            shown.replace('0', "O").replace('1', "l"),
            format!(" {shown}\r\n"),
        ] {
            let read = OneTimePassword::parse(&typed);
            assert!(read == OneTimePassword::Recovery(code.clone()), "{typed}");
        }
        let other = RecoveryCode::generate().unwrap();
        assert!(code != other && code.hash() != other.hash());
    }

    #[test]
    fn a_code_of_an_app_is_read_with_its_space() {
        let code = OneTimePassword::Code(TotpCode::parse("012345").unwrap());
        for typed in ["012345", "012 345", " 012-345 "] {
            assert!(OneTimePassword::parse(typed) == code, "{typed}");
        }
    }

    proptest! {
        #[test]
        fn any_other_text_is_neither(raw in prop_oneof!["\\PC*", "[0-9]{7,23}", "[0-9a-z]{25,300}", "[0-9]{0,5}"]) {
            let letters = raw.chars().filter(|char| !char.is_whitespace() && *char != '-').count();
            prop_assume!(![6, 24].contains(&letters));
            prop_assert!(OneTimePassword::parse(&raw) == OneTimePassword::Neither);
        }
    }
}
