//! YOURLS: its table `yourls_url` as CSV, the CSV of the plugin Import Export, or the JSON of its API.

use super::format::{Format, code_of};
use super::reading::Reading;
use super::record::Record;
use crate::domain::FieldEdit;

/// The table has no passwords: the plugin for them keeps them as they are, elsewhere. Whoever puts them into a column `password` has
/// them taken over. The table has the columns keyword, url, title, timestamp, ip and clicks; the plugin writes source, target and hits. The API
/// (`action=stats`) has an object `links` with the links `link_1`, `link_2` and so on, each with its `shorturl`.
pub(super) const FORMAT: Format = Format {
    name: "an export of YOURLS",
    target: &["url", "target"],
    codes: &["keyword", "source", "shorturl"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

/// How databases write that there is no value.
const NO_VALUE: [&str; 2] = ["NULL", "\\N"];

fn code(record: &Record) -> Result<Option<String>, String> {
    let keyword = record.text(&["keyword"])?.map(Into::into);
    // The plugin writes the path: `/keyword/`.
    let url = record.text(&["source", "shorturl"])?;
    Ok(keyword.or_else(|| code_of(&url?)))
}

fn link(link: &mut Reading<'_>) {
    let title = link.text("title", &["title"]);
    if let Some(title) = title.filter(|title| !NO_VALUE.contains(&title.as_str())) {
        link.link.set_title(&title);
    }
    link.read("clicks", &["clicks", "hits"]);
    set_password(link);
}

fn set_password(link: &mut Reading<'_>) {
    const NAMES: &[&str] = &["password"];
    let given = link.record.text(NAMES).ok().flatten();
    let given = given.filter(|text| !NO_VALUE.contains(&&**text));
    let Some(is_hash) = given.map(|text| text.starts_with('$')) else {
        return;
    };
    let field = if is_hash { "password_hash" } else { "password" };
    let secret = FieldEdit::set_if(link.secret(field, NAMES));
    if is_hash {
        link.link.fields.password_hash = secret;
    } else {
        link.link.fields.password = secret;
    }
}
