//! The service's own names: its export, and tables that people make.

use super::format::Format;
use super::link::ImportedLink;
use super::reading::{ReadLink, Reading};
use super::record::Record;

/// `shunt export`. Refused links are listed in the same form.
pub(super) const EXPORT: Format = Format {
    name: "an export of shunt",
    target: &["target_url"],
    codes: &["custom_code", "short_code"],
    may_lack_code: true,
    known: None,
    is_own: true,
    code,
    link,
};

/// A table of people's own: a column that is misspelt must not be ignored.
pub(super) const TABLE: Format = Format {
    name: "a table with the names of the API",
    known: Some(known),
    ..EXPORT
};

fn code(record: &Record) -> Result<Option<String>, String> {
    let code = record.text(EXPORT.codes)?;
    Ok(code.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    for column in &LISTED {
        (column.read)(link, column.name);
    }
    link.note_creation(&["created_at"]);
}

/// The names of all columns. What the service sets of an export is read over, and so is what a list of refused links says of them.
fn known() -> Vec<&'static str> {
    let (given, of_others) = COLUMNS[1..].split_at(8);
    let set = ["created_at", "id", "short_url", "status", "updated_at"];
    let before = ["target_url", "custom_code"];
    [&before, given, &set, of_others, &["line", "reason"]].concat()
}

/// A column: how it is read, and how it is written to a list of links that were refused.
struct Column {
    name: &'static str,
    read: fn(&mut Reading<'_>, &'static str),
    cell: fn(&ImportedLink) -> String,
}

/// The columns of a list of refused links, in their order. Target and code are read as in every format.
const LISTED: [Column; 11] = [
    column("target_url", |_, _| {}, |link| link.target_url.clone()),
    column(
        "short_code",
        |_, _| {},
        |link| text(link.custom_code.as_ref()),
    ),
    column(
        "expires_at",
        |link, name| link.link.expires_at = link.time(name, &[name]),
        |link| text(link.expires_at.as_ref()),
    ),
    column(
        "max_clicks",
        |link, name| link.link.max_clicks = link.number(name, &[name], 1),
        |link| text(link.max_clicks.as_ref()),
    ),
    column(
        "title",
        |link, name| link.link.title = link.text(name, &[name]),
        |link| text(link.title.as_ref()),
    ),
    column(
        "tags",
        |link, name| link.link.tags = link.words(name, &[name], &[',']),
        |link| link.tags.join(","),
    ),
    column(
        "forward_query",
        |link, name| link.link.forward_query = link.flag(name, &[name]).unwrap_or(false),
        |link| link.forward_query.to_string(),
    ),
    column(
        "clicks",
        |link, name| link.set_clicks(&[name]),
        |link| link.clicks.to_string(),
    ),
    column(
        "is_active",
        |link, name| link.link.is_active = link.flag(name, &[name]).unwrap_or(true),
        |link| link.is_active.to_string(),
    ),
    column(
        "starts_at",
        |link, name| link.link.starts_at = link.time(name, &[name]),
        |link| text(link.starts_at.as_ref()),
    ),
    column(
        "has_password",
        |link, name| link.link.is_protected = link.flag(name, &[name]).unwrap_or(false),
        |link| text(link.is_protected.then_some(&true)),
    ),
];

const fn column(
    name: &'static str,
    read: fn(&mut Reading<'_>, &'static str),
    cell: fn(&ImportedLink) -> String,
) -> Column {
    Column { name, read, cell }
}

fn text<T: ToString>(value: Option<&T>) -> String {
    value.map(T::to_string).unwrap_or_default()
}

/// The names of the columns of a list of refused links.
pub const COLUMNS: [&str; 11] = {
    let mut names = [""; 11];
    let mut at = 0;
    while at < names.len() {
        names[at] = LISTED[at].name;
        at += 1;
    }
    names
};

impl ReadLink {
    /// The entry in the columns of a list, with this code: as the file has it, so that it is refused again until its fault is
    /// mended.
    #[must_use]
    pub fn cells(&self, code: &str) -> Vec<Vec<u8>> {
        let cells = LISTED.iter().map(|column| match self.raw.get(column.name) {
            Some(raw) => raw.clone(),
            None if column.name == "short_code" => code.into(),
            None => (column.cell)(&self.link).into_bytes(),
        });
        cells.chain(self.extra.iter().cloned()).collect()
    }
}
