//! Passwords in plain text. They are kept for one request and never shown.

/// Number of characters of a password (contract).
const LENGTH: std::ops::RangeInclusive<usize> = 8..=128;

/// A password: of 8 to 128 characters where it is a new one. Deliberately without `Debug`, `Display`, `Clone` and `Serialize`.
pub struct Password(String);

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
        if LENGTH.contains(&raw.chars().count()) {
            Ok(Self(raw))
        } else {
            Err(InvalidPassword)
        }
    }

    /// A password that somebody logs in with. The rule is that of new passwords: a text that breaks it is simply wrong.
    #[must_use]
    pub fn at_log_in(raw: String) -> Self {
        Self(raw)
    }

    /// The bytes to be hashed; for `accounts::password` alone.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.as_bytes()
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

    proptest! {
        #[test]
        fn a_password_of_the_right_length_is_kept_to_the_byte(raw in "\\PC{0,140}") {
            let length = raw.chars().count();
            match Password::parse(raw.clone()) {
                Ok(password) => {
                    prop_assert!((8..=128).contains(&length));
                    prop_assert_eq!(password.expose(), raw.as_bytes());
                }
                Err(InvalidPassword) => prop_assert!(!(8..=128).contains(&length)),
            }
        }
    }
}
