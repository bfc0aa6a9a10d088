//! A file of links: which form it has, and its links.

use std::io::{BufRead, BufReader, Read};

use super::encoding::{Decoded, Encoding};
use super::entry::Unreadable;
use super::format::{Format, Matched};
use super::json;
use super::pages::OtherPages;
use super::reading::TakesLinks;
use super::table::{EMPTY, Table};
use crate::domain::io_reason;

/// Length of the start of a file, which shows its form.
const START: usize = 64 * 1024;

/// Reads all links of a file in this encoding, in memory that does not grow with it. Returns what the service that wrote it
/// has on other pages.
///
/// # Errors
/// Where it cannot be read on.
pub fn read_file(
    input: impl Read,
    encoding: Encoding,
    format: &'static Format,
    taker: &mut dyn TakesLinks,
) -> Result<Option<OtherPages>, Unreadable> {
    read_matched(input, encoding, format, &[], taker)
}

/// The same of a table of which each column is the field that is named here. A column that is not named keeps its name.
///
/// # Errors
/// As above.
pub fn read_matched(
    input: impl Read,
    encoding: Encoding,
    format: &'static Format,
    matched: &[Matched],
    taker: &mut dyn TakesLinks,
) -> Result<Option<OtherPages>, Unreadable> {
    let input: Box<dyn Read + '_> = Box::new(input);
    let mut input = BufReader::with_capacity(START, Decoded::new(input, encoding));
    let start = input.fill_buf();
    let start = start
        .map_err(|error| Unreadable::new(1, format!("cannot be read: {}", io_reason(&error))))?;
    let refused = |why: &str| Err(Unreadable::new(1, why.into()));
    let line = start.split(|byte| *byte == b'\n').next();
    if line.is_some_and(|line| line.contains(&0)) {
        return refused("the file is not text");
    }
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => refused(EMPTY),
        Some(b'[' | b'{') => json::read(input, format, taker),
        Some(_) => {
            let mut table = Table::of_text(input, format, matched)?;
            while let Some(link) = table.next_link()? {
                if taker.take(link).is_break() {
                    break;
                }
            }
            Ok(None)
        }
    }
}
