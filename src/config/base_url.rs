//! The public address of the service.

use url::Url;

use crate::domain::OwnHost;

/// Public address of the service: scheme, host and maybe a port, without a slash at its end.
#[derive(Clone)]
pub struct BaseUrl {
    text: String,
    own_host: OwnHost,
}

impl BaseUrl {
    /// Checks an address.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(raw: &str) -> Result<Self, String> {
        const NO_ADDRESS: &str =
            "is not an http:// or https:// address; give an address such as https://sho.rt";
        let (_, address) = raw.split_once("://").ok_or(NO_ADDRESS)?;
        let url = Url::parse(raw).map_err(|_| NO_ADDRESS)?;
        if raw.contains(',') {
            return Err("must be a single address; remove the comma and what follows".into());
        }
        if !matches!(url.scheme(), "http" | "https")
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err("must be an http:// or https:// address without ? and #".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must be without a user name and password: it is public".into());
        }
        // The parser forgives more slashes than two, and reads a backslash as a slash.
        let has_slashes = address.contains("//") || address.starts_with('/') || raw.contains('\\');
        if has_slashes || url.path() != "/" {
            return Err("must have no path and no extra slashes, because links and pages are at the root of the host; use a host only for shunt, such as https://s.example.org".into());
        }
        let own_host =
            OwnHost::of(&url).ok_or("has no host; give an address such as https://sho.rt")?;
        Ok(Self {
            // As a browser would write it: it is put into headers.
            text: url.as_str().trim_end_matches('/').to_owned(),
            own_host,
        })
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host of this service: targets on it are refused.
    #[must_use]
    pub fn own_host(&self) -> &OwnHost {
        &self.own_host
    }
}
