//! The identity provider to which people sign in, by the names that the two have for each other.

use std::fmt;

use url::Url;

/// Longest issuer that is accepted.
const MAX_BYTES: usize = 512;

/// Where a provider describes itself, below its issuer.
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// The name of an `OpenID` provider: an address, which is compared letter by letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    host: String,
}

impl Issuer {
    /// Reads an issuer.
    ///
    /// # Errors
    /// What is wrong with it, and how to correct it.
    pub fn parse(raw: &str) -> Result<Self, String> {
        if raw.ends_with(DISCOVERY) {
            return Err(format!(
                "is the address of the discovery document; give it without {DISCOVERY}"
            ));
        }
        let url = Url::parse(raw).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(url) = url.filter(|_| raw.len() <= MAX_BYTES) else {
            return Err(format!(
                "`{raw}` is not an address; give the issuer of the provider, such as https://login.example.org/realms/home"
            ));
        };
        let is_plain = url.query().is_none() && url.fragment().is_none();
        if !is_plain || !url.username().is_empty() || url.password().is_some() {
            return Err("must be without a user name, a password, `?` and `#`".into());
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        Ok(Self {
            text: raw.to_owned(),
            host,
        })
    }

    /// Its text, as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its host, by which people know it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is asked over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Where it describes itself.
    #[must_use]
    pub fn discovery(&self) -> String {
        format!("{}{DISCOVERY}", self.text.trim_end_matches('/'))
    }
}

/// What the service proves to the provider that it is.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// Reads a secret.
    ///
    /// # Errors
    /// If no provider can have drawn it.
    pub fn parse(raw: &str) -> Result<Self, String> {
        if raw.chars().any(char::is_control) || raw.len() > MAX_BYTES {
            return Err("must be the client secret of the provider, in one line".into());
        }
        Ok(Self(raw.to_owned()))
    }

    /// The secret itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// No log has it.
impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_issuer_is_kept_letter_by_letter() {
        for raw in [
            "https://accounts.google.com",
            "https://login.example.org/realms/home",
            "https://auth.example.org/application/o/shunt/",
            "http://127.0.0.1:9000",
        ] {
            assert_eq!(Issuer::parse(raw).unwrap().as_str(), raw);
        }
        let issuer = Issuer::parse("https://auth.example.org/o/shunt/").unwrap();
        assert_eq!(
            (issuer.host(), issuer.discovery().as_str()),
            (
                "auth.example.org",
                "https://auth.example.org/o/shunt/.well-known/openid-configuration"
            )
        );
    }

    #[test]
    fn what_is_no_issuer_is_refused_with_the_remedy() {
        for (raw, why) in [
            ("login.example.org", "is not an address"),
            ("ftp://login.example.org", "is not an address"),
            ("https://login.example.org?x=1", "must be without"),
            ("https://ada:b@login.example.org", "must be without"),
            (
                "https://login.example.org/.well-known/openid-configuration",
                "give it without /.well-known/openid-configuration",
            ),
        ] {
            let refusal = Issuer::parse(raw).unwrap_err();
            assert!(refusal.contains(why), "{raw}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_issuer_unchanged_or_refused(raw in "(https?://)?\\PC{0,40}") {
            if let Ok(issuer) = Issuer::parse(&raw) {
                prop_assert_eq!(issuer.as_str(), &raw);
            }
            if let Ok(secret) = ClientSecret::parse(&raw) {
                prop_assert_eq!(secret.expose(), &raw);
            }
        }
    }
}
