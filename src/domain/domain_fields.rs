//! What an administrator says of a host, before it is checked.

use super::{
    DomainEdit, DomainHost, DomainOwners, EmailAddress, FieldEdit, InvalidDomain, OwnHost,
    TargetUrl, WellKnownFile,
};

/// Accounts that may be named as owners of one host.
const MAX_OWNERS: usize = 1_000;

/// Texts of a host. A text that is empty takes the value away.
#[derive(Clone, Debug, Default)]
pub struct DomainFields {
    /// Where `/` leads.
    pub root_url: FieldEdit<String>,
    /// Where an unknown code leads.
    pub not_found_url: FieldEdit<String>,
    /// `/.well-known/assetlinks.json`.
    pub assetlinks: FieldEdit<String>,
    /// `/.well-known/apple-app-site-association`.
    pub apple_app_site_association: FieldEdit<String>,
    /// Who may use it.
    pub owners: Option<NamedOwners>,
}

/// Who may make links on a host, by their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedOwners {
    /// Every account.
    All,
    /// These accounts.
    Some(Vec<EmailAddress>),
}

impl NamedOwners {
    /// `all`, or addresses between commas or white space.
    ///
    /// # Errors
    /// [`InvalidDomain::Owners`], [`InvalidDomain::ManyOwners`].
    pub fn parse(raw: &str) -> Result<Self, InvalidDomain> {
        if raw.trim() == "all" {
            return Ok(Self::All);
        }
        let emails = raw.split(|char: char| char == ',' || char.is_whitespace());
        Self::of(emails.filter(|email| !email.is_empty()))
    }

    /// The accounts with these addresses.
    ///
    /// # Errors
    /// As of [`NamedOwners::parse`].
    pub fn of<'a>(emails: impl Iterator<Item = &'a str>) -> Result<Self, InvalidDomain> {
        let mut owners = Vec::new();
        for email in emails {
            if owners.len() == MAX_OWNERS {
                return Err(InvalidDomain::ManyOwners(MAX_OWNERS));
            }
            let email = EmailAddress::parse(email.to_owned());
            owners.push(email.map_err(|_| InvalidDomain::Owners)?);
        }
        Ok(Self::Some(owners))
    }
}

impl DomainFields {
    /// The change of this host, with owners whose accounts were looked up.
    ///
    /// # Errors
    /// [`InvalidDomain`].
    pub fn checked(
        self,
        host: &DomainHost,
        owners: Option<DomainOwners>,
    ) -> Result<DomainEdit, InvalidDomain> {
        Ok(DomainEdit {
            root: url("root_url", self.root_url, host)?,
            not_found: url("not_found_url", self.not_found_url, host)?,
            assetlinks: file("assetlinks", self.assetlinks)?,
            apple_app_site_association: file(
                "apple_app_site_association",
                self.apple_app_site_association,
            )?,
            owners,
        })
    }
}

fn url(
    field: &'static str,
    raw: FieldEdit<String>,
    host: &DomainHost,
) -> Result<FieldEdit<TargetUrl>, InvalidDomain> {
    // It may lead to the service's own host, and to another host of it.
    let nowhere = OwnHost::unknown();
    raw.parsed(|raw| {
        let url = TargetUrl::parse(&raw, &nowhere);
        let url = url.map_err(|why| InvalidDomain::Url(field, why.to_string()))?;
        if url.host().as_deref() == Some(host.name()) {
            return Err(InvalidDomain::LeadsBack(field));
        }
        Ok(Some(url))
    })
}

fn file(
    field: &'static str,
    raw: FieldEdit<String>,
) -> Result<FieldEdit<WellKnownFile>, InvalidDomain> {
    raw.parsed(|raw| WellKnownFile::parse(field, &raw).map(Some))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owners(emails: &[&str]) -> NamedOwners {
        NamedOwners::of(emails.iter().copied()).unwrap()
    }

    #[test]
    fn owners_are_all_or_addresses_between_commas_and_lines() {
        for (raw, named) in [
            (" all\n", NamedOwners::All),
            ("", owners(&[])),
            (
                "ada@example.org,\r\n bob@example.org ",
                owners(&["ada@example.org", "bob@example.org"]),
            ),
        ] {
            assert_eq!(NamedOwners::parse(raw), Ok(named), "{raw}");
        }
        assert_eq!(NamedOwners::parse("ada"), Err(InvalidDomain::Owners));
        let many = "a@example.org ".repeat(MAX_OWNERS + 1);
        let many = NamedOwners::parse(&many);
        assert_eq!(many, Err(InvalidDomain::ManyOwners(MAX_OWNERS)));
    }

    #[test]
    fn a_host_does_not_lead_to_itself() {
        let host = DomainHost::parse("go.example:8443").unwrap();
        let edit = |url: &str| {
            let fields = DomainFields {
                root_url: FieldEdit::Set(url.to_owned()),
                ..DomainFields::default()
            };
            fields.checked(&host, None).map(drop)
        };
        assert_eq!(edit("https://example.org/"), Ok(()));
        let back = edit("https://GO.example/a").unwrap_err();
        assert_eq!(
            back.to_string(),
            "root_url: must not lead back to this host"
        );
        assert!(edit("ftp://example.org").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_of_owners_panic(raw in "\\PC{0,60}") {
            let _ = NamedOwners::parse(&raw);
        }
    }
}
