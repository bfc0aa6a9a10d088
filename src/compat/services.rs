//! What the rooms stand on: the services of this program, and its address.

use std::sync::Arc;

use crate::accounts::Accounts;
use crate::config::BaseUrl;
use crate::domain::ShortCode;
use crate::http::paths::parse_code;
use crate::links::LinkService;

/// The services, and the address of this one; cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// Keys and their accounts.
    pub accounts: Arc<Accounts>,
    /// Links of owners.
    pub links: Arc<LinkService>,
    /// The address of this service.
    pub site: Site,
}

/// The public address of the service; cheap to clone.
#[derive(Clone)]
pub struct Site(Arc<str>);

impl From<&BaseUrl> for Site {
    fn from(base_url: &BaseUrl) -> Self {
        Self(base_url.as_str().into())
    }
}

impl Site {
    /// The address that people share.
    pub(super) fn short_url(&self, code: &ShortCode) -> String {
        format!("{}/{code}", self.0)
    }

    /// Host, and its port if it has a port.
    pub(super) fn host(&self) -> &str {
        self.0.split_once("://").map_or(&self.0, |(_, host)| host)
    }

    /// The code of a short URL of this service, or only a code.
    pub(super) fn code_of(&self, raw: &str) -> Option<ShortCode> {
        let rest = raw.split_once("://").map_or(raw, |(_, rest)| rest);
        let code = match rest.split_once('/') {
            Some((host, code)) if host.eq_ignore_ascii_case(self.host()) => code,
            None if rest.len() == raw.len() => rest,
            _ => return None,
        };
        parse_code(code.strip_suffix('/').unwrap_or(code))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn site() -> Site {
        Site::from(&BaseUrl::parse("https://sho.rt").unwrap())
    }

    #[test]
    fn a_code_is_read_alone_or_from_a_short_url_of_this_service() {
        let code = ShortCode::parse("K7mXq2R").unwrap();
        for raw in [
            "K7mXq2R",
            "https://sho.rt/K7mXq2R",
            "http://SHO.rt/K7mXq2R/",
            "sho.rt/K7mXq2R",
        ] {
            assert_eq!(site().code_of(raw).as_ref(), Some(&code), "{raw}");
        }
        for raw in [
            "",
            "https://other.example/K7mXq2R",
            "https://K7mXq2R",
            "docs",
            "a/b",
            "https://sho.rt/a/b",
        ] {
            assert_eq!(site().code_of(raw), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_short_url_is_read_back(raw in "[A-Za-z0-9_-]{1,64}") {
            if let Some(code) = parse_code(&raw) {
                prop_assert_eq!(site().code_of(&site().short_url(&code)), Some(code));
            }
        }

        #[test]
        fn any_other_text_is_no_code(raw in "\\PC*") {
            if let Some(code) = site().code_of(&raw) {
                prop_assert!(raw.contains(code.as_str()));
            }
        }
    }
}
