//! The services whose links are read from their API.

use serde::{Deserialize, Serialize};
use shunt::import::Source;

/// A protocol whose links can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Protocol {
    Shlink,
    Kutt,
    Yourls,
}

impl Protocol {
    /// Of a service whose API is known.
    pub(super) fn of(source: Source) -> Option<Self> {
        match source {
            Source::Shlink => Some(Self::Shlink),
            Source::Kutt => Some(Self::Kutt),
            Source::Yourls => Some(Self::Yourls),
            _ => None,
        }
    }

    /// In names of files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Shlink => "shlink",
            Self::Kutt => "kutt",
            Self::Yourls => "yourls",
        }
    }

    /// In sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Shlink => "Shlink",
            Self::Kutt => "Kutt",
            Self::Yourls => "YOURLS",
        }
    }
}
