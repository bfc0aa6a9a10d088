//! An account as a person names it.

use super::{EmailAddress, UserId};

/// An account as a person names it: by its number, or by its e-mail address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedUser {
    /// Its number.
    Number(UserId),
    /// Its address.
    Email(EmailAddress),
}

impl NamedUser {
    /// The account that a text names; `None` if it cannot name an account.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let raw = raw.trim();
        if raw.contains('@') {
            return raw.parse().ok().map(Self::Email);
        }
        let number: Option<i64> = raw.parse().ok();
        let number = number.filter(|number| *number > 0);
        number.map(|number| Self::Number(UserId(number)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_account_is_named_by_number_or_address() {
        assert_eq!(NamedUser::parse(" 7 "), Some(NamedUser::Number(UserId(7))));
        let email = NamedUser::parse("ada@example.org");
        assert!(
            matches!(email, Some(NamedUser::Email(email)) if email.as_str() == "ada@example.org")
        );
        for raw in ["", "0", "-1", "ada", "@", "7.0", "99999999999999999999"] {
            assert_eq!(NamedUser::parse(raw), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(raw in "\\PC{0,40}|-?[0-9]{0,30}") {
            if let Some(NamedUser::Number(user)) = NamedUser::parse(&raw) {
                prop_assert!(user.0 > 0);
            }
        }
    }
}
