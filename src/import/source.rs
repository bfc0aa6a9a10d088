//! The services whose exports can be imported.

use clap::ValueEnum;

use super::format::Format;
use super::{
    bitly, chhoto, dub, firebase, kutt, own, polr, rebrandly, shlink, shortio, sink, tinyurl,
    yourls,
};

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
    /// Dub: JSON of its API (GET /links), or CSV.
    Dub,
    /// Sink: JSON, as its page of migration writes it.
    Sink,
    /// Short.io: JSON of its API (GET /api/links), or CSV with its names.
    Shortio,
    /// Rebrandly: JSON of its API (GET /v1/links), or CSV with its names.
    Rebrandly,
    /// Polr: its table of links as CSV; a secret ending becomes a password.
    Polr,
    /// `TinyURL`: JSON of its API (GET /urls/available), or CSV with its names.
    #[value(name = "tinyurl")]
    TinyUrl,
    /// Firebase Dynamic Links: a table with short links and long links.
    Firebase,
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
            Self::Dub => &dub::FORMAT,
            Self::Sink => &sink::FORMAT,
            Self::Shortio => &shortio::FORMAT,
            Self::Rebrandly => &rebrandly::FORMAT,
            Self::Polr => &polr::FORMAT,
            Self::TinyUrl => &tinyurl::FORMAT,
            Self::Firebase => &firebase::FORMAT,
            Self::Csv => &own::TABLE,
        }
    }

    /// Whether it is this service's own form, as opposed to that of another service.
    #[must_use]
    pub fn is_own(self) -> bool {
        self.format().is_own
    }
}
