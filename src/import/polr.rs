//! Polr: its table `links` as CSV.

use super::format::Format;
use super::reading::Reading;
use super::record::Record;
use crate::domain::FieldEdit;

/// `database/migrations/2015_11_04_015813_create_link_table.php` of <https://github.com/cydrobolt/polr>.
pub(super) const FORMAT: Format = Format {
    name: "an export of Polr",
    target: &["long_url"],
    codes: &["short_url"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["short_url"])?.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    link.read("clicks", &["clicks"]);
    let is_disabled = link.flag("is_active", &["is_disabled"]);
    link.link.fields.is_active = FieldEdit::Set(!is_disabled.unwrap_or(false));
    // A visitor has to know it, too.
    link.read("password", &["secret_key"]);
}
