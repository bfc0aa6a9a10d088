//! Chhoto URL: the JSON of its API.

use shunt::domain::Timestamp;

use super::format::Format;
use super::link::ImportedLink;
use super::record::Record;

/// <https://github.com/SinTan1729/chhoto-url/blob/main/docs/CLI.md>, `GET /api/all`: an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Chhoto URL",
    target: &["longlink"],
    codes: &["shortlink"],
    known: None,
    is_guarded: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["shortlink"])?.map(Into::into))
}

fn link(record: &Record, target: String) -> Result<ImportedLink, String> {
    let mut link = ImportedLink::to(target).with_title(record.text(&["notes"])?);
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
