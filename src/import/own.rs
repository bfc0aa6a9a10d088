//! The service's own formats: its export, and tables that people write.

use super::format::Format;
use super::reading::{ReadLink, Reading};
use super::record::Record;
use crate::domain::FieldEdit;
use crate::wire::{DocumentKind, Field, Value};

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

/// A table of a person's own: a misspelt column must not be ignored.
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
    // Target and code are read as in every format.
    let fields = DocumentKind::Table.fields().map(|field| field.name);
    for name in fields.filter(|name| !matches!(*name, "target_url" | "custom_code")) {
        link.read(name, &[name]);
    }
    link.note_creation(&["created_at"]);
}

/// The names of all columns. Columns that only the service sets are ignored, and so are the line and reason of a refused link.
pub(super) fn known() -> Vec<&'static str> {
    let fields = DocumentKind::Bulk.fields().map(|field| field.name);
    let further = ["line", "reason"];
    fields.chain(further).collect()
}

/// The names of the columns of a list of refused links.
#[must_use]
pub fn columns() -> Vec<&'static str> {
    DocumentKind::Table.fields().map(column).collect()
}

/// The code has the name that an export has for it.
fn column(field: &Field) -> &'static str {
    match field.name {
        "custom_code" => "short_code",
        name => name,
    }
}

impl ReadLink {
    /// The entry in the columns of a list of refused links, with this code: as the file has it, so that it is refused again
    /// until its fault is corrected.
    #[must_use]
    pub fn cells(&self, code: &str) -> Vec<Vec<u8>> {
        let mut fields = self.link.fields.clone();
        fields.custom_code = FieldEdit::Set(code.to_owned());
        let given = DocumentKind::Table.fields();
        let given = given.map(|field| match (field.value)(&mut fields) {
            // The list is as secret as the file.
            Value::Secret(FieldEdit::Set(secret)) => secret.expose().to_owned(),
            value => value.to_string(),
        });
        let cells = columns().into_iter().zip(given);
        let cells = cells.map(|(column, cell)| match self.raw.get(column) {
            Some(raw) => raw.clone(),
            None => cell.into_bytes(),
        });
        cells.chain(self.extra.iter().cloned()).collect()
    }
}
