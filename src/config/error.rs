//! A setting that is wrong.

use std::error::Error;

/// A setting that stops the start: its name, what is wrong with it and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {fault}")]
pub struct ConfigError {
    name: String,
    fault: String,
}

impl ConfigError {
    pub(super) fn new(name: &str, fault: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            fault: fault.into(),
        }
    }

    /// The invalid setting because of which clap refused a command line; `None` if clap had another reason.
    /// Clap's own sentence would show the value, which may be a secret.
    #[must_use]
    pub fn behind(refusal: &clap::Error) -> Option<&Self> {
        refusal.source()?.downcast_ref()
    }
}
