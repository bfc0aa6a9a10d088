//! Files to import, and the links that come of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::formats::sample;
use crate::cli::support::{Finished, Person};

/// A copy of a file in a folder of its own: an import writes beside it.
pub(super) struct Copy {
    folder: TempDir,
    pub(super) path: PathBuf,
}

impl Copy {
    pub(super) fn of(name: &str) -> Self {
        Self::with(name, &fs::read(sample(name)).unwrap())
    }

    pub(super) fn with(name: &str, content: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        Self { folder, path }
    }

    /// The lines of a file beside it.
    pub(super) fn beside(&self, ending: &str) -> Vec<String> {
        let path = format!("{}{ending}", self.path.display());
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Files that are left in the folder, apart from itself.
    pub(super) fn left(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut others: Vec<_> = names.filter(|name| !self.path.ends_with(name)).collect();
        others.sort();
        others
    }
}

/// The columns of `own.csv`, and the cells of its first link, which has a value in each.
pub(super) fn own_link() -> Vec<(String, String)> {
    let mut table = csv::Reader::from_path(sample("own.csv")).unwrap();
    let columns = table.headers().unwrap().clone();
    let link = table.records().next().unwrap().unwrap();
    let cells = columns.iter().zip(&link);
    cells
        .map(|(column, cell)| (column.to_owned(), cell.to_owned()))
        .collect()
}

/// A table with this link, whose row may be longer than the header line.
pub(super) fn table(columns: &[String], cells: &[String]) -> Vec<u8> {
    let mut table = csv::WriterBuilder::new()
        .flexible(true)
        .from_writer(Vec::new());
    table.write_record(columns).unwrap();
    table.write_record(cells).unwrap();
    table.into_inner().unwrap()
}

/// Imports a file as a person.
pub(super) fn import(person: &Person, file: &Path, from: &str, more: &[&str]) -> Finished {
    person.runs(&[&["import", file.to_str().unwrap(), "--from", from], more].concat())
}

/// All links of a person.
pub(super) fn all_links(person: &Person) -> Vec<Value> {
    let links = person.runs(&["list", "--json"]).json();
    links.as_array().unwrap().clone()
}
