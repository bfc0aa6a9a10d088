//! The name of a group.

/// The name of a group: 1 to 100 characters, without control characters, and without space around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupName(String);

/// Why something that is said of a group is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGroup {
    /// The name.
    #[error("name: must be 1 to 100 characters, without control characters")]
    Name,
    /// The role of a member.
    #[error("role: must be viewer, editor or owner")]
    Role,
}

impl GroupName {
    const MAX_CHARS: usize = 100;

    /// Checks a name. Spaces around it are left out.
    ///
    /// # Errors
    /// [`InvalidGroup::Name`].
    pub fn parse(raw: &str) -> Result<Self, InvalidGroup> {
        let name = raw.trim();
        let fits = raw.chars().count() <= Self::MAX_CHARS && !name.is_empty();
        if fits && !raw.chars().any(char::is_control) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidGroup::Name)
        }
    }

    /// A name from the database: it was checked before it was stored.
    #[must_use]
    pub fn from_stored(raw: String) -> Self {
        Self(raw)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_that_is_accepted_is_kept_without_the_space_around_it(raw in prop_oneof!["\\PC{0,110}", any::<String>()]) {
            let fits = !raw.trim().is_empty() && raw.chars().count() <= 100 && !raw.chars().any(char::is_control);
            match GroupName::parse(&raw) {
                Ok(name) => prop_assert!(fits && name.as_str() == raw.trim()),
                Err(why) => prop_assert!(!fits && why == InvalidGroup::Name),
            }
        }
    }
}
