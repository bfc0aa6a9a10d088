//! A link that an argument names.

use std::fmt;

use shunt::domain::ShortCode;
use url::form_urlencoded::byte_serialize;

/// A link by its code and, unless it is the service's own, its host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedLink {
    code: ShortCode,
    host: Option<String>,
}

/// As a person names it.
impl fmt::Display for NamedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "{host}/{}", self.code),
            None => self.code.fmt(f),
        }
    }
}

impl NamedLink {
    /// The link with this code at the service's own host.
    pub(super) fn own(code: ShortCode) -> Self {
        Self { code, host: None }
    }

    /// The link with this code at another host.
    pub(super) fn at(host: &str, code: ShortCode) -> Self {
        let host = Some(host.to_owned());
        Self { code, host }
    }

    /// Its code.
    pub(super) fn code(&self) -> &ShortCode {
        &self.code
    }

    /// Its path in the API with what follows, such as `/stats`.
    pub(super) fn path(&self, rest: &str) -> String {
        self.with_host(format!("/urls/{}{rest}", self.code))
    }

    /// Its path in the API while it is in the bin.
    pub(super) fn path_in_bin(&self) -> String {
        self.with_host(format!("/urls/trash/{}", self.code))
    }

    fn with_host(&self, path: String) -> String {
        match &self.host {
            Some(host) => {
                let host: String = byte_serialize(host.as_bytes()).collect();
                format!("{path}?domain={host}")
            }
            None => path,
        }
    }
}
