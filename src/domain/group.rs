//! Groups: accounts that nobody signs in to, and who acts for them.

use super::{EmailAddress, GroupName, InvalidGroup, Timestamp, UserId};

/// Groups of which an account may be an owner.
pub const MAX_OWNED_GROUPS: u32 = 20;

/// Groups of which an account may be a member.
pub const MAX_JOINED_GROUPS: u32 = 100;

/// Members of a group.
pub const MAX_MEMBERS: u32 = 100;

/// How far a member of a group acts for it: each role may do what the roles before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupRole {
    /// Reads links and statistics.
    Viewer,
    /// Makes, changes, moves and deletes links.
    Editor,
    /// Has the members, the keys and the name; ends the group.
    Owner,
}

impl GroupRole {
    /// What a person may ask for, in a sentence.
    pub const NAMES: &'static str = "viewer, editor or owner";

    /// All roles.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Editor, Self::Owner];

    /// The role with this name.
    ///
    /// # Errors
    /// [`InvalidGroup::Role`].
    pub fn parse(name: &str) -> Result<Self, InvalidGroup> {
        let role = Self::ALL.into_iter().find(|role| role.name() == name);
        role.ok_or(InvalidGroup::Role)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Owner => "owner",
        }
    }

    /// Its name in a sentence.
    #[must_use]
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Viewer => "a viewer",
            Self::Editor => "an editor",
            Self::Owner => "an owner",
        }
    }
}

/// A group, as one of its members sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number of its account.
    pub id: UserId,
    /// Its name.
    pub name: GroupName,
    /// What the member is.
    pub role: GroupRole,
    /// How many members it has.
    pub members: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The number of the account.
    pub user: UserId,
    /// Its address.
    pub email: EmailAddress,
    /// What it is.
    pub role: GroupRole,
    /// Since when it is a member.
    pub joined_at: Timestamp,
}

/// Which member a client means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedMember {
    /// The account with this number.
    Numbered(UserId),
    /// The account with this address.
    WithAddress(EmailAddress),
}

impl NamedMember {
    /// A number, or an address; `None` for anything else.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        if raw.bytes().all(|byte| byte.is_ascii_digit()) {
            return raw.parse().ok().map(UserId).map(Self::Numbered);
        }
        let address = EmailAddress::parse(raw.to_owned()).ok();
        address.map(Self::WithAddress)
    }
}

/// What stands for a group where an account has an address.
#[must_use]
pub fn group_address(group: UserId) -> String {
    format!("{GROUP}{}{AT_NOBODY}", group.0)
}

/// The group that an address stands for.
#[must_use]
pub fn group_of_address(address: &EmailAddress) -> Option<UserId> {
    let rest = address.as_str().strip_prefix(GROUP)?;
    let number = rest.strip_suffix(AT_NOBODY)?;
    number.parse().ok().map(UserId)
}

const GROUP: &str = "group-";
const AT_NOBODY: &str = "@group.invalid";

/// To whom a link is to belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewOwner {
    /// The account of the person who asks.
    Me,
    /// The account, or the group, with this number.
    Numbered(UserId),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_role_is_read_by_its_name_and_may_do_what_the_roles_before_it_may() {
        for role in GroupRole::ALL {
            assert_eq!(GroupRole::parse(role.name()), Ok(role));
        }
        assert_eq!(GroupRole::parse("Owner"), Err(InvalidGroup::Role));
        assert!(GroupRole::Viewer < GroupRole::Editor && GroupRole::Editor < GroupRole::Owner);
    }

    #[test]
    fn the_address_of_a_group_leads_back_to_it() {
        let address = EmailAddress::parse(group_address(UserId(12))).unwrap();
        assert_eq!(group_of_address(&address), Some(UserId(12)));
        for raw in [
            "group-x@group.invalid",
            "group-12@group.example",
            "ada@example.org",
        ] {
            let address = EmailAddress::parse(raw.to_owned()).unwrap();
            assert_eq!(group_of_address(&address), None, "{raw}");
        }
    }

    #[test]
    fn a_member_is_named_by_a_number_or_an_address() {
        let numbered = NamedMember::Numbered(UserId(12));
        assert_eq!(NamedMember::parse("12"), Some(numbered));
        let address = EmailAddress::parse("ada@example.org".into()).unwrap();
        let named = Some(NamedMember::WithAddress(address));
        assert_eq!(NamedMember::parse("ada@example.org"), named);
        for raw in ["", "-1", "ada", "99999999999999999999"] {
            assert_eq!(NamedMember::parse(raw), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_of_members_panic(raw in any::<String>()) {
            let _ = NamedMember::parse(&raw);
        }
    }
}
