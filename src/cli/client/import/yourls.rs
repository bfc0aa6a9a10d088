//! YOURLS: its table `yourls_url` as CSV, or the CSV of the plugin Import Export.

use super::format::{Format, code_of};
use super::link::ImportedLink;
use super::record::Record;

/// The table has the columns keyword, url, title, timestamp, ip and clicks; the plugin writes source, target and hits.
pub(super) const FORMAT: Format = Format {
    needed: &[&["url", "target"], &["keyword", "source"]],
    known: None,
    is_guarded: false,
    link,
};

/// How databases write that there is no value.
const NO_VALUE: [&str; 2] = ["NULL", "\\N"];

fn link(record: &Record) -> Result<ImportedLink, String> {
    let target = record.needed_text(&["url", "target"])?;
    let title = record.text(&["title"])?;
    let title = title.filter(|title| !NO_VALUE.contains(&title.as_ref()));
    let mut link = ImportedLink::to(target).with_title(title);
    let keyword = record.text(&["keyword"])?.map(Into::into);
    // The plugin writes the path: `/keyword/`.
    let source = record.text(&["source"])?;
    link.custom_code = keyword.or_else(|| code_of(&source?));
    // Kutt's entries have a target, too, and passwords that YOURLS does not know.
    if link.custom_code.is_none() {
        return Err("has no keyword: is this an export of YOURLS?".into());
    }
    link.clicks = record.number(&["clicks", "hits"])?.unwrap_or(0);
    Ok(link)
}
