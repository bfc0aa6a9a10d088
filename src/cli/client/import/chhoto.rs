//! Chhoto URL: the JSON of its API.

use shunt::domain::Timestamp;

use super::format::Format;
use super::link::ImportedLink;
use super::record::Record;

/// <https://github.com/SinTan1729/chhoto-url/blob/main/docs/CLI.md>, `GET /api/all`: an array of links.
pub(super) const FORMAT: Format = Format {
    needed: &[&["longlink"], &["shortlink"]],
    known: None,
    is_guarded: false,
    link,
};

fn link(record: &Record) -> Result<ImportedLink, String> {
    let target = record.needed_text(&["longlink"])?;
    let mut link = ImportedLink::to(target).with_title(record.text(&["notes"])?);
    link.custom_code = record.text(&["shortlink"])?.map(Into::into);
    link.clicks = record.number(&["hits"])?.unwrap_or(0);
    // Seconds since 1970; 0 stands for no end.
    if let Some(seconds) = record
        .number(&["expirytime"])?
        .filter(|seconds| *seconds > 0)
    {
        let micros = i64::try_from(seconds)
            .ok()
            .and_then(|seconds| seconds.checked_mul(1_000_000));
        let end = micros.and_then(Timestamp::from_micros);
        link.expires_at = Some(end.ok_or("expiry_time: is no time")?);
    }
    Ok(link)
}
