//! What keys may do.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What a key may do.
#[derive(Clone, Copy, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    /// Read links and their statistics.
    Read,
    /// Create, change and delete links, too.
    Write,
    /// Only create links: for a script or program that you do not trust with more.
    Create,
}

impl Scope {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
        }
    }
}
