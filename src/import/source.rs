//! The services whose exports can be imported.

use clap::ValueEnum;

use super::format::Format;
use super::{bitly, chhoto, kutt, own, shlink, yourls};

/// Which service wrote the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// `shunt export`: CSV or NDJSON. A list of refused links is read as this, whichever service is named.
    Shunt,
    /// Kutt: JSON of its API (GET /api/v2/links), or its table of links as CSV.
    Kutt,
    /// YOURLS: its table of links as CSV, the CSV of the plugin Import Export, or JSON of its API (action=stats).
    Yourls,
    /// Shlink: JSON of its API (GET /rest/v3/short-urls), or CSV as its web client writes it.
    Shlink,
    /// Bitly: CSV, or JSON of its API (GET /v4/groups/…/bitlinks).
    Bitly,
    /// Chhoto URL: JSON of its API (GET /api/all).
    Chhoto,
    /// A table of your own, with columns named as in `shunt export`; only `target_url` is required.
    Csv,
}

impl Source {
    /// How its exports are read.
    #[must_use]
    pub fn format(self) -> &'static Format {
        match self {
            Self::Shunt => &own::EXPORT,
            Self::Kutt => &kutt::FORMAT,
            Self::Yourls => &yourls::FORMAT,
            Self::Shlink => &shlink::FORMAT,
            Self::Bitly => &bitly::FORMAT,
            Self::Chhoto => &chhoto::FORMAT,
            Self::Csv => &own::TABLE,
        }
    }

    /// Whether it is this service's own form, as opposed to that of another service.
    #[must_use]
    pub fn is_own(self) -> bool {
        self.format().is_own
    }
}
