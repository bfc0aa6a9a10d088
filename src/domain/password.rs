//! Passwords in plain text. They are kept for one request and never shown.

use unicode_normalization::UnicodeNormalization;

/// Number of characters of a password (contract).
const LENGTH: std::ops::RangeInclusive<usize> = 8..=128;

/// A password: a new password has 8 to 128 characters. Deliberately without `Debug`, `Display`, `Clone` and `Serialize`.
pub struct Password {
    prepared: String,
    /// As it was given, if that differs.
    given: Option<String>,
}

/// Why a string is not accepted as a password; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 8 to 128 characters long")]
pub struct InvalidPassword;

impl Password {
    /// Checks the length, in characters.
    ///
    /// # Errors
    /// [`InvalidPassword`] when it is shorter or longer than the contract allows.
    pub fn parse(raw: String) -> Result<Self, InvalidPassword> {
        let password = Self::at_log_in(raw);
        if LENGTH.contains(&password.prepared.chars().count()) {
            Ok(password)
        } else {
            Err(InvalidPassword)
        }
    }

    /// A password that somebody logs in with. The rule is that of new passwords: a text that breaks it is simply wrong.
    #[must_use]
    pub fn at_log_in(raw: String) -> Self {
        let prepared = prepared_password(&raw);
        let given = (prepared != raw).then_some(raw);
        Self { prepared, given }
    }

    /// The bytes to be hashed; only for `accounts`.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.prepared.as_bytes()
    }

    /// The bytes as they were given, if they differ: earlier versions hashed those. Only for `accounts`.
    #[must_use]
    pub fn expose_given(&self) -> Option<&[u8]> {
        self.given.as_deref().map(str::as_bytes)
    }
}

/// A password as it is compared, by the profile `OpaqueString` (RFC 8265, 4.2): keyboards write one letter in several ways.
#[must_use]
pub fn prepared_password(raw: &str) -> String {
    raw.chars().map(plain_space).nfc().collect()
}

/// An ASCII space for any other space (the category Zs).
fn plain_space(char: char) -> char {
    match char {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn length_is_counted_in_characters() {
        assert!(Password::parse("ü".repeat(8)).is_ok());
        assert!(Password::parse("ü".repeat(128)).is_ok());
        assert!(Password::parse("ü".repeat(7)).is_err());
        assert!(Password::parse("ü".repeat(129)).is_err());
    }

    #[test]
    fn one_text_in_several_spellings_is_one_password() {
        let composed = "Pässwörd Ångström";
        for spelling in [
            "Pa\u{308}sswo\u{308}rd A\u{30a}ngstro\u{308}m",
            "Pässwörd\u{a0}\u{212b}ngström",
            "Pässwörd\u{3000}Ångstro\u{308}m",
        ] {
            let password = Password::parse(spelling.to_owned()).unwrap();
            assert_eq!(password.expose(), composed.as_bytes(), "{spelling}");
            assert_eq!(password.expose_given(), Some(spelling.as_bytes()));
        }
        // Case and compatible forms differ, as RFC 8265 says.
        for other in [
            "pässwörd ångström",
            "Pässwörd Ａngström",
            "Pässwörd  Ångström",
        ] {
            let password = Password::parse(other.to_owned()).unwrap();
            assert_ne!(password.expose(), composed.as_bytes(), "{other}");
        }
        assert!(Password::parse("u\u{308}".repeat(128)).is_ok());
        assert!(Password::parse("u\u{308}".repeat(7)).is_err());
    }

    proptest! {
        #[test]
        fn a_password_of_the_right_length_is_kept_but_for_its_spelling(raw in "\\PC{0,140}|[a-zA-Z0-9 !-/]{0,140}") {
            let prepared = prepared_password(&raw);
            let length = prepared.chars().count();
            match Password::parse(raw.clone()) {
                Ok(password) => {
                    prop_assert!((8..=128).contains(&length));
                    prop_assert_eq!(password.expose(), prepared.as_bytes());
                    let given = password.expose_given().unwrap_or(password.expose());
                    prop_assert_eq!(given, raw.as_bytes());
                    prop_assert!(!raw.is_ascii() || password.expose_given().is_none());
                }
                Err(InvalidPassword) => prop_assert!(!(8..=128).contains(&length)),
            }
        }
    }
}
