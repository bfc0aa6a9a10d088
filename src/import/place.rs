//! The host of a link at another service, as its file says it.

/// Hosts on which everybody has links: they stay with their services, so that it does not matter where their links are here.
const SHARED: [&str; 7] = [
    "bit.ly",
    "j.mp",
    "dub.sh",
    "dub.link",
    "rebrand.ly",
    "tinyurl.com",
    "short.gy",
];
const SHARED_BELOW: [&str; 2] = [".page.link", ".short.gy"];

/// The host that a file says of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// The other service's own, or the file says nothing.
    #[default]
    Own,
    /// This one, which may be the other service's own.
    Host(String),
    /// This one, which is not the other service's own.
    Second(String),
}

impl Place {
    /// The host of a short URL, with or without a scheme.
    pub(super) fn of_url(short_url: &str) -> Self {
        let rest = short_url
            .split_once("://")
            .map_or(short_url, |(_, rest)| rest);
        let host = rest.split_once('/').map_or("", |(host, _)| host);
        Self::of_host(host)
    }

    /// The host with this name.
    pub(super) fn of_host(host: &str) -> Self {
        let name = host.to_ascii_lowercase();
        let is_shared =
            SHARED.contains(&&*name) || SHARED_BELOW.iter().any(|ending| name.ends_with(ending));
        if host.is_empty() || is_shared {
            Self::Own
        } else {
            Self::Host(host.to_owned())
        }
    }
}
