//! Who may register.

use std::sync::Arc;

use super::EmailAddress;

/// Who may register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Everybody.
    Open,
    /// No client: accounts are made by hand.
    Closed,
    /// Owners of addresses at one of these domains, in punycode and lower case.
    At(Arc<[String]>),
}

/// Why a registration is refused; its text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationRefused {
    /// No client may register.
    #[error("Registration is closed; ask the operator of this service for an account")]
    Closed,
    /// The address is at another domain.
    #[error("email: must be an address at {0}")]
    OtherDomain(String),
}

impl Registration {
    /// Reads the setting: `open`, `closed`, or domains with commas between.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(raw: &str) -> Result<Self, String> {
        match raw.trim() {
            "open" => return Ok(Self::Open),
            "closed" => return Ok(Self::Closed),
            _ => {}
        }
        let domains: Result<Vec<_>, String> = raw
            .split(',')
            .map(str::trim)
            .filter(|domain| !domain.is_empty())
            .map(|domain| {
                let ascii = normal(domain).filter(|ascii| ascii.contains('.'));
                ascii.ok_or_else(|| {
                    format!(
                        "`{domain}` is not a domain; give open, closed, or domains such as example.org"
                    )
                })
            })
            .collect();
        match domains? {
            domains if domains.is_empty() => Err("must be open, closed, or domains".into()),
            domains => Ok(Self::At(domains.into())),
        }
    }

    /// Whether no client may register.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// The permitted domains of addresses, for people; `None`: any domain.
    #[must_use]
    pub fn domains(&self) -> Option<String> {
        match self {
            Self::Open | Self::Closed => None,
            Self::At(domains) => Some(domains.join(" or ")),
        }
    }

    /// Whether the owner of an address may register.
    ///
    /// # Errors
    /// [`RegistrationRefused`].
    pub fn check(&self, email: &EmailAddress) -> Result<(), RegistrationRefused> {
        match self {
            Self::Open => Ok(()),
            Self::Closed => Err(RegistrationRefused::Closed),
            Self::At(domains) => {
                let domain = email.as_str().rsplit_once('@').map(|(_, domain)| domain);
                let domain = domain.and_then(normal);
                if domain.is_some_and(|domain| domains.contains(&domain)) {
                    Ok(())
                } else {
                    Err(RegistrationRefused::OtherDomain(domains.join(" or ")))
                }
            }
        }
    }
}

/// A domain in punycode and lower case; `None` for a text that is not a domain.
fn normal(domain: &str) -> Option<String> {
    let ascii = idna::domain_to_ascii(domain).ok()?;
    let is_domain = ascii
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    (is_domain && !ascii.is_empty()).then_some(ascii)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(who: &str, email: &str) -> Option<RegistrationRefused> {
        let email = EmailAddress::parse(email.to_owned()).unwrap();
        Registration::parse(who).unwrap().check(&email).err()
    }

    #[test]
    fn addresses_at_the_domains_may_register_and_no_others() {
        let who = "example.org, BÜCHER.example";
        for email in ["a@example.org", "a@EXAMPLE.org", "a@bücher.example"] {
            assert_eq!(refused(who, email), None, "{email}");
        }
        for email in [
            "a@example.com",
            "a@sub.example.org",
            "a@example.org.evil.example",
        ] {
            assert!(refused(who, email).is_some(), "{email}");
        }
        assert_eq!(refused("open", "a@example.com"), None);
        assert_eq!(
            refused("closed", "a@example.org"),
            Some(RegistrationRefused::Closed)
        );
    }

    proptest! {
        #[test]
        fn a_setting_is_read_or_refused_with_a_sentence(raw in "(open|closed|[a-zü.,@ -]{0,30})") {
            match Registration::parse(&raw) {
                Ok(Registration::At(domains)) => prop_assert!(domains.iter().all(|domain| domain.contains('.'))),
                Ok(_) => prop_assert!(matches!(raw.trim(), "open" | "closed")),
                Err(sentence) => prop_assert!(!sentence.is_empty()),
            }
        }
    }
}
