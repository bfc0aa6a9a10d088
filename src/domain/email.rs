//! E-mail addresses: kept as given, compared by the mailbox that they name.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use email_address::Options;
use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use url::Host;

/// Longest address that mail can be sent to (RFC 5321, 4.5.3.1.3, less the angle brackets).
const MAX_LENGTH: usize = 254;

/// A syntactically valid e-mail address, with a host of at least two labels.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailAddress(String);

/// Why a string is not an e-mail address; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("email: this is not a valid e-mail address")]
pub struct InvalidEmail;

impl EmailAddress {
    /// Checks an address.
    ///
    /// # Errors
    /// [`InvalidEmail`] for anything but `local@domain.tld` of at most 254 bytes.
    pub fn parse(raw: String) -> Result<Self, InvalidEmail> {
        let options = Options::default()
            .with_required_tld()
            .without_domain_literal()
            .without_display_text();
        let fits = raw.len() <= MAX_LENGTH && !raw.chars().any(|c| c.is_control() || c == ' ');
        // The library accepts letters, but not the combining marks of many scripts.
        let letters: String = raw.chars().filter(|c| !is_combining_mark(*c)).collect();
        let parsed = email_address::EmailAddress::parse_with_options(&letters, options);
        let is_whole = |(local, host): (&str, &str)| {
            // Nothing would be left of a local part that is not seen.
            is_host_name(host) && !matches!(&*local_key(local), "" | "\"\"")
        };
        if fits && parsed.is_ok() && raw.rsplit_once('@').is_some_and(is_whole) {
            Ok(Self(raw))
        } else {
            Err(InvalidEmail)
        }
    }

    /// An address from the database: it was checked before it was stored.
    #[must_use]
    pub fn from_stored(raw: String) -> Self {
        Self(raw)
    }

    /// The address as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form under which an address is unique: all spellings of one mailbox have the same. The host is in the form of
    /// the DNS (UTS 46, punycode). The local part is in lower case, with one form of the small sigma, in NFKC (full-width
    /// letters are letters), and without characters that are not seen and quotes that nothing needs.
    #[must_use]
    pub fn lookup_key(&self) -> String {
        let (local, host) = self.parts();
        match Host::parse(host) {
            Ok(host) => format!("{}@{host}", local_key(local)),
            // Only an address from the database can have such a host.
            Err(_) => self.older_key(),
        }
    }

    /// The part before the `@`, in the form of [`EmailAddress::lookup_key`].
    #[must_use]
    pub fn name(&self) -> String {
        local_key(self.parts().0)
    }

    /// The keys under which an account with this address may be kept, the best match first. Older versions kept an
    /// address in lower case and NFC, and so may have kept several accounts of one mailbox: each goes on under the
    /// spelling that it was registered with.
    #[must_use]
    pub fn lookup_keys(&self) -> [String; 3] {
        let (local, host) = self.parts();
        let (host, _) = idna::domain_to_unicode(host);
        let in_letters = Self(format!("{local}@{host}"));
        [self.older_key(), self.lookup_key(), in_letters.older_key()]
    }

    fn older_key(&self) -> String {
        let lower = self.0.to_lowercase();
        lower.nfc().collect::<String>().replace('ς', "σ")
    }

    fn parts(&self) -> (&str, &str) {
        self.0.rsplit_once('@').unwrap_or((&self.0, ""))
    }
}

fn local_key(local: &str) -> String {
    let hidden = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let seen: String = local.nfkc().filter(|c| !hidden.contains(*c)).collect();
    let lower = without_quotes(&seen).to_lowercase();
    lower.nfkc().collect::<String>().replace('ς', "σ")
}

/// `"ada"` is `ada` (RFC 5321, 4.1.2); necessary quotes stay.
fn without_quotes(local: &str) -> Cow<'_, str> {
    let Some(quoted) = local
        .strip_prefix('"')
        .and_then(|local| local.strip_suffix('"'))
    else {
        return local.into();
    };
    let mut plain = String::with_capacity(quoted.len());
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        let escaped = (character == '\\').then(|| characters.next()).flatten();
        plain.push(escaped.unwrap_or(character));
    }
    let is_atom = |atom: &str| {
        let is_special = |c: char| c.is_whitespace() || "()<>[]:;@\\,\"".contains(c);
        !atom.is_empty() && !atom.contains(is_special)
    };
    if plain.split('.').all(is_atom) {
        plain.into()
    } else {
        local.into()
    }
}

/// Whether a host can have this name: once written in ASCII it has letters, digits and hyphens, and is not an IP address.
fn is_host_name(domain: &str) -> bool {
    // `Host` would take %2e for a dot.
    let Ok(Host::Domain(name)) = Host::parse(domain) else {
        return false;
    };
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !domain.contains('%') && name.bytes().all(is_allowed)
}

impl FromStr for EmailAddress {
    type Err = InvalidEmail;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        Self::parse(raw.to_owned())
    }
}

