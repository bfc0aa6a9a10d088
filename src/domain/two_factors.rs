//! Whose accounts need a second factor beside the password.

use std::fmt;

/// Who needs a second factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwoFactorRule {
    /// Each account chooses.
    #[default]
    Nobody,
    /// Accounts that administer the service.
    Administrators,
    /// Every account.
    All,
}

impl TwoFactorRule {
    /// The rule of this name.
    ///
    /// # Errors
    /// A sentence that says what is possible.
    pub fn parse(raw: &str) -> Result<Self, String> {
        match raw {
            "none" => Ok(Self::Nobody),
            "administrators" => Ok(Self::Administrators),
            "all" => Ok(Self::All),
            _ => Err("must be none, administrators or all".into()),
        }
    }

    /// Whether an account needs a second factor.
    #[must_use]
    pub fn binds(self, is_admin: bool) -> bool {
        match self {
            Self::Nobody => false,
            Self::Administrators => is_admin,
            Self::All => true,
        }
    }
}

impl fmt::Display for TwoFactorRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Nobody => "none",
            Self::Administrators => "administrators",
            Self::All => "all",
        })
    }
}
