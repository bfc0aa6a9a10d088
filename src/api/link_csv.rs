//! Links as lines of CSV.
//!
//! A spreadsheet takes a cell that begins with one of a few characters for a formula. Such cells are written with an
//! apostrophe before them, which spreadsheets do not show, and read without it. A cell that has such an apostrophe of its
//! own gets a second one.

use csv::{Terminator, WriterBuilder};

use crate::domain::{Timestamp, Title};
use crate::import::guarded;
use crate::links::ListedLink;

/// The columns of an export, in their order.
const EXPORTED: [&str; 14] = [
    "id",
    "short_code",
    "short_url",
    "target_url",
    "title",
    "tags",
    "clicks",
    "is_active",
    "status",
    "created_at",
    "updated_at",
    "expires_at",
    "max_clicks",
    "forward_query",
];

/// The header line of an export.
pub(super) fn header() -> Vec<u8> {
    let mut line = EXPORTED.join(",").into_bytes();
    line.extend_from_slice(b"\r\n");
    line
}

/// Adds a line of an export.
pub(super) fn write(
    listed: &ListedLink<'_>,
    short_url: &str,
    out: &mut Vec<u8>,
) -> Result<(), csv::Error> {
    let (link, properties) = (listed.link, &listed.link.properties);
    let title = properties.title.as_ref().map_or("", Title::as_str);
    let end = properties.expires_at.as_ref().map(Timestamp::to_string);
    let max = properties.max_clicks.map(|max| max.number().to_string());
    let cells = [
        link.id.number().to_string(),
        guarded(link.code.as_str()).into_owned(),
        short_url.to_owned(),
        guarded(properties.target.as_str()).into_owned(),
        guarded(title).into_owned(),
        guarded(&properties.tags.to_string()).into_owned(),
        listed.clicks.to_string(),
        properties.is_active.to_string(),
        listed.status.as_str().to_owned(),
        link.created_at.with_micros(),
        link.updated_at.with_micros(),
        end.unwrap_or_default(),
        max.unwrap_or_default(),
        properties.forward_query.to_string(),
    ];
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    writer.write_record(cells)?;
    Ok(writer.flush()?)
}
