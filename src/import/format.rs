//! A format of an export: the names of its fields, and how its values are read.

use std::sync::Arc;

use super::entry::Entry;
use super::reading::{ReadLink, Reading};
use super::record::{Column, Record};
use crate::domain::{FieldEdit, unknown_name};

/// How an export is read. Names are those of its service; `Long URL` and `long_url` are the same.
pub struct Format {
    /// The format, as in "is this an export of Kutt?".
    pub(super) name: &'static str,
    /// Names of the target. A file has at least one of them.
    pub(super) target: &'static [&'static str],
    /// Names of the code.
    pub(super) codes: &'static [&'static str],
    /// Whether links may lack a code.
    pub(super) may_lack_code: bool,
    /// All columns, if any other column is a mistake.
    pub(super) known: Option<fn() -> Vec<&'static str>>,
    /// This service wrote it, or a person in its form: formulas in tables have an apostrophe before, and values are as strict as
    /// in the API.
    pub(super) is_own: bool,
    /// The code of an entry, if it has one.
    pub(super) code: fn(&Record) -> Result<Option<String>, String>,
    /// Reads the fields of an entry, apart from target and code.
    pub(super) link: fn(&mut Reading<'_>),
}

/// A column of a table as a field; `None`: it is left out.
pub type Matched = Option<&'static str>;

impl std::fmt::Debug for Format {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Format {
    /// The link of an entry, as far as it can be read.
    pub(super) fn read(&self, entry: Entry) -> ReadLink {
        let Entry {
            line,
            record,
            extra,
            fault,
        } = entry;
        let mut reading = Reading::new(&record, fault, self.is_own);
        match reading.text("target_url", self.target) {
            Some(target) => reading.link.fields.target_url = FieldEdit::Set(target),
            None => reading.refuse(self.missing(&record, self.target)),
        }
        (self.link)(&mut reading);
        let code = (self.code)(&record);
        let is_missing = !self.may_lack_code && code.as_ref().is_ok_and(Option::is_none);
        reading.set_code(code, self.codes);
        if is_missing {
            reading.refuse(self.missing(&record, self.codes));
        }
        reading.end(line, extra)
    }

    /// Checks the names of a table's columns.
    pub(super) fn check_columns(&self, columns: &[Arc<Column>]) -> Result<(), String> {
        if let Some(known) = self.known {
            let known = known();
            let names = || {
                columns
                    .iter()
                    .map(|column| column.name.clone())
                    .collect::<Vec<_>>()
            };
            for column in columns.iter().filter(|column| !column.is_left_out()) {
                if !known.iter().any(|name| column.is(name)) {
                    return Err(unknown_name(&column.name, known.iter().copied(), &names()));
                }
            }
        }
        for group in self.needed() {
            if !columns
                .iter()
                .any(|column| group.iter().any(|name| column.is(name)))
            {
                return Err(self.lacks_column(group));
            }
        }
        let twice = |(at, column): (usize, &Arc<Column>)| {
            columns[..at].iter().any(|before| before.is(&column.name))
        };
        let mut all = columns.iter().enumerate();
        let is_read = |column: &Column| {
            (self.is_own && !column.is_left_out())
                || self
                    .needed()
                    .any(|names| names.iter().any(|name| column.is(name)))
        };
        match all.find(|(at, column)| is_read(column) && twice((*at, column))) {
            Some((_, column)) => Err(format!(
                "{}: is the name of two columns; remove one column",
                column.name
            )),
            None => Ok(()),
        }
    }

    /// Its name, if a file may have another format: whoever says that a file is a table knows that.
    pub(super) fn expected(&self) -> Option<&'static str> {
        self.known.is_none().then_some(self.name)
    }

    fn lacks_column(&self, names: &[&str]) -> String {
        if self.is_own {
            return format!("{}: column is required", names.join(" or "));
        }
        format!("the header line has no column `{}`", names.join("` or `"))
    }

    /// Groups of names. A file has at least one name of each group.
    fn needed(&self) -> impl Iterator<Item = &'static [&'static str]> {
        let codes = (!self.may_lack_code).then_some(self.codes);
        [self.target].into_iter().chain(codes)
    }

    /// Whether a JSON object has the target of a link.
    pub(super) fn has_target(&self, record: &Record) -> bool {
        record.find(self.target).is_some()
    }

    /// An entry without such a value is likely of another format.
    fn missing(&self, record: &Record, names: &[&str]) -> String {
        if let Some(column) = record.column(names) {
            return format!("{column}: must not be empty");
        }
        let value = names.first().copied().unwrap_or_default();
        format!("has no {value}; is this {}?", self.name)
    }
}

/// The code in a short URL, or in a path: all that follows the host, without slashes around it.
pub(super) fn code_of(short_url: &str) -> Option<String> {
    let rest = short_url
        .split_once("://")
        .map_or(short_url, |(_, rest)| rest);
    let path = rest.split_once('/').map(|(_, path)| path)?;
    let code = path.split(['?', '#']).next()?.trim_matches('/');
    (!code.is_empty()).then(|| code.to_owned())
}
