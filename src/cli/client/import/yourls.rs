//! YOURLS: its table `yourls_url` as CSV, or the CSV of the plugin Import Export.

use super::format::{Format, code_of};
use super::link::ImportedLink;
use super::record::Record;

/// The table has the columns keyword, url, title, timestamp, ip and clicks; the plugin writes source, target and hits.
pub(super) const FORMAT: Format = Format {
    name: "an export of YOURLS",
    target: &["url", "target"],
    codes: &["keyword", "source"],
    known: None,
    is_guarded: false,
    code,
    link,
};

/// How databases write that there is no value.
const NO_VALUE: [&str; 2] = ["NULL", "\\N"];

fn code(record: &Record) -> Result<Option<String>, String> {
    let keyword = record.text(&["keyword"])?.map(Into::into);
    // The plugin writes the path: `/keyword/`.
    let source = record.text(&["source"])?;
    Ok(keyword.or_else(|| code_of(&source?)))
}

fn link(record: &Record, target: String) -> Result<ImportedLink, String> {
    let title = record.text(&["title"])?;
    let title = title.filter(|title| !NO_VALUE.contains(&title.as_ref()));
    let mut link = ImportedLink::to(target).with_title(title);
    link.clicks = record.number(&["clicks", "hits"])?.unwrap_or(0);
    Ok(link)
}
