//! The file of the blocklist.

use std::fs;
use std::io;
use std::path::Path;

use ring::digest::{SHA256, digest};

use crate::domain::{Blocklist, InvalidBlocklist, io_reason};

/// Why a file is not a blocklist.
#[derive(Debug, thiserror::Error)]
pub enum BlocklistError {
    /// It cannot be read, or is not text.
    #[error("{}", io_reason(.0))]
    Read(#[from] io::Error),
    /// A line is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidBlocklist),
}

/// Names the way in which URLs are compared. A version that compares in another way has another word here, and scans all links again.
const FORM: &str = "one spelling of hosts, paths and parameters\n";

/// Reads a blocklist.
///
/// # Errors
/// [`BlocklistError`].
pub fn read_blocklist(path: &Path) -> Result<Blocklist, BlocklistError> {
    let text = String::from_utf8(fs::read(path)?);
    let text = text.map_err(|_| io::Error::other("is not UTF-8"))?;
    let digest = digest(&SHA256, [FORM, &text].concat().as_bytes());
    let number = digest.as_ref().first_chunk().copied();
    let number = u128::from_be_bytes(number.unwrap_or_default());
    Ok(Blocklist::parse(&text, format!("{number:032x}"))?)
}
