//! Passwords that are guessed first: the most common passwords, and passwords made of the account's own address.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::LazyLock;

use crate::domain::{EmailAddress, Password, prepared_password};

/// Common passwords that fit the policy, in lower case, one per line; a file beside it says where they come from.
const PUBLIC_LIST: &str = include_str!("common_passwords.txt");

/// Shorter names are part of many words by chance.
const SHORTEST_NAME: usize = 3;

/// Passwords that no account may choose. A log-in never asks: accounts that have such a password keep it.
pub struct CommonPasswords {
    /// Hashes in rising order: eight bytes each, however long the password is.
    hashes: Vec<u64>,
}

/// Why a new password is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// It is on a list.
    #[error("is one of the most common passwords, which are guessed first; choose another")]
    Common,
    /// It has the name of the account's address in it.
    #[error("must not contain the name in your e-mail address")]
    OwnName,
}

impl CommonPasswords {
    /// The public list, and the lines of the operator's own file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn with(file: Option<&Path>) -> io::Result<Self> {
        let mut hashes: Vec<_> = PUBLIC_LIST.lines().map(hash).collect();
        if let Some(file) = file {
            for line in BufReader::new(File::open(file)?).split(b'\n') {
                let line = line?;
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                hashes.push(hash(&prepared_password(&String::from_utf8_lossy(line))));
            }
        }
        hashes.sort_unstable();
        hashes.dedup();
        hashes.shrink_to_fit();
        Ok(Self { hashes })
    }

    /// Checks a new password of the account with this address.
    ///
    /// # Errors
    /// [`WeakPassword`].
    pub fn check(&self, password: &Password, email: &EmailAddress) -> Result<(), WeakPassword> {
        let password = String::from_utf8_lossy(password.expose()).to_lowercase();
        if self.hashes.binary_search(&hash(&password)).is_ok() {
            return Err(WeakPassword::Common);
        }
        let name = prepared_password(&email.name());
        // `ada+shunt` is a name, and so is `ada`.
        let names = [name.as_str(), name.split('+').next().unwrap_or_default()];
        let is_in = |name: &&str| name.chars().count() >= SHORTEST_NAME && password.contains(name);
        if names.iter().any(is_in) {
            return Err(WeakPassword::OwnName);
        }
        Ok(())
    }
}

/// Keyed by the process: no password is refused because its hash was made to be a common one's.
fn hash(password: &str) -> u64 {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(password.to_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(list: &CommonPasswords, password: &str, email: &str) -> Result<(), WeakPassword> {
        let password = Password::parse(password.to_owned()).unwrap();
        list.check(&password, &email.parse().unwrap())
    }

    #[test]
    fn the_list_has_what_fits_the_policy_and_nothing_else() {
        assert!(PUBLIC_LIST.lines().count() > 17_000);
        for line in PUBLIC_LIST.lines() {
            assert!(Password::parse(line.to_owned()).is_ok(), "{line}");
            assert_eq!(line, line.to_lowercase());
        }
    }

    #[test]
    fn a_common_password_is_refused_in_any_case() {
        let list = CommonPasswords::with(None).unwrap();
        for password in [
            "password",
            "PassWord1",
            "12345678",
            "qwertyuiop",
            "iloveyou",
        ] {
            assert_eq!(
                check(&list, password, "ada@example.org"),
                Err(WeakPassword::Common),
                "{password}"
            );
        }
        assert_eq!(check(&list, "correct horse", "ada@example.org"), Ok(()));
    }

    #[test]
    fn a_password_with_the_name_of_the_address_is_refused() {
        let list = CommonPasswords::with(None).unwrap();
        for (password, email, expected) in [
            (
                "Ada.Lovelace!",
                "ada.lovelace@example.org",
                Err(WeakPassword::OwnName),
            ),
            (
                "my-ADA-horse",
                "ada@example.org",
                Err(WeakPassword::OwnName),
            ),
            (
                "xx-ada-xx-1",
                "ada+shunt@example.org",
                Err(WeakPassword::OwnName),
            ),
            ("a horse of al", "al@example.org", Ok(())),
            ("example.org horse", "ada@example.org", Ok(())),
        ] {
            assert_eq!(check(&list, password, email), expected, "{password}");
        }
    }

    #[test]
    fn a_file_of_ones_own_adds_to_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        std::fs::write(&path, b"Company2026\r\n\nlast horse \xff\nno newline").unwrap();
        let list = CommonPasswords::with(Some(&path)).unwrap();
        for password in ["company2026", "No newline", "password"] {
            assert_eq!(
                check(&list, password, "ada@example.org"),
                Err(WeakPassword::Common),
                "{password}"
            );
        }
        assert_eq!(check(&list, "last horse", "ada@example.org"), Ok(()));
        assert!(CommonPasswords::with(Some(&folder.path().join("none"))).is_err());
    }

    proptest! {
        #[test]
        fn any_password_is_checked_without_a_panic(password in "\\PC{8,40}", name in "[a-z]{1,8}") {
            let list = CommonPasswords { hashes: Vec::new() };
            let outcome = check(&list, &password, &format!("{name}@example.org"));
            let contains = name.len() >= SHORTEST_NAME && password.to_lowercase().contains(&name);
            prop_assert_eq!(outcome, if contains { Err(WeakPassword::OwnName) } else { Ok(()) });
        }
    }
}