/// Whole addresses never reach a log.
impl fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailAddress(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_is_kept_as_given_and_looked_up_in_lower_case() {
        let email: EmailAddress = "Ada.Lovelace@Example.ORG".parse().unwrap();
        assert_eq!(email.as_str(), "Ada.Lovelace@Example.ORG");
        assert_eq!(email.lookup_key(), "ada.lovelace@example.org");
    }

    #[test]
    fn a_sigma_is_the_same_letter_at_the_end_of_a_word_and_in_capitals() {
        let key = |raw: &str| raw.parse::<EmailAddress>().unwrap().lookup_key();
        assert_eq!(key("νίκος.παπάς@x.gr"), key("ΝΊΚΟΣ.ΠΑΠΆΣ@X.GR"));
        assert_eq!(key("νίκος1@x.gr"), key("ΝΊΚΟΣ1@x.gr"));
    }

    #[test]
    fn every_script_may_write_its_letters_with_marks() {
        for raw in [
            "राम@उदाहरण.भारत",
            "हिन्दी@example.org",
            "สมชัย@example.org",
            "jose\u{301}@example.org",
        ] {
            assert!(raw.parse::<EmailAddress>().is_ok(), "{raw:?}");
        }
        for raw in ["\u{301}@example.org", "a@\u{301}.org"] {
            assert!(raw.parse::<EmailAddress>().is_err(), "{raw:?}");
        }
    }

    #[test]
    fn a_letter_with_a_mark_is_the_same_however_it_is_typed() {
        let key = |raw: &str| raw.parse::<EmailAddress>().unwrap().lookup_key();
        assert_eq!(key("jos\u{e9}@example.org"), key("JOSE\u{301}@example.org"));
    }

    #[test]
    fn an_address_that_no_spelling_changes_is_its_own_key_and_that_of_older_versions() {
        for raw in [
            "ada@example.org",
            "jos\u{e9}@example.org",
            "\"a@b\"@example.org",
        ] {
            let keys = raw.parse::<EmailAddress>().unwrap().lookup_keys();
            assert_eq!(keys, [raw; 3]);
        }
    }

    #[test]
    fn quotes_that_are_needed_stay() {
        let key = |raw: &str| raw.parse::<EmailAddress>().unwrap().lookup_key();
        assert_eq!(key("\"Ada.L\"@example.org"), "ada.l@example.org");
        assert_eq!(key("\"a\\da\"@example.org"), "ada@example.org");
        for needed in ["\"a@b\"@example.org", "\"a..b\"@example.org"] {
            assert_eq!(key(needed), needed);
        }
    }

    #[test]
    fn a_host_may_have_its_own_letters() {
        for raw in ["a@bücher.example", "a@xn--bcher-kva.example", "a@почта.рф"] {
            assert!(raw.parse::<EmailAddress>().is_ok(), "{raw:?}");
        }
    }

    #[test]
    fn an_address_that_mail_cannot_be_sent_to_is_refused() {
        let long = format!("{}@example.org", "a".repeat(250));
        for raw in [
            "",
            "a",
            "@example.org",
            "a@",
            "a@b",
            "a b@example.org",
            "a@example.org ",
            "a@exa mple.org",
            "Ada <a@example.org>",
            "a@@example.org",
            "a@example..org",
            "a@example.org\n",
            "a@example.org/x",
            "a@b.1",
            "a@127.0.0.1",
            "a@exam_ple.org",
            "a@example%2eorg.com",
            "a@example!.org",
            "\u{200b}@example.org",
            "\u{fe0f}\u{ad}@example.org",
            &long,
        ] {
            assert!(raw.parse::<EmailAddress>().is_err(), "{raw:?}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_address_is_kept_as_given_and_mail_can_be_sent_to_it(
            raw in prop_oneof![any::<String>(), "[!-~ä ]{1,8}@[a-zA-Z0-9ü.-]{1,12}(\\.[a-z]{0,4})?[ \n]?"],
        ) {
            if let Ok(email) = raw.parse::<EmailAddress>() {
                prop_assert_eq!(email.as_str(), &raw);
                prop_assert!(raw.len() <= MAX_LENGTH);
                prop_assert!(!raw.chars().any(|c| c.is_control() || c.is_whitespace()));
                let (local, host) = raw.rsplit_once('@').unwrap();
                prop_assert!(!local.is_empty());
                prop_assert!(!email.lookup_key().starts_with('@'));
                prop_assert!(host.split('.').count() >= 2 && host.split('.').all(|label| !label.is_empty()));
            }
        }

        #[test]
        fn the_key_of_a_key_is_the_key(raw in "[a-zA-Z0-9\u{c0}-\u{24f}\u{fe00}-\u{fe0f}\u{ff21}-\u{ff5a}\u{1d400}-\u{1d433}ςΣİ]{1,12}@[a-z\u{e0}-\u{ff}\u{ff41}-\u{ff5a}]{1,8}\\.org") {
            if let Ok(email) = raw.parse::<EmailAddress>() {
                let key = email.lookup_key();
                let again = EmailAddress::from_stored(key.clone());
                prop_assert_eq!(again.lookup_key(), key);
            }
        }

        #[test]
        fn a_plain_address_is_accepted_and_has_one_key_in_every_case(
            raw in "[a-zA-Z0-9]{1,20}([._+-][a-zA-Z0-9]{1,20})?@[a-zA-Z0-9]{1,20}(-[a-z0-9]{1,9})?\\.[a-zA-Z]{2,6}",
        ) {
            let email: EmailAddress = raw.parse().unwrap();
            let shouted: EmailAddress = raw.to_uppercase().parse().unwrap();
            prop_assert_eq!(email.lookup_key(), shouted.lookup_key());
        }
    }
}
